package kernels

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// attnCase is a filled cache and queries.
type attnCase struct {
	l              KVLayout
	pages          [][]byte
	q              []float32
	stride, group  int
	lens           []int
	scale          float32
	kScale, vScale float32
	k, v           [][]float32 // [position][Heads·Dim] as read back
}

// newAttnCase fills the positions below the longest length and leaves the rest of the last page as NaN patterns.
func newAttnCase(t testing.TB, rng *rand.Rand, l KVLayout, group int, lens []int) *attnCase {
	c := &attnCase{l: l, group: group, lens: lens, stride: group*l.Dim + 3, scale: float32(1 / math.Sqrt(float64(l.Dim))), kScale: 1, vScale: 1}
	if l.Format == KVFP8 {
		c.kScale, c.vScale = 0.011, 0.37
	}
	longest := 0
	for _, n := range lens {
		longest = max(longest, n)
	}
	for p := 0; p*PagePositions < longest; p++ {
		page := guarded(t, make([]byte, l.Bytes()))
		for i := range page {
			page[i] = 0xFF
		}
		c.pages = append(c.pages, page)
	}
	n := l.Heads * l.Dim
	for pos := range longest {
		k, v := make([]float32, n), make([]float32, n)
		for i := range k {
			k[i], v[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
		}
		l.Store(c.pages[pos/PagePositions], pos%PagePositions, k, v, c.kScale, c.vScale)
		l.Load(c.pages[pos/PagePositions], pos%PagePositions, k, v, c.kScale, c.vScale)
		c.k, c.v = append(c.k, k), append(c.v, v)
	}
	q := make([]float32, (len(lens)-1)*c.stride+group*l.Dim)
	for i := range q {
		q[i] = float32(rng.NormFloat64()) * 1.5
	}
	c.q = guarded(t, q)
	return c
}

// attend runs rows r0..r1-1 and returns their outputs.
func (c *attnCase) attend(head, r0, r1 int, s *AttnScratch) []float32 {
	out := make([]float32, (r1-r0-1)*c.stride+c.group*c.l.Dim)
	c.l.Attend(out, c.q[r0*c.stride:], c.stride, r1-r0, c.group, c.lens[r0:r1], c.pages, head, c.scale, c.kScale, c.vScale, s)
	return out
}

// reference is what the level must equal, and is checked against float64.
func (c *attnCase) reference(t *testing.T, head int) []float32 {
	t.Helper()
	out := make([]float32, (len(c.lens)-1)*c.stride+c.group*c.l.Dim)
	c.l.attendGeneric(out, c.q, c.stride, len(c.lens), c.group, c.lens, c.pages, head,
		c.scale*c.l.restore(c.kScale), c.l.restore(c.vScale), new(AttnScratch))
	return out
}

// exact is the plain softmax in float64 of head g of row r.
func (c *attnCase) exact(head, r, g int) []float64 {
	dim := c.l.Dim
	scores, most := make([]float64, c.lens[r]), math.Inf(-1)
	for pos := range scores {
		for d := range dim {
			scores[pos] += float64(c.q[r*c.stride+g*dim+d]) * float64(c.k[pos][head*dim+d])
		}
		scores[pos] *= float64(c.scale)
		most = max(most, scores[pos])
	}
	sum, out := 0.0, make([]float64, dim)
	for pos, s := range scores {
		w := math.Exp(s - most)
		sum += w
		for d := range out {
			out[d] += w * float64(c.v[pos][head*dim+d])
		}
	}
	for d := range out {
		out[d] /= sum
	}
	return out
}

func (c *attnCase) String() string {
	return fmt.Sprintf("%v heads %d dim %d group %d lens %v", c.l.Format, c.l.Heads, c.l.Dim, c.group, c.lens)
}

// compare wants the columns of heads to have equal bits.
func (c *attnCase) compare(t *testing.T, what string, got, want []float32, rows int) {
	t.Helper()
	for r := range rows {
		for i := range c.group * c.l.Dim {
			if g, w := got[r*c.stride+i], want[r*c.stride+i]; !sameBits(g, w) {
				t.Fatalf("%s: %v: row %d, head %d, dim %d: %v, want %v", what, c, r, i/c.l.Dim, i%c.l.Dim, g, w)
			}
		}
	}
}

func TestAttendReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, format := range kvFormats {
		for _, n := range []int{1, 31, 33, 512, 513, 1100} {
			c := newAttnCase(t, rng, KVLayout{Format: format, Heads: 2, Dim: 24}, 2, []int{n})
			got := c.reference(t, 1)
			for g := range c.group {
				for d, w := range c.exact(1, 0, g) {
					if diff := math.Abs(float64(got[g*c.l.Dim+d]) - w); !(diff <= 3e-6) {
						t.Fatalf("%v: head %d dim %d: %v, want %v", c, g, d, got[g*c.l.Dim+d], w)
					}
				}
			}
		}
	}
}

