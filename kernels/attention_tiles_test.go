//go:build amd64 || arm64

package kernels

import (
	"testing"
	"unsafe"
)

// BenchmarkAttendTile is the multiply loops alone, on operands in the first-level cache.
func BenchmarkAttendTile(b *testing.B) {
	c := benchCase(b, KVF32, 1, 1, 32)
	for _, lv := range Levels()[1:] {
		saved := level
		level = lv
		blk := c.l.newBlock(0, 12, false, new(AttnScratch))
		t := blk.tile(0)
		k := unsafe.Pointer(&c.pages[0][0])
		run := func(name string, f func()) {
			b.Run(name+"/"+lv.String(), func(b *testing.B) {
				level = lv
				for b.Loop() {
					f()
				}
				b.ReportMetric(12*32*256*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gfma/s")
			})
		}
		run("scores", func() { tileScores(&blk.s[0], &t.q[0], k, KVF32, 256, 12, prefetch{at: k}) })
		run("values", func() { tileValues(&t.acc[0], &blk.s[0], &blk.s[tileStep], k, KVF32, 256, 32, 12, prefetch{at: k}) })
		valid := [16]int32{32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32}
		run("softmax", func() { tileSoftmax(&blk.s[0], &t.m[0], &blk.s[tileStep], &t.sum[0], &valid, 12) })
		level = saved
	}
}
