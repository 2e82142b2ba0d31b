package persist

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkRecord stores and loads records of 64 MiB: a state of 32 MiB and 32 pages of 1 MiB.
func BenchmarkRecord(b *testing.B) {
	path := filepath.Join(b.TempDir(), "cache.db")
	o := quiet()
	o.DiskBudgetBytes = 2 << 30
	c := mustOpen(b, path, o)
	data := pattern("x", 32<<20)
	make64 := func(n int) *Record {
		r := &Record{Key: fmt.Append(nil, "r", n)}
		r.Blobs = append(r.Blobs, Blob{Ref{2, fmt.Append(nil, "s", n)}, [][]byte{data}})
		for p := range 32 {
			r.Blobs = append(r.Blobs, Blob{Ref{1, fmt.Append(nil, "p", n, "/", p)}, [][]byte{data[p<<20 : (p+1)<<20]}})
		}
		return r
	}
	var stored, loaded, opened time.Duration
	n := 0
	for b.Loop() {
		r := make64(n)
		n++
		began := time.Now()
		if err := c.Put(context.Background(), r); err != nil {
			b.Fatal(err)
		}
		stored += time.Since(began)
		began = time.Now()
		for _, bl := range r.Blobs {
			if err := c.Load(bl.Kind, bl.Key, func([]byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		loaded += time.Since(began)
	}
	s := c.Stats()
	c.Close()
	began := time.Now()
	mustOpen(b, path, o)
	opened = time.Since(began)
	mib := float64(n * 64)
	b.ReportMetric(mib/stored.Seconds(), "storedMiB/s")
	b.ReportMetric(mib/loaded.Seconds(), "loadedMiB/s")
	b.ReportMetric(float64(s.WrittenBytes)/(mib*(1<<20)), "written/byte")
	b.ReportMetric(float64(s.FileBytes)/(mib*(1<<20)), "file/byte")
	b.ReportMetric(float64(opened.Milliseconds())/(mib/1024), "openMs/GiB")
}