// TestAttend: each level equals the reference, whatever the rows beside a row and whatever lies behind the last position.
func TestAttend(t *testing.T) {
	seed := rand.Uint64()
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 6))
		check := func(l KVLayout, group int, lens []int) {
			t.Helper()
			c := newAttnCase(t, rng, l, group, lens)
			head, s := rng.IntN(l.Heads), &AttnScratch{floats: make([]float32, 1<<18)}
			for i := range s.floats { // what earlier calls left there must not matter
				s.floats[i] = float32(math.NaN())
			}
			want := c.reference(t, head)
			for _, x := range want[:group*l.Dim] {
				if x != x {
					t.Fatalf("seed %d: %v: a stale position reached a result", seed, c)
				}
			}
			c.compare(t, fmt.Sprintf("seed %d", seed), c.attend(head, 0, len(lens), s), want, len(lens))
			for r0 := 0; r0 < len(lens); { // the same rows, split anyhow
				r1 := r0 + 1 + rng.IntN(len(lens)-r0)
				c.compare(t, fmt.Sprintf("seed %d rows %d..%d", seed, r0, r1), c.attend(head, r0, r1, s), want[r0*c.stride:], r1-r0)
				r0 = r1
			}
		}
		for _, format := range kvFormats {
			for group := 1; group <= 6; group++ {
				dim := []int{16, 32, 64, 24}[group%4]
				check(KVLayout{Format: format, Heads: 2, Dim: dim}, group, []int{1})
				check(KVLayout{Format: format, Heads: 2, Dim: dim}, group, []int{30, 31, 32, 33, 34, 35})
				check(KVLayout{Format: format, Heads: 1, Dim: dim}, group, []int{70, 3, 70, 65})
				check(KVLayout{Format: format, Heads: 1, Dim: dim}, group, []int{50, 50})
			}
			for _, dim := range []int{40, 128, 256} {
				check(KVLayout{Format: format, Heads: 2, Dim: dim}, 4, []int{40 + rng.IntN(60)})
				check(KVLayout{Format: format, Heads: 1, Dim: dim}, 3, []int{62, 63, 64, 65, 66})
			}
			check(KVLayout{Format: format, Heads: 1, Dim: 32}, 4, []int{511})
			check(KVLayout{Format: format, Heads: 1, Dim: 32}, 6, []int{1025 + rng.IntN(100)})
			check(KVLayout{Format: format, Heads: 1, Dim: 16}, 5, []int{512, 513, 514})
			check(KVLayout{Format: format, Heads: 1, Dim: 32}, 1, []int{1100, 1, 600, 513, 1024})
		}
		many := make([]int, 40) // more than a block of queries
		for i := range many {
			many[i] = i + 500
		}
		check(KVLayout{Format: KVBF16, Heads: 1, Dim: 16}, 4, many)
	})
}

// TestAttendSegments: a row split over threads by segments has the bits of Attend.
func TestAttendSegments(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 1))
		for _, format := range kvFormats {
			for _, n := range []int{1, 512, 513, 1600} {
				for _, dim := range []int{24, 32} {
					c := newAttnCase(t, rng, KVLayout{Format: format, Heads: 1, Dim: dim}, 5, []int{n})
					want := c.attend(0, 0, 1, new(AttnScratch))
					segments := Segments(n)
					part := guarded(t, make([]float32, segments*c.group*c.l.PartFloats()))
					for seg := segments - 1; seg >= 0; seg-- {
						c.l.AttendSegments(part, c.q, c.group, n, c.pages, 0, seg, seg+1, c.scale, c.kScale, new(AttnScratch))
					}
					got := make([]float32, c.group*dim)
					c.l.MergeSegments(got, part, c.group, segments, c.vScale)
					c.compare(t, "segments", got, want, 1)
				}
			}
		}
	})
}

// TestAttendExtremes: huge scores, −Inf, +Inf and NaN.
func TestAttendExtremes(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	eachLevel(t, func(t *testing.T) {
		for _, tt := range []struct {
			name string
			q, k float32
			want float32 // 1: the mean of the values, all 1
		}{
			{"equal", 1, 1, 1}, {"huge", 1e15, 1e15, 1}, {"hugely negative", -1e15, 1e15, 1},
			{"minus infinity", -inf, 1, 0}, {"infinity", inf, 1, nan}, {"NaN query", nan, 1, nan}, {"NaN key", 1, nan, nan},
		} {
			l := KVLayout{Format: KVF32, Heads: 1, Dim: 32}
			for _, n := range []int{1, 33, 600} {
				pages := make([][]byte, (n+31)/32)
				k, v, q := make([]float32, 32), make([]float32, 32), make([]float32, 32)
				for d := range v {
					v[d] = 1
				}
				k[0], q[0] = tt.k, tt.q
				for pos := range n {
					if pos%32 == 0 {
						pages[pos/32] = make([]byte, l.Bytes())
					}
					l.Store(pages[pos/32], pos%32, k, v, 1, 1)
				}
				out := make([]float32, 32)
				l.Attend(out, q, 32, 1, 1, []int{n}, pages, 0, 1, 1, 1, new(AttnScratch))
				for d, x := range out {
					if !sameBits(x, tt.want) && math.Abs(float64(x-tt.want)) > 1e-6 {
						t.Errorf("%s, %d positions, dim %d: %v, want %v", tt.name, n, d, x, tt.want)
						break
					}
				}
			}
		}
	})
}

