package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// e4m3Value is the definition of the format, NaN for codes 0x7F and 0xFF.
func e4m3Value(c byte) float32 {
	exp, frac := int(c>>3&15), float64(c&7)
	v := math.Ldexp(frac, -9)
	if exp > 0 {
		v = math.Ldexp(8+frac, exp-10)
	}
	if c&0x7F == 0x7F {
		v = math.NaN()
	}
	if c&0x80 != 0 {
		v = -v
	}
	return float32(v)
}

// roundE4M3Search rounds by looking through all codes, without arithmetic on bits.
func roundE4M3Search(v float32) float32 {
	a := math.Min(math.Abs(float64(v)), 448)
	best := 0
	for c := 1; c < 0x7F; c++ {
		d, b := math.Abs(float64(e4m3Value(byte(c)))-a), math.Abs(float64(e4m3Value(byte(best)))-a)
		if d < b || d == b && c%2 == 0 {
			best = c
		}
	}
	return float32(math.Copysign(float64(e4m3Value(byte(best))), float64(v)))
}

func TestRoundE4M3(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		var x []float32
		for c := range 0x7E { // every value, every tie and their neighbours
			a, b := e4m3Value(byte(c)), e4m3Value(byte(c+1))
			for _, v := range []float32{a, (a + b) / 2} {
				x = append(x, v, -v, math.Nextafter32(v, 1000), math.Nextafter32(v, -1000))
			}
		}
		x = append(x, 448, 449, 464, 480, 1e30, float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)), 1e-45, -1e-40)
		for range 2000 {
			x = append(x, float32(math.Ldexp(rng.NormFloat64(), rng.IntN(30)-18)))
		}
		for n := len(x) - 37; n <= len(x); n++ {
			from := guarded(t, x[:n])
			got := guarded(t, make([]float32, n))
			roundE4M3(got, from, 1)
			for i := range got {
				if n < len(x) && i < n-40 {
					continue
				}
				if want := roundE4M3Search(x[i]); math.Float32bits(got[i]) != math.Float32bits(want) {
					t.Fatalf("seed %d: %v rounds to %v, want %v", seed, x[i], got[i], want)
				}
			}
		}
		nan := make([]float32, 37)
		for i := range nan {
			nan[i] = math.Float32frombits(0x7F800001 | rng.Uint32())
		}
		roundE4M3(nan, nan, 2)
		for i, v := range nan {
			if v == v {
				t.Fatalf("NaN %d became %v", i, v)
			}
		}
		scaled, want := randomFloats(rng, 100), make([]float32, 100)
		roundE4M3Reference(want, scaled, 0.013)
		roundE4M3(scaled, scaled, 0.013)
		equalBits(t, "scaled", scaled, want)
	})
}

func TestAbsMax(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
		for n := range 70 {
			x := guarded(t, randomFloats(rng, n))
			var want float32
			for i := range x {
				if rng.IntN(5) == 0 {
					x[i] = float32(math.NaN())
				}
				if a := float32(math.Abs(float64(x[i]))); a > want {
					want = a
				}
			}
			if got := absMax(x); got != want {
				t.Fatalf("largest of %v is %v, want %v", x, got, want)
			}
		}
	})
}

type fp8Kind struct {
	scheme FP8Scheme
	key    InputKey
}

var fp8Kinds = []fp8Kind{
	{FP8PerTensor, InputKey{}}, {FP8PerTensor, InputKey{InputE4M3, 0.0123}}, {FP8PerTensor, InputKey{Kind: InputE4M3Row}},
	{FP8PerChannel, InputKey{}}, {FP8PerChannel, InputKey{InputE4M3, 0.0123}}, {FP8PerChannel, InputKey{Kind: InputE4M3Row}},
	{FP8Block128, InputKey{}}, {FP8Block128, InputKey{Kind: InputE4M3Groups}},
}

