package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// denseCase is a matrix with its checkpoint bytes and the exact weights, row-major.
type denseCase struct {
	d       *Dense
	src     []byte
	weights []float32
}

func newDenseCase(t testing.TB, rng *rand.Rand, format DenseFormat, rows, cols int) denseCase {
	c := denseCase{d: NewDense(format, rows, cols)}
	for range rows * cols {
		f := float32(rng.NormFloat64())
		if rng.IntN(50) == 0 {
			f = math.Float32frombits(rng.Uint32()&0x87FFFFFF | 0x38000000) // small
		}
		switch format {
		case DenseF32:
			c.src = binary.LittleEndian.AppendUint32(c.src, math.Float32bits(f))
		case DenseBF16:
			b := math.Float32bits(f) >> 16
			c.src = binary.LittleEndian.AppendUint16(c.src, uint16(b))
			f = math.Float32frombits(b << 16)
		case DenseF16:
			h := uint16(rng.Uint32()) // any half but infinities and NaN
			if h&0x7C00 == 0x7C00 {
				h &^= 0x4000
			}
			c.src = binary.LittleEndian.AppendUint16(c.src, h)
			f = halfToF32(h)
		}
		c.weights = append(c.weights, f)
	}
	c.d.Pack(c.src, 0, Panels(c.d))
	c.d.w.data = guarded(t, c.d.w.data)
	return c
}

// want sums one output in the documented order, from the unpacked weights.
func (c denseCase) want(x []float32, o int) float32 {
	var acc float32
	for i, w := range c.weights[o*c.d.Cols():][:c.d.Cols()] {
		acc = fma32(w, x[i], acc)
	}
	return acc
}

func randomFloats(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// mulGuarded multiplies rows of x by m, panels split at random, and returns y [rows, stride] after checking that nothing
// but the outputs was written.
func mulGuarded(t *testing.T, rng *rand.Rand, m Matrix, x []float32, rows int) []float32 {
	t.Helper()
	var in Input
	var s Scratch
	in.Resize(m.InputKey(), rows, m.Cols())
	x = guarded(t, x)
	for r := 0; r < rows; {
		n := 1 + rng.IntN(rows-r)
		m.Prepare(&in, x, r, r+n)
		r += n
	}
	in.X = guarded(t, in.X)
	stride := m.Rows() + rng.IntN(2)*3
	y := make([]float32, (rows-1)*stride+m.Rows())
	untouched := float32(math.Inf(-1))
	for i := range y {
		y[i] = untouched
	}
	y = guarded(t, y)
	for p := 0; p < Panels(m); {
		n := 1 + rng.IntN(Panels(m)-p)
		m.Mul(y, stride, &in, p, p+n, &s)
		p += n
	}
	out := make([]float32, 0, rows*m.Rows())
	for r := range rows {
		for o := m.Rows(); r+1 < rows && o < stride; o++ {
			if y[r*stride+o] != untouched {
				t.Fatalf("wrote beyond output row %d: column %d", r, o)
			}
		}
		out = append(out, y[r*stride:][:m.Rows()]...)
	}
	return out
}

func equalBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: output %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

var denseFormats = []DenseFormat{DenseF32, DenseBF16, DenseF16}

// productShapes are rows, columns and activation rows with every kind of remainder.
func productShapes() (shapes [][3]int) {
	for rows := 1; rows <= 48; rows++ {
		shapes = append(shapes, [3]int{rows, 1 + rows*7%23, 1 + rows%3})
	}
	for t := 1; t <= 40; t++ {
		shapes = append(shapes, [3]int{40, 19 + t%4, t})
	}
	for _, cols := range []int{127, 128, 129, 255, 256, 257, 385, 514} {
		shapes = append(shapes, [3]int{150, cols, 1}, [3]int{70, cols, 3})
	}
	for t := 2; t <= 25; t++ {
		shapes = append(shapes, [3]int{81, 131 + t%3, t})
	}
	return append(shapes, [3]int{32, 8, 400})
}

func TestDense(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		for _, format := range denseFormats {
			for _, shape := range productShapes() {
				rows, cols, n := shape[0], shape[1], shape[2]
				c := newDenseCase(t, rng, format, rows, cols)
				x := randomFloats(rng, n*cols)
				got := mulGuarded(t, rng, c.d, x, n)
				var want []float32
				for r := range n {
					for o := range rows {
						want = append(want, c.want(x[r*cols:], o))
					}
				}
				equalBits(t, fmt.Sprintf("seed %d %v %v", seed, format, shape), got, want)
			}
		}
	})
}

// TestHalf compares all halves with their definition.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		exp, frac := h>>10&0x1F, float64(h&0x3FF)
		want := math.Ldexp(frac, -24)
		if exp > 0 {
			want = math.Ldexp(1024+frac, exp-25)
		}
		if exp == 31 {
			want = math.Inf(1)
			if frac != 0 {
				want = math.NaN()
			}
		}
		if h>>15 != 0 {
			want = -want
		}
		got := float64(halfToF32(uint16(h)))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || want == 0 && math.Signbit(got) != (h>>15 != 0) {
			t.Fatalf("half %#04x is %v, want %v", h, got, want)
		}
	}
}

