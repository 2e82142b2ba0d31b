package kernels

import "testing"

func TestConvToyVector(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		y := make([]float32, 5)
		ConvSiLU(y, []float32{1, -2, 0.5, 3, -1}, make([]float32, 3), []float32{0.1, -0.2, 0.3, 0.4}, 5, 1, 1, 0, 1)
		vecNear(t, "ConvSiLU", y, []float64{0.239475064, -0.188770334, -0.212606216, 1.598635141, 0.109966799}, 1e-7)
	})
}

// TestConvSiLU compares whole runs of the reference with the dispatched kernel, cut into chunks of tokens and channels in
// any way, the state carried along.
func TestConvSiLU(t *testing.T) {
	rng := vecRNG(t)
	eachLevel(t, func(t *testing.T) {
		for _, channels := range []int{1, 3, 4, 7, 8, 15, 16, 17, 33, 48, 63, 96, 1500} {
			const rows = 9
			stride := channels + rng.IntN(3)
			weight := guarded(t, vecNormal(rng, ConvTaps*channels, 1))
			u := guarded(t, vecNormal(rng, (rows-1)*stride+channels, 2))
			state0 := vecNormal(rng, 3*channels, 2)

			all := append(append([]float32{}, state0...), make([]float32, rows*channels)...)
			for r := range rows {
				copy(all[(3+r)*channels:][:channels], u[r*stride:])
			}
			want := make([]float32, len(u))
			for r := range rows {
				var x, w [ConvTaps][]float32
				for k := range x {
					x[k], w[k] = all[(r+k)*channels:][:channels], weight[k*channels:][:channels]
				}
				convGeneric(want[r*stride:][:channels], &x, &w, 0)
			}

			for range 4 {
				state := guarded(t, state0)
				y := guarded(t, make([]float32, len(u)))
				for t0 := 0; t0 < rows; {
					n := 1 + rng.IntN(rows-t0)
					c := rng.IntN(channels + 1)
					end := (t0+n-1)*stride + channels
					ConvSiLU(y[t0*stride:end], u[t0*stride:end], state, weight, n, channels, stride, 0, c)
					ConvSiLU(y[t0*stride:end], u[t0*stride:end], state, weight, n, channels, stride, c, channels)
					ConvState(state, u[t0*stride:end], n, channels, stride)
					t0 += n
				}
				vecSame(t, "ConvSiLU", y, want)
				vecSame(t, "ConvState", state, all[rows*channels:])
			}
		}
	})
}

func BenchmarkConvSiLU(b *testing.B) {
	vecBench(b, func(b *testing.B) {
		rng := vecRNG(b)
		const rows, channels = 64, 6144
		u, w, s := vecNormal(rng, rows*channels, 1), vecNormal(rng, 4*channels, 1), vecNormal(rng, 3*channels, 1)
		y := make([]float32, len(u))
		b.SetBytes(int64(4 * len(u)))
		for b.Loop() {
			ConvSiLU(y, u, s, w, rows, channels, channels, 0, channels)
		}
	})
}
