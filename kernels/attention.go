package kernels

import (
	"fmt"
	"math"
)

// SegmentPositions is how far one running softmax goes before its result is merged with those of earlier segments. It is
// the unit by which one long row is split over threads.
const SegmentPositions = 512

const segmentPages = SegmentPositions / PagePositions

// Order of attention, for one query head of one row that sees n positions, c = scale·kScale:
//
//	q'[d] = q[d]·c
//	s[pos] = Σ_d q'[d]·k[d][pos]          one accumulator from 0, ascending d, fused
//
// A segment of 512 positions starts with m = −MaxFloat32, 16 lanes sum = 0 and acc = 0, and takes its pages in ascending
// order. Of a page only the v ≤ 32 positions below n exist:
//
//	m' = max(m, s[0..v-1])                NaN is never the larger
//	corr = Exp(m − m')
//	p[i] = Exp(s[i] − m')                 i < v; 0 for the rest of the page
//	sum[j] = fma(sum[j], corr, p[j] + p[j+16])
//	acc[d] = acc[d]·corr, then fma(p[i], v[i][d], acc[d]) for ascending i < v
//
// Positions below First (0, or 1 in an MTP layer) have score −Inf and weight 0, and their values are passed over.
//
// At its end l = tree(sum): halves are added, 16 to 8 to 4 to 2 to 1. The first segment is the result; each later one is
// merged into it:
//
//	M' = max(M, m), a = Exp(M − M'), b = Exp(m − M')
//	L = fma(l, b, L·a), A[d] = fma(acc[d], b, A[d]·a)
//
// out[d] = A[d]·(vScale/L), and 0 where L = 0 (all scores −Inf). A NaN or +Inf score makes the row NaN. What lies in a page
// beyond v, NaN included, reaches no result.

// PartFloats is the length of one head's result of one segment: m, l and acc [Dim].
func (l KVLayout) PartFloats() int { return 2 + l.Dim }

// Segments is the number of segments a row of that length has.
func Segments(length int) int { return (length + SegmentPositions - 1) / SegmentPositions }

// AttnScratch is the working memory of one thread for attention, kept between calls.
type AttnScratch struct {
	floats []float32
	counts []int32
}

// Attend computes attention of the group query heads of key/value head `head`, for rows that share a page list.
//
// q and out are [rows][stride], the heads at 0..group·Dim-1 of each row; they may be the same memory. Row t sees positions
// 0..lens[t]-1, its own included; pages[i] is this layer's slice of the page of positions 32i..32i+31. scale is 1/√dim.
func (l KVLayout) Attend(out, q []float32, stride, rows, group int, lens []int, pages [][]byte, head int,
	scale, kScale, vScale float32, s *AttnScratch) {
	width := group * l.Dim
	l.checkAttend(group, head)
	if rows > 0 && (len(q) < (rows-1)*stride+width || len(out) < (rows-1)*stride+width || stride < width || len(lens) < rows) {
		panic(fmt.Sprintf("kernels: attention of %d rows, stride %d, width %d: %d queries, %d outputs, %d lengths",
			rows, stride, width, len(q), len(out), len(lens)))
	}
	for _, n := range lens[:rows] {
		l.checkPages(n, pages)
	}
	c, r := scale*l.restore(kScale), l.restore(vScale)
	if level == Generic {
		l.attendGeneric(out, q, stride, rows, group, lens, pages, head, c, r, s)
		return
	}
	l.attendTiles(out, q, stride, rows, group, lens, pages, head, c, r, s)
}

// AttendSegments computes segments seg0..seg1-1 of one row of the given length, whose queries are the first group·Dim of q.
// The result of head g in segment i lies at part[(i·group+g)·PartFloats()]; part holds all segments of the row.
func (l KVLayout) AttendSegments(part, q []float32, group, length int, pages [][]byte, head, seg0, seg1 int,
	scale, kScale float32, s *AttnScratch) {
	l.checkAttend(group, head)
	l.checkPages(length, pages)
	if seg0 < 0 || seg1 > Segments(length) || len(part) < seg1*group*l.PartFloats() || len(q) < group*l.Dim {
		panic(fmt.Sprintf("kernels: attention segments %d..%d of a row of %d, %d heads: %d floats of results, %d queries",
			seg0, seg1, length, group, len(part), len(q)))
	}
	c := scale * l.restore(kScale)
	for seg := seg0; seg < seg1; seg++ {
		p := part[seg*group*l.PartFloats() : (seg+1)*group*l.PartFloats()]
		if level == Generic {
			l.segmentGeneric(p, q, group, length, pages, head, seg, c, s)
		} else {
			l.segmentTile(p, q, group, length, pages, head, seg, c, s)
		}
	}
}

// MergeSegments merges the results of a row's segments into out [group·Dim]: the bits of Attend.
func (l KVLayout) MergeSegments(out, part []float32, group, segments int, vScale float32) {
	n := l.PartFloats()
	if len(part) < segments*group*n || len(out) < group*l.Dim || segments < 1 {
		panic(fmt.Sprintf("kernels: merge of %d segments, %d heads: %d floats of results, %d outputs", segments, group, len(part), len(out)))
	}
	for g := range group {
		o := out[g*l.Dim : (g+1)*l.Dim]
		first := part[g*n : (g+1)*n]
		M, L := first[0], first[1]
		copy(o, first[2:])
		for seg := 1; seg < segments; seg++ {
			p := part[(seg*group+g)*n : (seg*group+g+1)*n]
			var a, b float32
			M, L, a, b = mergeWeights(M, L, p[0], p[1])
			scaleAdd(o, p[2:], a, b)
		}
		finish(o, o, L, l.restore(vScale))
	}
}

// mergeWeights merges the maxima and sums of a result (M, L) and a segment (m, l); a and b are their weights.
func mergeWeights(M, L, m, l float32) (newM, newL, a, b float32) {
	newM = max(M, m) // neither is ever NaN
	a, b = Exp(M-newM), Exp(m-newM)
	return newM, fma32(l, b, L*a), a, b
}

// finish writes dst = acc·(r/L).
func finish(dst, acc []float32, L, r float32) {
	f := r / L
	if L == 0 {
		f = 0
	}
	for d, x := range acc {
		dst[d] = x * f
	}
}

// HeadDimMultiple divides every KVLayout.Dim that attention takes: the float32 lanes of an AVX2 register.
const HeadDimMultiple = 8

func (l KVLayout) checkAttend(group, head int) {
	if l.Dim <= 0 || l.Dim%HeadDimMultiple != 0 || group < 1 || head < 0 || head >= l.Heads {
		panic(fmt.Sprintf("kernels: attention of %d query heads with KV head %d of %+v", group, head, l))
	}
}

func (l KVLayout) checkPages(length int, pages [][]byte) {
	need := (length + PagePositions - 1) / PagePositions
	if length < 1 || need > len(pages) || len(pages[need-1]) != l.Bytes() {
		panic(fmt.Sprintf("kernels: attention over %d positions with %d pages of %+v", length, len(pages), l))
	}
}

// sumTree adds 16 lanes by halves.
func sumTree(s *[16]float32) float32 {
	for half := 8; half > 0; half /= 2 {
		for j := range half {
			s[j] += s[j+half]
		}
	}
	return s[0]
}

const lowest = -math.MaxFloat32
