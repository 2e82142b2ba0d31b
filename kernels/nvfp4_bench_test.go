package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// best is the shortest of a few runs.
func best(n int, f func()) float64 {
	shortest := time.Duration(1 << 62)
	for range n {
		start := time.Now()
		f()
		shortest = min(shortest, time.Since(start))
	}
	return shortest.Seconds()
}

func benchNVFP4(b *testing.B, rows, cols, t int, key InputKey) (*NVFP4, *Input) {
	b.Helper()
	m, err := NewNVFP4(rows, cols, 1, key)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range m.codes {
		m.codes[i] = byte(i * 0x9E3779B1 >> 16)
	}
	for i := range m.scales {
		m.scales[i] = 0x30 + byte(i%16)
	}
	in := new(Input)
	in.Resize(key, t, cols)
	m.Prepare(in, benchActivations(rng, t*cols), 0, t)
	return m, in
}

func eachLevelBench(b *testing.B, body func(b *testing.B)) {
	saved := level
	defer func() { level = saved }()
	for _, l := range Levels()[1:] {
		b.Run(l.String(), func(b *testing.B) { level = l; body(b) })
	}
}

// BenchmarkNVFP4Decode reports the fraction of the read bandwidth over 1 GiB that few rows reach on a matrix of 200 MB,
// one thread.
func BenchmarkNVFP4Decode(b *testing.B) {
	memory := make([]byte, 1<<30)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	eachLevelBench(b, func(b *testing.B) {
		for name, key := range nvfp4Keys {
			for _, t := range []int{1, 2, 4, 8} {
				b.Run(fmt.Sprintf("%s/T=%d", name, t), func(b *testing.B) {
					m, in := benchNVFP4(b, 20*17408, 1024, t, key)
					y, s := make([]float32, t*m.rows), new(Scratch)
					for b.Loop() {
						read := float64(len(memory)) / best(2, func() { SumBytes(memory) })
						mul := float64(m.Bytes()) / best(5, func() { m.Mul(y, m.rows, in, 0, Panels(m), s) })
						b.ReportMetric(mul/1e9, "GB/s")
						b.ReportMetric(mul/read, "of-read")
					}
				})
			}
		}
	})
}

// BenchmarkNVFP4Prefill reports multiply-accumulates of 512 rows by the peaks on registers, one thread.
func BenchmarkNVFP4Prefill(b *testing.B) {
	eachLevelBench(b, func(b *testing.B) {
		for name, key := range nvfp4Keys {
			for _, cols := range []int{1024, 3584} {
				b.Run(fmt.Sprintf("%s/K=%d", name, cols), func(b *testing.B) {
					const t, rows = 512, 1024
					m, in := benchNVFP4(b, rows, cols, t, key)
					y, s := make([]float32, t*rows), new(Scratch)
					for b.Loop() {
						const n = 500_000
						fma, inner := float64(FMAPeak(n))/best(3, func() { FMAPeak(n) }), float64(NVFP4InnerPeak(n))/best(3, func() { NVFP4InnerPeak(n) })
						mul := float64(t*rows*cols) / best(3, func() { m.Mul(y, rows, in, 0, Panels(m), s) })
						b.ReportMetric(mul/1e9, "GMAC/s")
						b.ReportMetric(mul/fma, "of-FMA")
						b.ReportMetric(mul/inner, "of-inner")
					}
				})
			}
		}
	})
}

func BenchmarkNVFP4Prepare(b *testing.B) {
	eachLevelBench(b, func(b *testing.B) {
		for name, key := range nvfp4Keys {
			b.Run(name, func(b *testing.B) {
				m, in := benchNVFP4(b, 16, 4096, 8, key)
				x := benchActivations(rand.New(rand.NewPCG(1, 1)), 8*4096)
				b.SetBytes(int64(4 * len(x)))
				for b.Loop() {
					m.Prepare(in, x, 0, 8)
				}
			})
		}
	})
}

func benchActivations(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}
