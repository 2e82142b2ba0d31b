package kernels

import "math"

// attendGeneric defines the bits: every row and head by itself, segment by segment.
func (l KVLayout) attendGeneric(out, q []float32, stride, rows, group int, lens []int, pages [][]byte, head int,
	c, r float32, s *AttnScratch) {
	n := group * l.PartFloats()
	s.floats = grow(s.floats, 2*n+l.segmentFloats())
	sum, part := s.floats[:n], s.floats[n:2*n]
	inner := AttnScratch{floats: s.floats[2*n:]}
	for t := range rows {
		for seg := range Segments(lens[t]) {
			l.segmentGeneric(part, q[t*stride:], group, lens[t], pages, head, seg, c, &inner)
			if seg == 0 {
				copy(sum, part)
				continue
			}
			for g := range group {
				a, b := sum[g*l.PartFloats():(g+1)*l.PartFloats()], part[g*l.PartFloats():]
				var wa, wb float32
				a[0], a[1], wa, wb = mergeWeights(a[0], a[1], b[0], b[1])
				scaleAddGeneric(a[2:], b[2:], wa, wb)
			}
		}
		for g := range group {
			a := sum[g*l.PartFloats() : (g+1)*l.PartFloats()]
			finish(out[t*stride+g*l.Dim:][:l.Dim], a[2:], a[1], r)
		}
	}
}

// segmentFloats is the scratch of segmentGeneric: keys and values of a page, and a query.
func (l KVLayout) segmentFloats() int { return 2*PagePositions*l.Dim + l.Dim }

// segmentGeneric writes m, l and acc of each head for one segment of a row.
func (l KVLayout) segmentGeneric(part, q []float32, group, length int, pages [][]byte, head, seg int, c float32, s *AttnScratch) {
	s.floats = grow(s.floats, l.segmentFloats())
	n := PagePositions * l.Dim
	k, v, qs := s.floats[:n], s.floats[n:2*n], s.floats[2*n:2*n+l.Dim]
	for g := range group {
		for d := range qs {
			qs[d] = q[g*l.Dim+d] * c
		}
		p := part[g*l.PartFloats() : (g+1)*l.PartFloats()]
		m, acc := float32(lowest), p[2:]
		clear(acc)
		var sum [16]float32
		for page := seg * segmentPages; page < (seg+1)*segmentPages && page*PagePositions < length; page++ {
			valid := min(PagePositions, length-page*PagePositions)
			l.decode(k, l.keys(pages[page], head))
			l.decode(v, l.values(pages[page], head))
			m = attendPageGeneric(acc, &sum, m, qs, k, v, l.missing(page), valid)
		}
		p[0], p[1] = m, sumTree(&sum)
	}
}

// missing is how many leading positions of a page do not exist: their scores are −Inf and their values are passed over.
func (l KVLayout) missing(page int) int {
	if page > 0 {
		return 0
	}
	return l.First
}

// attendPageGeneric takes the valid positions of a page, keys k [dim][32] and values v [32][dim], into a running softmax.
func attendPageGeneric(acc []float32, sum *[16]float32, m float32, q, k, v []float32, missing, valid int) float32 {
	var p [PagePositions]float32
	newM := m
	for i := range valid {
		for d, x := range q {
			p[i] = fma32(x, k[d*PagePositions+i], p[i])
		}
		if i < missing {
			p[i] = float32(math.Inf(-1))
		}
		if p[i] > newM {
			newM = p[i]
		}
	}
	corr := Exp(m - newM)
	for i := range valid {
		p[i] = Exp(p[i] - newM)
	}
	for j := range sum {
		sum[j] = fma32(sum[j], corr, p[j]+p[j+16])
	}
	for d := range acc {
		a := acc[d] * corr
		for i := missing; i < valid; i++ {
			a = fma32(p[i], v[i*len(acc)+d], a)
		}
		acc[d] = a
	}
	return newM
}

// scaleAddGeneric computes dst[d] = fma(src[d], b, dst[d]·a).
func scaleAddGeneric(dst, src []float32, a, b float32) {
	for d := range dst {
		dst[d] = fma32(src[d], b, dst[d]*a)
	}
}
