package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFirstPosition: with First 1 a row sees what float64 says of positions 1..n-1, at every level and however it is split.
func TestFirstPosition(t *testing.T) {
	const group, dim = 3, 32
	l := KVLayout{Format: KVF32, Heads: 1, Dim: dim, First: 1}
	rng := rand.New(rand.NewPCG(5, 5))
	floats := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	const most = 600
	pages := make([][]byte, (most+PagePositions-1)/PagePositions)
	for i := range pages {
		pages[i] = make([]byte, l.Bytes())
	}
	keys, values := make([][]float32, most), make([][]float32, most)
	bad := make([]float32, dim) // what slot 0 may hold of a page's former life
	for d := range bad {
		bad[d] = float32(math.NaN())
	}
	l.Store(pages[0], 0, bad, bad, 1, 1)
	for pos := 1; pos < most; pos++ {
		keys[pos], values[pos] = floats(dim), floats(dim)
		l.Store(pages[pos/PagePositions], pos%PagePositions, keys[pos], values[pos], 1, 1)
	}
	q := floats(group * dim)
	scale := float32(1 / math.Sqrt(dim))
	eachLevel(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 3, 31, 32, 33, 64, 512, 513, most} {
			got := make([]float32, group*dim)
			l.Attend(got, q, group*dim, 1, group, []int{n}, pages, 0, scale, 1, 1, new(AttnScratch))
			part := make([]float32, group*Segments(n)*l.PartFloats())
			split := make([]float32, group*dim)
			l.AttendSegments(part, q, group, n, pages, 0, 0, Segments(n), scale, 1, new(AttnScratch))
			l.MergeSegments(split, part, group, Segments(n), 1)
			for g := range group {
				want := plainAttention(q[g*dim:(g+1)*dim], keys[1:n], values[1:n], float64(scale))
				for d, w := range want {
					if v := got[g*dim+d]; !(math.Abs(float64(v)-w) <= 1e-5) || math.Float32bits(v) != math.Float32bits(split[g*dim+d]) {
						t.Fatalf("%d positions, head %d, dim %d: %v, in segments %v, want %v", n, g, d, v, split[g*dim+d], w)
					}
				}
			}
		}
	})
}

func plainAttention(q []float32, keys, values [][]float32, scale float64) []float64 {
	scores, most := make([]float64, len(keys)), math.Inf(-1)
	for i, k := range keys {
		for d := range q {
			scores[i] += float64(q[d]) * float64(k[d]) * scale
		}
		most = max(most, scores[i])
	}
	out, total := make([]float64, len(q)), 0.0
	for i := range keys {
		p := math.Exp(scores[i] - most)
		total += p
		for d := range out {
			out[d] += p * float64(values[i][d])
		}
	}
	for d := range out {
		if total > 0 { // else nothing is seen: 0
			out[d] /= total
		}
	}
	return out
}

// TestFirstRows: rows of different lengths that share a tile equal the reference when positions are left out.
func TestFirstRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(6, 5))
		for _, format := range kvFormats {
			for _, group := range []int{1, 4, 6} {
				c := newAttnCase(t, rng, KVLayout{Format: format, Heads: 1, Dim: 32, First: 1}, group, []int{1, 2, 30, 40, 40})
				c.compare(t, "first", c.attend(0, 0, 5, new(AttnScratch)), c.reference(t, 0), 5)
			}
		}
	})
}
