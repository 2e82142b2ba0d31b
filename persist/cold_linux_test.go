package persist

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dropPages makes the kernel forget its copy of a file, as after a restart of the board.
func dropPages(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkColdLoad loads records of 64 MiB that are not in memory.
func BenchmarkColdLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "cache.db")
	o := quiet()
	o.DiskBudgetBytes = 2 << 30
	c := mustOpen(b, path, o)
	data := pattern("x", 64<<20)
	const records = 8
	for n := range records {
		r := &Record{Key: fmt.Append(nil, n), Blobs: []Blob{{Ref{1, fmt.Append(nil, n)}, [][]byte{data}}}}
		if err := c.Put(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	var opened, loaded time.Duration
	for b.Loop() {
		dropPages(b, path)
		began := time.Now()
		c := mustOpen(b, path, o)
		opened += time.Since(began)
		began = time.Now()
		for n := range records {
			if err := c.Load(1, fmt.Append(nil, n), func([]byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		loaded += time.Since(began)
		c.Close()
	}
	gib := float64(b.N) * records / 16
	b.ReportMetric(gib*1024/loaded.Seconds(), "MiB/s")
	b.ReportMetric(float64(opened.Milliseconds())/gib, "openMs/GiB")
}
