package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// vecRNG is seeded anew in each run; the seed is logged when a test fails.
func vecRNG(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// vecNormal is n values of the given spread.
func vecNormal(rng *rand.Rand, n int, spread float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * spread)
	}
	return x
}

// vecMixed is n values of ordinary size, among them any bit pattern at all: infinities, NaN, subnormals.
func vecMixed(rng *rand.Rand, n int) []float32 {
	x := vecNormal(rng, n, 10)
	for i := range x {
		switch rng.IntN(8) {
		case 0:
			x[i] = math.Float32frombits(rng.Uint32())
		case 1:
			x[i] = [...]float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)),
				float32(math.NaN()), -88, -103.97, -104, 88.72, 88.73, 1e-40, -1e-40}[rng.IntN(12)]
		}
	}
	return x
}

// vecSame demands equal bits, any NaN being equal to any other: payloads are not part of the numerics.
func vecSame(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: entry %d of %d is %x, want %x", what, i, len(want), got[i], want[i])
		}
	}
}

// vecUlps is |got-want| in units in the last place of want as a float32.
func vecUlps(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case float64(got) == want:
		return 0
	case math.IsNaN(want):
		if got != got {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0):
		if w == got {
			return 0
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// vecSweep measures f against want on float32 values from the whole range and on a dense set within ±span.
func vecSweep(t *testing.T, name string, bound, span float64, f func(float32) float32, want func(float64) float64) {
	t.Helper()
	rng := vecRNG(t)
	worst, at := 0.0, float32(0)
	try := func(x float32) {
		if u := vecUlps(f(x), want(float64(x))); !(u <= worst) {
			worst, at = u, x
		}
	}
	for b := uint64(rng.IntN(20011)); b < 1<<32; b += 20011 {
		try(math.Float32frombits(uint32(b)))
	}
	for range 200000 {
		try(float32((rng.Float64()*2 - 1) * span))
	}
	if !(worst <= bound) {
		t.Errorf("%s(%g) = %g is off by %.3f units in the last place, want at most %g", name, at, f(at), worst, bound)
	}
	t.Logf("%s: worst %.3f ulp at %g", name, worst, at)
}

func TestExp(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{{0, 1}, {inf, inf}, {-inf, 0}, {-104, 0}, {89, inf}, {1, math.E}} {
		if got := Exp(c.x); got != c.want {
			t.Errorf("Exp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	if got := Exp(float32(math.NaN())); got == got {
		t.Errorf("Exp(NaN) = %v", got)
	}
	vecSweep(t, "Exp", 1, 105, Exp, math.Exp)
}

func TestExpSlice(t *testing.T) {
	rng := vecRNG(t)
	eachLevel(t, func(t *testing.T) {
		for n := range 70 {
			x := guarded(t, vecMixed(rng, n))
			want := make([]float32, n)
			expGeneric(want, x)
			dst := guarded(t, make([]float32, n))
			ExpSlice(dst, x)
			vecSame(t, "ExpSlice", dst, want)
			ExpSlice(x, x)
			vecSame(t, "ExpSlice in place", x, want)
		}
		long := make([]float32, 1<<16)
		for i := range long {
			long[i] = math.Float32frombits(uint32(i)<<16 | rng.Uint32()>>16)
		}
		got, want := make([]float32, len(long)), make([]float32, len(long))
		ExpSlice(got, long)
		expGeneric(want, long)
		vecSame(t, "ExpSlice of every exponent", got, want)
	})
}

// vecBench runs body at each level this CPU has.
func vecBench(b *testing.B, body func(b *testing.B)) {
	saved := level
	defer func() { level = saved }()
	for _, l := range Levels() {
		b.Run(l.String(), func(b *testing.B) {
			level = l
			body(b)
		})
	}
}