// TestAttendPoison: a NaN at a later position of the same page does not reach the rows before it.
func TestAttendPoison(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 1))
		for _, group := range []int{1, 3, 4, 6} {
			c := newAttnCase(t, rng, KVLayout{Format: KVF32, Heads: 1, Dim: 32}, group, []int{33, 34, 35, 36})
			bad := make([]float32, 32)
			for d := range bad {
				bad[d] = float32(math.NaN())
			}
			c.l.Store(c.pages[1], 3, bad, bad, 1, 1)
			got := c.attend(0, 0, 4, new(AttnScratch))
			for r := range 4 {
				for i, x := range got[r*c.stride:][:group*32] {
					if (x != x) != (r == 3) {
						t.Fatalf("group %d row %d entry %d: %v", group, r, i, x)
					}
				}
			}
		}
	})
}

func TestAttendRefusesMisuse(t *testing.T) {
	l := KVLayout{Format: KVF32, Heads: 1, Dim: 8}
	page, q := make([]byte, l.Bytes()), make([]float32, 8)
	for name, call := range map[string]func(){
		"no length": func() { l.Attend(q, q, 8, 1, 1, []int{0}, [][]byte{page}, 0, 1, 1, 1, new(AttnScratch)) },
		"too long":  func() { l.Attend(q, q, 8, 1, 1, []int{33}, [][]byte{page}, 0, 1, 1, 1, new(AttnScratch)) },
		"head":      func() { l.Attend(q, q, 8, 1, 1, []int{1}, [][]byte{page}, 1, 1, 1, 1, new(AttnScratch)) },
		"rows":      func() { l.Attend(q, q, 8, 2, 1, []int{1, 1}, [][]byte{page}, 0, 1, 1, 1, new(AttnScratch)) },
		"page":      func() { l.Attend(q, q, 8, 1, 1, []int{1}, [][]byte{page[1:]}, 0, 1, 1, 1, new(AttnScratch)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			call()
		}()
	}
}

func TestAttentionCheck(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		if err := checkAttention(); err != nil {
			t.Error(err)
		}
	})
}

// TestGoldenAttention compares with causal attention in float64 sums: q [6, 20, 32], k and v [2, 20, 32], gate and the gated
// output [20, 6·32].
func TestGoldenAttention(t *testing.T) {
	const rows, heads, kvHeads, dim = 20, 6, 2, 32
	eachGolden(t, "attention", func(g *vecGolden) {
		q, k, v, gate := g.f32("q"), g.f32("k"), g.f32("v"), g.f32("gate")
		l := KVLayout{Format: KVF32, Heads: kvHeads, Dim: dim}
		page := make([]byte, l.Bytes())
		rowsOf := func(x []float32, heads, t int) []float32 { // [heads, rows, dim] to [heads·dim] of row t
			var row []float32
			for h := range heads {
				row = append(row, x[(h*rows+t)*dim:][:dim]...)
			}
			return row
		}
		var qs []float32
		lens, out := make([]int, rows), make([]float32, rows*heads*dim)
		for pos := range rows {
			l.Store(page, pos, rowsOf(k, kvHeads, pos), rowsOf(v, kvHeads, pos), 1, 1)
			qs = append(qs, rowsOf(q, heads, pos)...)
			lens[pos] = pos + 1
		}
		for h := range kvHeads {
			at := h * heads / kvHeads * dim
			l.Attend(out[at:], qs[at:], heads*dim, rows, heads/kvHeads, lens, [][]byte{page}, h, float32(1/math.Sqrt(dim)), 1, 1, new(AttnScratch))
		}
		for i := range out {
			out[i] *= Sigmoid(gate[i])
		}
		g.near(out, "y")
	})
}

// TestAttentionBits hashes results on fixed operands. The digest is that of every architecture and level: where it changes,
// so does the numerics version.
func TestAttentionBits(t *testing.T) {
	const want = 0xe4081f8c8431052e
	eachLevel(t, func(t *testing.T) {
		h := fnv.New64a()
		for _, format := range kvFormats {
			rng := rand.New(rand.NewPCG(11, 1))
			uniform := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = 4*rng.Float32() - 2
				}
				return x
			}
			l := KVLayout{Format: format, Heads: 1, Dim: 40}
			var pages [][]byte
			for pos := range 700 {
				if pos%PagePositions == 0 {
					pages = append(pages, make([]byte, l.Bytes()))
				}
				l.Store(pages[pos/PagePositions], pos%PagePositions, uniform(l.Dim), uniform(l.Dim), 0.02, 0.3)
			}
			const group = 3
			lens := []int{1, 31, 32, 333, 700}
			x := uniform(len(lens) * group * l.Dim)
			l.Attend(x, x, group*l.Dim, len(lens), group, lens, pages, 0, 0.16, 0.02, 0.3, new(AttnScratch))
			for _, v := range x {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		if got := h.Sum64(); got != want {
			t.Errorf("digest %#x, want %#x", got, uint64(want))
		}
	})
}
