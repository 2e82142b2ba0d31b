package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestNVFP4EveryTile multiplies every number of rows up to 40, into rows with gaps that must stay as they are.
func TestNVFP4EveryTile(t *testing.T) {
	const rows, stride, untouched = 2*PanelRows + 3, 2*PanelRows + 8, 12345.5
	seed := rand.Uint64()
	eachLevel(t, func(t *testing.T) {
		for name, key := range nvfp4Keys {
			rng := rand.New(rand.NewPCG(seed, 4))
			var s Scratch
			for n := 1; n <= 40; n++ {
				m := newNVFP4(t, rng, rows, BlockCols*(1+n%3), key)
				m.codes, m.scales = guarded(t, m.codes), guarded(t, m.scales)
				var in Input
				in.Resize(key, n, m.cols)
				x := make([]float32, n*m.cols)
				for i := range x {
					x[i] = float32(rng.NormFloat64())
				}
				m.Prepare(&in, x, 0, n)
				in.E2M1, in.Fixed24 = guarded(t, in.E2M1), guarded(t, in.Fixed24)
				want := make([]float32, (n-1)*stride+rows)
				for i := range want {
					want[i] = untouched
				}
				got := guarded(t, want)
				m.mulReference(want, stride, &in, 0, Panels(m))
				m.Mul(got, stride, &in, 0, Panels(m), &s)
				for i := range want {
					if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
						t.Fatalf("%s, seed %d: row %d of %d, output %d is %v, want %v", name, seed, i/stride, n, i%stride, got[i], want[i])
					}
				}
			}
		}
	})
}

// TestNVFP4SpoiltRow: a value that is not finite makes the outputs of its row NaN, and no others.
func TestNVFP4SpoiltRow(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for name, key := range nvfp4Keys {
			m := newNVFP4(t, rand.New(rand.NewPCG(1, 1)), 20, 64, key)
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				x := make([]float32, 3*64)
				for i := range x {
					x[i] = float32(i%7) - 3
				}
				x[64+17] = float32(bad)
				var in Input
				in.Resize(key, 3, 64)
				m.Prepare(&in, x, 0, 3)
				y := make([]float32, 3*20)
				m.Mul(y, 20, &in, 0, Panels(m), new(Scratch))
				for i, v := range y {
					if (v != v) != (i/20 == 1) {
						t.Errorf("%s with %v: row %d, output %d is %v", name, bad, i/20, i%20, v)
					}
				}
			}
		}
	})
}

// TestNVFP4AllocatesNothing once its scratch has grown.
func TestNVFP4AllocatesNothing(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for name, key := range nvfp4Keys {
			m := newNVFP4(t, rand.New(rand.NewPCG(1, 1)), 40, 64, key)
			for _, rows := range []int{1, 3, 17} {
				var in Input
				in.Resize(key, rows, 64)
				x, y, s := make([]float32, rows*64), make([]float32, rows*40), new(Scratch)
				m.Prepare(&in, x, 0, rows)
				m.Mul(y, 40, &in, 0, Panels(m), s)
				if n := testing.AllocsPerRun(10, func() {
					m.Prepare(&in, x, 0, rows)
					m.Mul(y, 40, &in, 0, Panels(m), s)
				}); n != 0 {
					t.Errorf("%s, %d rows: %v allocations", name, rows, n)
				}
			}
		}
	})
}

func TestNVFP4Check(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		if err := checkNVFP4Kernels(); err != nil {
			t.Error(err)
		}
	})
}
