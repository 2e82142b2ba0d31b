package kernels

import (
	"math"
	"math/big"
	"testing"
)

func TestUnaryFunctions(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	vecSweep(t, "Sigmoid", 2.5, 105, Sigmoid, sigmoid)
	vecSweep(t, "SiLU", 3.5, 105, func(x float32) float32 { return SiLU(max(x, -86)) },
		func(x float64) float64 { return max(x, -86) * sigmoid(max(x, -86)) })
	vecSweep(t, "Softplus", 3, 105, Softplus, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) })
	vecSweep(t, "Log", 0.501, 3, Log, math.Log)
	vecSweep(t, "Log1p", 0.501, 2, Log1p, math.Log1p)
}

// TestSiLUTail covers results that a subnormal sigmoid makes coarse.
func TestSiLUTail(t *testing.T) {
	for x := float32(-86); x > -200; x -= 0.037 {
		want := float64(x) / (1 + math.Exp(-float64(x)))
		if got := float64(SiLU(x)); !(math.Abs(got-want) <= 105*0x1p-149+math.Abs(want)*0x1p-21) {
			t.Fatalf("SiLU(%v) = %v, want %v", x, got, want)
		}
	}
}

// TestSinCos compares with a reduction in 400 bits.
func TestSinCos(t *testing.T) {
	rng := vecRNG(t)
	worst := 0.0
	try := func(x float32) {
		s, c := SinCos(x)
		for _, p := range [...]struct {
			got  float32
			want float64
		}{{s, sinExact(float64(x))}, {c, cosExact(float64(x))}} {
			u := vecUlps(p.got, p.want)
			if !(u <= 0.51) {
				t.Fatalf("SinCos(%g) has %g for %g: %.3f units in the last place", x, p.got, p.want, u)
			}
			worst = max(worst, u)
		}
	}
	for range 100000 {
		try(float32(rng.Float64() * 300000))
		try(float32((rng.Float64()*2 - 1) * sinCosMax))
		try(float32(math.Ldexp(rng.Float64(), -rng.IntN(120))))
	}
	for n := range 200000 { // beside multiples of π/2, where the reduction cancels most
		x := float32(float64(n) * math.Pi / 2)
		try(x)
		try(math.Nextafter32(x, 1e9))
	}
	for _, x := range []float32{0, 1, -1, sinCosMax, -sinCosMax} {
		try(x)
	}
	t.Logf("worst %.4f ulp", worst)
	for _, x := range []float32{float32(math.Inf(1)), float32(math.NaN()), sinCosMax * 2} {
		if s, c := SinCos(x); s == s || c == c {
			t.Errorf("SinCos(%v) = %v, %v, want NaN", x, s, c)
		}
	}
}

// pio2 is π/2 to 300 bits (Machin).
var pio2 = func() *big.Float {
	const prec = 400
	arctanInv := func(n int64) *big.Float {
		sum, term := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(prec).SetInt64(1)
		term.Quo(term, new(big.Float).SetInt64(n))
		for k := int64(0); k < 400; k++ {
			part := new(big.Float).SetPrec(prec).Quo(term, new(big.Float).SetInt64(2*k+1))
			if k%2 == 1 {
				part.Neg(part)
			}
			sum.Add(sum, part)
			term.Quo(term, new(big.Float).SetInt64(n*n))
		}
		return sum
	}
	a, b := arctanInv(5), arctanInv(239)
	a.Mul(a, big.NewFloat(8))
	b.Mul(b, big.NewFloat(2))
	return a.Sub(a, b)
}()

// reduce is x minus the nearest multiple of π/2, and that multiple modulo 4.
func reduce(x float64) (r float64, quadrant int64) {
	v := new(big.Float).SetPrec(400).SetFloat64(x)
	n := math.RoundToEven(x / (math.Pi / 2))
	v.Sub(v, new(big.Float).SetPrec(400).Mul(pio2, big.NewFloat(n)))
	r, _ = v.Float64()
	return r, int64(n) & 3
}

func sinExact(x float64) float64 {
	r, q := reduce(x)
	return [...]float64{math.Sin(r), math.Cos(r), -math.Sin(r), -math.Cos(r)}[q]
}

func cosExact(x float64) float64 {
	r, q := reduce(x)
	return [...]float64{math.Cos(r), -math.Sin(r), -math.Cos(r), math.Sin(r)}[q]
}
