package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestArgMax(t *testing.T) {
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(0)
	eachLevel(t, func(t *testing.T) {
		for _, c := range []struct {
			x    []float32
			want int
		}{
			{nil, 0}, {[]float32{nan, nan}, 0}, {[]float32{nan, -inf, -inf}, 1}, {[]float32{nan, 1, nan, 2, 2}, 3},
			{[]float32{-zero, zero, -zero}, 0}, {[]float32{-3, inf, nan, inf}, 1}, {[]float32{-5, -4, -6}, 1},
		} {
			if got := ArgMax(c.x); got != c.want {
				t.Errorf("ArgMax(%v) = %d, want %d", c.x, got, c.want)
			}
		}
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		lengths := []int{argMaxChunk - 1, argMaxChunk, argMaxChunk + 1, 3*argMaxChunk + 77}
		for n := range 200 {
			lengths = append(lengths, n+1)
		}
		for _, n := range lengths {
			for range 5 {
				x := guarded(t, make([]float32, n))
				for i := range x { // few values, so ties abound
					x[i] = float32(rng.IntN(40)) - 45
					if rng.IntN(4) == 0 {
						x[i] = nan
					}
				}
				got, want := ArgMax(x), 0
				for i, v := range x {
					if x[want] != x[want] && v == v || v > x[want] {
						want = i
					}
				}
				if got != want {
					t.Fatalf("seed %d: ArgMax of %d values is %d, want %d", seed, n, got, want)
				}
			}
		}
	})
}

func BenchmarkArgMax(b *testing.B) {
	x := randomFloats(rand.New(rand.NewPCG(1, 1)), 248320)
	b.SetBytes(int64(4 * len(x)))
	for b.Loop() {
		ArgMax(x)
	}
}