func (k fp8Kind) scales(rng *rand.Rand, rows, cols int) []float32 {
	n := []int{1, rows, groups(rows) * groups(cols)}[k.scheme]
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(0.01 + rng.Float64())
	}
	return s
}

func randomCodes(rng *rand.Rand, n int) []byte {
	codes := make([]byte, n)
	for i := range codes {
		if codes[i] = byte(rng.Uint32()); codes[i]&0x7F == 0x7F {
			codes[i] ^= 1
		}
	}
	return codes
}

func newFP8(t testing.TB, k fp8Kind, rows, cols int, scales []float32, codes []byte) *FP8 {
	t.Helper()
	f, err := NewFP8(rows, cols, k.scheme, scales, k.key)
	if err != nil {
		t.Fatal(err)
	}
	for p := range Panels(f) { // in pieces, as a loader does
		if err := f.Pack(codes, p, p+1); err != nil {
			t.Fatal(err)
		}
	}
	f.w.data = guarded(t, f.w.data)
	return f
}

// wantFP8 follows the order in the comment of FP8, from row-major codes and unrounded activations.
func wantFP8(k fp8Kind, rows, cols int, scales []float32, codes []byte, x []float32) []float32 {
	q, row := x, float32(1)
	group := make([]float32, groups(cols))
	round := func(c0, c1 int, s float32) {
		for i := c0; i < c1; i++ {
			q[i] = roundE4M3Search(x[i] / s)
		}
	}
	dynamic := func(x []float32) (m float32) {
		for _, v := range x {
			m = max(m, v, -v)
		}
		return max(m, 1e-10) / 448
	}
	static := float32(1)
	if k.key.Kind != InputF32 {
		q = make([]float32, cols)
	}
	switch k.key.Kind {
	case InputE4M3:
		static = k.key.Scale
		round(0, cols, static)
	case InputE4M3Row:
		row = dynamic(x)
		round(0, cols, row)
	case InputE4M3Groups:
		for g := range group {
			c0, c1 := g*128, min(g*128+128, cols)
			group[g] = dynamic(x[c0:c1])
			round(c0, c1, group[g])
		}
	}
	y := make([]float32, rows)
	for o := range y {
		var p float32
		for i := range cols {
			p = fma32(e4m3Value(codes[o*cols+i])/256, q[i], p)
			if k.scheme == FP8Block128 && (i == cols-1 || i%128 == 127) {
				s := scales[o/128*groups(cols)+i/128]
				if k.key.Kind == InputE4M3Groups {
					s = group[i/128] * s
				}
				y[o] = fma32(p, s*256, y[o])
				p = 0
			}
		}
		if k.scheme != FP8Block128 {
			y[o] = p * (static * scales[o%len(scales)] * 256)
			if k.key.Kind == InputE4M3Row {
				y[o] *= row
			}
		}
	}
	return y
}

func TestFP8(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		for i, shape := range append(productShapes(), [3]int{300, 300, 1}, [3]int{300, 300, 5}) {
			rows, cols, n := shape[0], shape[1], shape[2]
			for _, k := range []fp8Kind{fp8Kinds[i%6], fp8Kinds[6+i%2]} { // blocks are never left out
				scales, codes := k.scales(rng, rows, cols), randomCodes(rng, rows*cols)
				f := newFP8(t, k, rows, cols, scales, codes)
				x := randomFloats(rng, n*cols)
				var want []float32
				for r := range n {
					want = append(want, wantFP8(k, rows, cols, scales, codes, x[r*cols:][:cols])...)
				}
				equalBits(t, fmt.Sprintf("seed %d %v %v", seed, k, shape), mulGuarded(t, rng, f, x, n), want)
			}
		}
	})
}

// TestFP8Zero: rows of zeros have no largest value to scale by.
func TestFP8Zero(t *testing.T) {
	for _, k := range fp8Kinds {
		rng := rand.New(rand.NewPCG(1, 1))
		f := newFP8(t, k, 20, 150, k.scales(rng, 20, 150), randomCodes(rng, 3000))
		for _, v := range mulGuarded(t, rng, f, make([]float32, 300), 2) {
			if v != 0 {
				t.Fatalf("%v: zeros give %v", k, v)
			}
		}
	}
}

