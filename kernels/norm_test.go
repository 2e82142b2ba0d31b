package kernels

import (
	"math"
	"testing"
)

// vecNear demands |got-want| ≤ rel · max|want|, and no NaN.
func vecNear(t testing.TB, what string, got []float32, want []float64, rel float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= rel*largest) {
			t.Fatalf("%s: entry %d is %v, want %v within %g of %g", what, i, got[i], w, rel, largest)
		}
	}
}

func TestNormToyVectors(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		x := []float32{1, -2, 3, 0.5}
		y := make([]float32, 4)
		RMSNorm(y, x, []float32{1, 0.5, 2, 1.25}, 1e-6) // zero-centred weights 0, -0.5, 1, 0.25
		vecNear(t, "RMSNorm", y, []float64{0.529812868, -0.529812868, 3.178877211, 0.331133043}, 1e-7)
		GatedRMSNorm(y, x, []float32{0.5, -1, 2, 0}, []float32{1, 0.5, 2, 1.5}, 1e-6)
		vecNear(t, "GatedRMSNorm", y, []float64{0.164893482, 0.142488626, 5.599891517, 0}, 1e-7)
		L2Norm(y, []float32{3, 0, 4, 0}, 2)
		vecNear(t, "L2Norm", y, []float64{1.2, 0, 1.6, 0}, 1e-7)
	})
}

// TestSumSquaresOrder spells the order for 40 entries: three rounds of lanes, the last half empty, then the tree.
func TestSumSquaresOrder(t *testing.T) {
	rng := vecRNG(t)
	x := vecNormal(rng, 40, 1)
	lane := func(l int) float32 {
		s := x[l] * x[l]
		s = fma32(x[l+16], x[l+16], s)
		if l < 8 {
			s = fma32(x[l+32], x[l+32], s)
		}
		return s
	}
	fold := func(l int) float32 { return (lane(l) + lane(l+8)) + (lane(l+4) + lane(l+12)) }
	want := (fold(0) + fold(2)) + (fold(1) + fold(3))
	vecSame(t, "sumSquares", []float32{sumSquaresGeneric(x)}, []float32{want})
}

func TestNorms(t *testing.T) {
	rng := vecRNG(t)
	lengths := []int{128, 144, 256, 1024, 5120}
	for n := range 100 {
		lengths = append(lengths, n)
	}
	eachLevel(t, func(t *testing.T) {
		for _, n := range lengths {
			src := vecNormal(rng, n, 3)
			z := guarded(t, vecMixed(rng, n))
			w := guarded(t, vecNormal(rng, n, 1))
			want := make([]float32, n)
			both := func(name string, reference func(), op func(y, x []float32)) {
				t.Helper()
				x := guarded(t, src)
				if reference(); n == 0 {
					return
				}
				y := guarded(t, make([]float32, n))
				op(y, x)
				vecSame(t, name, y, want)
				op(x, x)
				vecSame(t, name+" in place", x, want)
			}
			inv := float32(1)
			if n > 0 {
				inv = 1 / sqrt32(float32(sumSquaresGeneric(src)/float32(n))+1e-6)
			}
			both("RMSNorm", func() { scaleMulGeneric(want, src, w, inv) }, func(y, x []float32) { RMSNorm(y, x, w, 1e-6) })
			both("GatedRMSNorm", func() { gateMulGeneric(want, src, z, w, inv) },
				func(y, x []float32) { GatedRMSNorm(y, x, z, w, 1e-6) })
			inv = 1 / sqrt32(sumSquaresGeneric(src)+1e-6)
			both("L2Norm", func() { scaleGeneric(want, src, inv, 0.25) }, func(y, x []float32) { L2Norm(y, x, 0.25) })
		}
	})
}

func BenchmarkNorms(b *testing.B) {
	vecBench(b, func(b *testing.B) {
		x := vecNormal(vecRNG(b), 5120, 1)
		y := make([]float32, len(x))
		b.Run("RMSNorm5120", func(b *testing.B) {
			for b.Loop() {
				RMSNorm(y, x, x, 1e-6)
			}
		})
		h, z := y[:128], x[:128]
		b.Run("GatedRMSNorm128", func(b *testing.B) {
			for b.Loop() {
				GatedRMSNorm(h, z, z, z, 1e-6)
			}
		})
		b.Run("L2Norm128", func(b *testing.B) {
			for b.Loop() {
				L2Norm(h, z, 1)
			}
		})
	})
}
