package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestFMA32 compares with big.Float: an exact product and sum, rounded once.
func TestFMA32(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	exact := func(x, y, z float32) float32 {
		p := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		p.Add(p, big.NewFloat(float64(z)))
		f, _ := p.Float32()
		return f
	}
	pick := func() float32 {
		for {
			b := rng.Uint32()
			if rng.IntN(2) == 0 { // few mantissa bits: ties
				b &= 0xFFFFF000
			}
			f := math.Float32frombits(b)
			if !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) {
				return f
			}
		}
	}
	for range 300000 {
		x, y, z := pick(), pick(), pick()
		if rng.IntN(2) == 0 { // sums near a tie
			z = -x * y * float32(math.Ldexp(1, rng.IntN(52)-26))
			if math.IsNaN(float64(z)) || math.IsInf(float64(z), 0) {
				continue
			}
		}
		got, want := fma32(x, y, z), exact(x, y, z)
		if got != want && !(got == 0 && want == 0) {
			t.Fatalf("seed %d: fma32(%x, %x, %x) = %x, want %x", seed, x, y, z, got, want)
		}
	}
}