func TestFP8Errors(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		scheme FP8Scheme
		scales []float32
		key    InputKey
		want   string
	}{
		{FP8PerTensor, []float32{1, 2}, InputKey{}, "2 values, want 1"},
		{FP8PerChannel, []float32{1}, InputKey{}, "1 values, want 130"},
		{FP8Block128, []float32{1}, InputKey{}, "1 values, want 4"},
		{FP8PerTensor, []float32{inf}, InputKey{}, "scale 0 is +Inf"},
		{FP8PerTensor, []float32{1}, InputKey{InputE4M3, 0}, "input scale is 0"},
		{FP8PerTensor, []float32{1e30}, InputKey{InputE4M3, 1e30}, "out of range"},
		{FP8PerTensor, []float32{1}, InputKey{Kind: InputE4M3Groups}, "do not multiply"},
		{FP8Block128, make([]float32, 4), InputKey{Kind: InputE4M3Row}, "do not multiply"},
	} {
		if _, err := NewFP8(130, 130, c.scheme, c.scales, c.key); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v %v: %v, want %q", c.scheme, c.scales[:1], c.key, err, c.want)
		}
	}
	for _, at := range []int{0, 7, 8, 29, 30, 59, 60*60 - 1} {
		f, err := NewFP8(60, 60, FP8PerTensor, []float32{1}, InputKey{})
		if err != nil {
			t.Fatal(err)
		}
		codes := make([]byte, 60*60)
		codes[at] = 0xFF
		err = f.Pack(codes, 0, Panels(f))
		if want := fmt.Sprintf("row %d, column %d is NaN", at/60, at%60); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NaN at %d: %v, want %q", at, err, want)
		}
	}
}

// FuzzFP8 compares the best level with the reference on arbitrary codes, scales and activations.
func FuzzFP8(f *testing.F) {
	f.Add([]byte{0, 0x80, 0xFE, 0x7E, 1, 0x40, 0x80, 0x3F}, uint8(7), uint8(3), uint8(200), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, kind, rows, cols, n uint8) {
		k := fp8Kinds[int(kind)%len(fp8Kinds)]
		r, c, rowsIn := int(rows)%50+1, int(cols)+1, int(n)%14+1
		rng := rand.New(rand.NewPCG(uint64(kind), uint64(len(data))))
		m, err := NewFP8(r, c, k.scheme, k.scales(rng, r, c), k.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Pack(repeatBytes(data, r*c), 0, Panels(m)); err != nil {
			return
		}
		x := make([]float32, rowsIn*c)
		for i, b := range repeatBytes(data, rowsIn*c*2) {
			x[i/2] = x[i/2]*256 + float32(b) - 100
		}
		var in Input
		in.Resize(k.key, rowsIn, c)
		m.Prepare(&in, x, 0, rowsIn)
		got, want := make([]float32, rowsIn*r), make([]float32, rowsIn*r)
		m.mulReference(want, r, &in, 0, Panels(m))
		m.Mul(got, r, &in, 0, Panels(m), new(Scratch))
		equalBits(t, fmt.Sprint(k, r, c, rowsIn), got, want)
	})
}

func BenchmarkFP8(b *testing.B) {
	saved := level
	defer func() { level = saved }()
	for _, l := range Levels() {
		if l == Generic {
			continue
		}
		level = l
		for _, k := range []fp8Kind{fp8Kinds[1], fp8Kinds[7]} {
			const rows, cols = 16384, 5120
			m, err := NewFP8(rows, cols, k.scheme, k.scales(rand.New(rand.NewPCG(1, 1)), rows, cols), k.key)
			if err != nil {
				b.Fatal(err)
			}
			fillPages(m.w.data)
			benchmarkMul(b, fmt.Sprintf("%v/%v", l, k.scheme), m)
		}
	}
}
