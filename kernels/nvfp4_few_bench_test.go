package kernels

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// bestRates runs every function in turn, rounds times, and returns the highest rate each reached in what it returns per
// nanosecond: in turn, so that a neighbour's load meets all of them.
func bestRates(rounds int, fs ...func() int) []float64 {
	best := make([]float64, len(fs))
	for range rounds {
		for i, f := range fs {
			start := time.Now()
			work := f()
			best[i] = max(best[i], float64(work)/float64(time.Since(start).Nanoseconds()))
		}
	}
	return best
}

func benchInput(m *NVFP4, rows int) *Input {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, rows*m.cols)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	in := new(Input)
	in.Resize(m.key, rows, m.cols)
	m.Prepare(in, x, 0, rows)
	return in
}

// BenchmarkNVFP4Tiles reports one thread's products of several rows beside the peaks of the level.
func BenchmarkNVFP4Tiles(b *testing.B) {
	const outputs = 256
	saved := level
	defer func() { level = saved }()
	for _, l := range Levels()[1:] {
		for _, kind := range []string{"e2m1", "fixed24"} {
			for _, cols := range []int{1024, 3584} {
				m := newNVFP4(b, rand.New(rand.NewPCG(1, 1)), outputs, cols, nvfp4Keys[kind])
				for _, rows := range []int{2, 8, 512} {
					b.Run(fmt.Sprintf("%v/%s/cols=%d/rows=%d", l, kind, cols, rows), func(b *testing.B) {
						level = l
						var s Scratch
						in, y := benchInput(m, rows), make([]float32, rows*outputs)
						repeat := max(1, 64/rows)
						peak := NVFP4InnerPeak
						if m.key.Kind == InputFixed24 {
							peak = NVFP4Fixed24InnerPeak
						}
						var rates []float64
						for b.Loop() {
							rates = bestRates(12, func() int { return peak(10000) }, func() int { return FMAPeak(40000) }, func() int {
								for range repeat {
									m.Mul(y, outputs, in, 0, Panels(m), &s)
								}
								return repeat * rows * outputs * cols
							})
						}
						b.ReportMetric(rates[2], "GMAC/s")
						b.ReportMetric(100*rates[2]/rates[0], "%inner")
						b.ReportMetric(100*rates[2]/rates[1], "%fma")
					})
				}
			}
		}
	}
}

// BenchmarkNVFP4Few reports few rows times a matrix that no cache holds: the bandwidth beside that of a sum, and the products
// beside the peak of the inner block.
func BenchmarkNVFP4Few(b *testing.B) {
	saved := level
	defer func() { level = saved }()
	const cols, outputs = 2048, 1 << 15
	for _, kind := range []string{"e2m1", "fixed24"} {
		m, err := NewNVFP4(outputs, cols, 1, nvfp4Keys[kind])
		if err != nil {
			b.Fatal(err)
		}
		for i := range m.codes {
			m.codes[i] = byte(i)
		}
		for i := range m.scales {
			m.scales[i] = byte(i & 63)
		}
		for _, l := range Levels()[1:] {
			for _, rows := range []int{1, 2, 4, 8, 16} {
				for _, threads := range []int{1, 2} {
					b.Run(fmt.Sprintf("%v/%s/rows=%d/threads=%d", l, kind, rows, threads), func(b *testing.B) {
						level = l
						benchFew(b, m, rows, threads)
					})
				}
			}
		}
	}
}

func benchFew(b *testing.B, m *NVFP4, rows, threads int) {
	in, y := benchInput(m, rows), make([]float32, rows*m.rows)
	ss := make([]Scratch, threads)
	peak := NVFP4InnerPeak
	if m.key.Kind == InputFixed24 {
		peak = NVFP4Fixed24InnerPeak
	}
	split := func(f func(i int)) {
		var wg sync.WaitGroup
		for i := range threads {
			wg.Go(func() { f(i) })
		}
		wg.Wait()
	}
	var rates []float64
	for b.Loop() {
		rates = bestRates(12, func() int {
			split(func(i int) { SumBytes(m.codes[len(m.codes)*i/threads : len(m.codes)*(i+1)/threads]) })
			return len(m.codes)
		}, func() int {
			var work [2]int
			split(func(i int) { work[i] = peak(20000) })
			return work[0] + work[1]
		}, func() int {
			split(func(i int) { m.Mul(y, m.rows, in, Panels(m)*i/threads, Panels(m)*(i+1)/threads, &ss[i]) })
			return m.Bytes()
		})
	}
	b.ReportMetric(rates[2], "GB/s")
	b.ReportMetric(100*rates[2]/rates[0], "%sum")
	products := float64(rows*m.rows*m.cols) / float64(m.Bytes()) * rates[2]
	b.ReportMetric(products, "GMAC/s")
	b.ReportMetric(100*products/rates[1], "%inner")
}
