package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchCase is a cache of n positions of one KV head of 256 dimensions, all pages distinct, and rows whose last one sees all.
func benchCase(b *testing.B, format KVFormat, group, rows, n int) *attnCase {
	rng := rand.New(rand.NewPCG(1, 1))
	l := KVLayout{Format: format, Heads: 1, Dim: 256}
	c := &attnCase{l: l, group: group, stride: group * l.Dim, scale: 1.0 / 16, kScale: 1, vScale: 1}
	for range (n + 31) / 32 {
		page := make([]byte, l.Bytes())
		k := make([]float32, l.Dim)
		for slot := range PagePositions {
			for d := range k {
				k[d] = rng.Float32() - 0.5
			}
			l.Store(page, slot, k, k, 1, 1)
		}
		c.pages = append(c.pages, page)
	}
	c.q = make([]float32, rows*c.stride)
	for i := range c.q {
		c.q[i] = rng.Float32() - 0.5
	}
	for r := range rows {
		c.lens = append(c.lens, n-rows+1+r)
	}
	return c
}

// BenchmarkAttend reports multiply-adds, and the bytes of keys and values a row reads.
func BenchmarkAttend(b *testing.B) {
	for _, bb := range []struct {
		name                 string
		format               KVFormat
		group, rows, context int
	}{
		{"decode", KVF32, 4, 1, 16384}, {"decode", KVBF16, 4, 1, 16384}, {"decode", KVFP8, 4, 1, 16384}, {"decode", KVBF16, 6, 1, 16384},
		{"verify", KVBF16, 4, 8, 16384}, {"prefill", KVBF16, 4, 256, 4096}, {"prefill", KVFP8, 6, 256, 4096}, {"prefill", KVF32, 4, 256, 4096},
		{"prefill", KVBF16, 4, 256, 256},
	} {
		c := benchCase(b, bb.format, bb.group, bb.rows, bb.context)
		for _, lv := range Levels()[1:] {
			b.Run(fmt.Sprintf("%s/%v/group%d/rows%d/context%d/%v", bb.name, bb.format, bb.group, bb.rows, bb.context, lv), func(b *testing.B) {
				saved := level
				defer func() { level = saved }()
				level = lv
				out, s, fmas := make([]float32, len(c.q)), new(AttnScratch), 0
				for _, n := range c.lens {
					fmas += 2 * n * c.l.Dim * c.group
				}
				for b.Loop() {
					c.l.Attend(out, c.q, c.stride, bb.rows, bb.group, c.lens, c.pages, 0, c.scale, 1, 1, s)
				}
				b.ReportMetric(float64(fmas)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gfma/s")
				b.ReportMetric(float64(len(c.pages)*c.l.Bytes())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}