// FuzzDense compares the best level with the reference on arbitrary weights, infinities and NaN included.
func FuzzDense(f *testing.F) {
	f.Add([]byte{0, 0x80, 0xFF, 0x7F, 1, 0x40, 0x80, 0x3F}, uint8(1), uint8(3), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, kind, rows, cols, n uint8) {
		format := denseFormats[int(kind)%len(denseFormats)]
		r, c, rowsIn := int(rows)%50+1, int(cols)+1, int(n)%14+1
		d := NewDense(format, r, c)
		src := repeatBytes(data, r*c*format.bytes())
		d.Pack(src, 0, Panels(d))
		in := Input{Rows: rowsIn, Cols: c, X: make([]float32, rowsIn*c)}
		x := repeatBytes(data, rowsIn*c*4+1)[1:]
		for i := range in.X {
			in.X[i] = math.Float32frombits(binary.LittleEndian.Uint32(x[4*i:]))
		}
		got, want := make([]float32, rowsIn*r), make([]float32, rowsIn*r)
		d.mulReference(want, r, &in, 0, Panels(d))
		d.Mul(got, r, &in, 0, Panels(d), new(Scratch))
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) && !(got[i] != got[i] && want[i] != want[i]) {
				t.Fatalf("%v [%d, %d] row %d: %v, want %v", format, r, c, i/r, got[i], want[i])
			}
		}
	})
}

// repeatBytes fills n bytes with data over and over.
func repeatBytes(data []byte, n int) []byte {
	out := make([]byte, n)
	for i := 0; i < n && len(data) > 0; i += len(data) {
		copy(out[i:], data)
	}
	return out
}

// BenchmarkDense reports what decode is bound by, GB/s of weights, and what prefill is bound by, GMAC/s.
func BenchmarkDense(b *testing.B) {
	saved := level
	defer func() { level = saved }()
	for _, l := range Levels() {
		if l == Generic {
			continue
		}
		level = l
		for _, format := range denseFormats {
			d := NewDense(format, 16384, 5120)
			fillPages(d.w.data)
			benchmarkMul(b, fmt.Sprintf("%v/%v", l, format), d)
		}
	}
}

func benchmarkMul(b *testing.B, name string, m Matrix) {
	for _, n := range []int{1, 2, 4, 5, 8, 12, 16, 24, 512} {
		panels := Panels(m)
		if n > 24 {
			panels = min(panels, 32)
		}
		b.Run(fmt.Sprintf("%s/T%d", name, n), func(b *testing.B) {
			var in Input
			var s Scratch
			in.Resize(m.InputKey(), n, m.Cols())
			m.Prepare(&in, make([]float32, n*m.Cols()), 0, n)
			y := make([]float32, n*m.Rows())
			m.Mul(y, m.Rows(), &in, 0, panels, &s)
			for b.Loop() {
				m.Mul(y, m.Rows(), &in, 0, panels, &s)
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			share := float64(panels) / float64(Panels(m))
			b.ReportMetric(float64(m.Bytes())*share/seconds/1e9, "GB/s")
			b.ReportMetric(float64(m.Rows()*m.Cols()*n)*share/seconds/1e9, "GMAC/s")
		})
	}
}

// fillPages makes every page real: untouched ones all read the same zero page, from cache.
func fillPages(b []byte) {
	for i := range b {
		b[i] = 1
	}
}

// TestMulAllocations: a step allocates nothing once its scratch has grown.
func TestMulAllocations(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		ms := []Matrix{newDenseCase(t, rng, DenseBF16, 150, 300).d, newDenseCase(t, rng, DenseF32, 150, 300).d}
		for _, k := range fp8Kinds {
			ms = append(ms, newFP8(t, k, 150, 300, k.scales(rng, 150, 300), randomCodes(rng, 150*300)))
		}
		x, y := randomFloats(rng, 13*300), make([]float32, 13*150)
		for _, m := range ms {
			for _, rows := range []int{1, 3, 13} {
				var in Input
				var s Scratch
				step := func() {
					in.Resize(m.InputKey(), rows, 300)
					m.Prepare(&in, x, 0, rows)
					m.Mul(y, 150, &in, 0, Panels(m), &s)
				}
				step()
				if n := testing.AllocsPerRun(1, step); n != 0 {
					t.Errorf("%T %v, %d rows: %v allocations", m, m.InputKey(), rows, n)
				}
			}
		}
	})
}

// TestKernelChecks runs what SelfCheck runs at start, at every level.
func TestKernelChecks(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, c := range checks {
			if c.name == "dense" || c.name == "fp8" {
				if err := c.run(); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
		}
	})
}
