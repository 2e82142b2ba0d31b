package persist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func putSchema(f *file, schema byte) error {
	_, err := f.update(func(tx *bbolt.Tx) error { return putMeta(tx, keySchema, []byte{schema}) })
	return err
}

func TestCompaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	c := mustOpen(t, path, quiet())
	for i := range 8 {
		if err := c.Put(context.Background(), record(fmt.Sprint("r", i), 1<<20, 100)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		c.Delete(fmt.Append(nil, "r", i))
	}
	before := c.Stats()
	if err := c.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	after := c.Stats()
	if after.FileBytes > before.FileBytes/2 || after.Compactions != 1 {
		t.Errorf("%d bytes before, %d after", before.FileBytes, after.FileBytes)
	}
	wantBlob(t, c, "r7/0", 1<<20)
	works(t, c, "new")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Compact(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("compaction after its end: %v", err)
	}
	works(t, c, "newer")
	c.Close()
	c = mustOpen(t, path, quiet())
	for _, key := range []string{"r6/0", "r7/0"} {
		wantBlob(t, c, key, 1<<20)
	}
	wantBlob(t, c, "new/0", 3000)
	if left := glob(t, path+".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	checkIndex(t, c)
}

// TestSmallerBudget: a budget lowered between two starts is kept after some evictions and a compaction.
func TestSmallerBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	c := mustOpen(t, path, quiet())
	for i := range 24 {
		if err := c.Put(context.Background(), record(fmt.Sprint("r", i), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	o := quiet()
	o.DiskBudgetBytes = 16 << 20
	c = mustOpen(t, path, o)
	for i := range 3 {
		if err := c.Put(context.Background(), record(fmt.Sprint("new", i), 300000)); err != nil {
			t.Fatal(err)
		}
	}
	settleDown(t, c, func(s Stats) bool { return s.FileBytes <= o.DiskBudgetBytes })
	wantBlob(t, c, "new2/0", 300000)
	checkIndex(t, c)
}

func TestOfflineCompactionAndClearing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	sizes := filled(t, path)
	c := mustOpen(t, path, quiet())
	for i := range 5 {
		c.Delete(fmt.Append(nil, "r", i))
	}
	if err := CompactFile(context.Background(), path, 0); !errors.Is(err, ErrLocked) {
		t.Errorf("compaction of a file in use: %v", err)
	}
	if err := ClearFile(path, 0); !errors.Is(err, ErrLocked) {
		t.Errorf("clearing of a file in use: %v", err)
	}
	c.Close()
	before, _ := Inspect(path, 0, true)
	if err := CompactFile(context.Background(), path, 0); err != nil {
		t.Fatal(err)
	}
	after, err := Inspect(path, 0, true)
	if err != nil || after.FileBytes >= before.FileBytes || len(after.Generations[0].Records) != len(before.Generations[0].Records) {
		t.Errorf("before %d bytes, after %d, %v", before.FileBytes, after.FileBytes, err)
	}
	c = mustOpen(t, path, quiet())
	if right, _ := neverWrong(t, c, sizes); right < 18 {
		t.Errorf("%d blobs left", right)
	}
	c.Close()
	if err := ClearFile(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(path, 0, true); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after clearing: %v", err)
	}
}

// TestLoadsDuringWritesAndCompaction loads from many goroutines while records come and go and the file is replaced.
func TestLoadsDuringWritesAndCompaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	o := quiet()
	o.noSync = true
	c := mustOpen(t, path, o)
	if err := c.Put(context.Background(), record("stay", 700000)); err != nil {
		t.Fatal(err)
	}
	stop, failed := make(chan struct{}), make(chan error, 4)
	for range 4 {
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					failed <- nil
					return
				default:
				}
				if got, err := load(c, "stay/0"); err != nil || string(got) != string(pattern("stay/0", 700000)) {
					failed <- fmt.Errorf("load %d: %v", n, err)
					return
				}
				if got, err := load(c, fmt.Sprintf("r%d/0", n%10)); err == nil && string(got) != string(pattern(fmt.Sprintf("r%d/0", n%10), 300000)) {
					failed <- fmt.Errorf("load %d: wrong bytes", n)
					return
				}
			}
		}()
	}
	for i := range 30 {
		if err := c.Put(context.Background(), record(fmt.Sprint("r", i%10), 300000)); err != nil {
			t.Error(err)
		}
		c.Delete(fmt.Append(nil, "r", (i+5)%10))
		if i%10 == 9 {
			if err := c.Compact(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if s := c.Stats(); s.Bad > 0 || s.DamagedFiles > 0 {
		t.Errorf("%+v", s)
	}
}

func TestDailyWriteBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	ck := &clock{time.Unix(1.8e9, 0)}
	var log logBook
	o := quiet()
	o.DailyWriteBytes, o.Clock, o.Log = 3<<20, ck.read, log.logger()
	c := mustOpen(t, path, o)
	put := func(key string) error { return c.Put(context.Background(), record(key, 400000)) }
	stored := 0
	for ; stored < 20 && put(fmt.Sprint("r", stored)) == nil; stored++ {
	}
	if stored < 4 || stored > 7 {
		t.Errorf("%d records of 400 kB within 3 MiB", stored)
	}
	c.Close()
	c = mustOpen(t, path, o) // a restart does not begin a new day
	if err := put("x"); !errors.Is(err, ErrFull) {
		t.Errorf("after a restart: %v", err)
	}
	put("x")
	if n := strings.Count(log.String(), "daily write budget"); n != 2 {
		t.Errorf("%d log lines, want one for each start:\n%s", n, log.String())
	}
	wantBlob(t, c, "r0/0", 400000)
	ck.now = ck.now.Add(24 * time.Hour)
	if err := put("y"); err != nil {
		t.Errorf("the next day: %v", err)
	}
}

func TestDailyBudgetClock(t *testing.T) {
	at := func(day int64) time.Time { return time.Unix(day*86400+5, 0) }
	d := dailyBudget{day: 100, written: 7}
	for _, tt := range []struct{ today, day, written int64 }{{100, 100, 7}, {99, 100, 7}, {101, 101, 0}, {0, 0, 0}, {20000, 20000, 0}} {
		got := d
		if got.roll(at(tt.today)); got != (dailyBudget{tt.day, tt.written}) {
			t.Errorf("on day %d: %+v", tt.today, got)
		}
	}
}

func TestReserveOfTheDisk(t *testing.T) {
	o := quiet()
	o.DiskReserveBytes = 1 << 60
	c := mustOpen(t, filepath.Join(t.TempDir(), "cache.db"), o)
	if err := c.Put(context.Background(), record("a", 3<<20)); !errors.Is(err, ErrFull) || c.Stats().Off != "" {
		t.Errorf("on a nearly full disk: %v, off: %q", err, c.Stats().Off)
	}
}

func TestClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	filled(t, path)
	c := mustOpen(t, path, quiet())
	if err := c.Clear(); err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Records != 0 || s.FileBytes > 1<<20 {
		t.Errorf("%+v", s)
	}
	works(t, c, "a")
	if kept := glob(t, path+".*"); len(kept) != 0 {
		t.Errorf("kept: %v", kept)
	}
}

func TestRefusals(t *testing.T) {
	c := mustOpen(t, filepath.Join(t.TempDir(), "cache.db"), quiet())
	if _, err := OpenCache("x", Options{}); !errors.Is(err, ErrLimit) {
		t.Errorf("no fingerprint: %v", err)
	}
	if _, err := OpenCache("x", Options{Fingerprint: fingerprint{1}, DiskBudgetBytes: 1}); !errors.Is(err, ErrLimit) {
		t.Errorf("a tiny budget: %v", err)
	}
	for name, r := range map[string]*Record{
		"no key":     {},
		"long key":   {Key: make([]byte, maxKeyBytes+1)},
		"long value": {Key: []byte("a"), Value: make([]byte, maxNodeValueBytes+1)},
		"blobs":      {Key: []byte("a"), Blobs: make([]Blob, maxRecordBlobs+1)},
		"blob key":   {Key: []byte("a"), Blobs: []Blob{{}}},
	} {
		told := 0
		r.Done = func(err error) {
			if told++; !errors.Is(err, ErrLimit) {
				t.Errorf("%s: done with %v", name, err)
			}
		}
		if err := c.Put(context.Background(), r); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Queue(r); !errors.Is(err, ErrLimit) || told != 2 {
			t.Errorf("%s: queue %v, told %d times", name, err, told)
		}
	}
	if err := c.Put(context.Background(), record("huge", 70<<20)); !errors.Is(err, ErrFull) {
		t.Errorf("a record larger than the budget: %v", err)
	}
	c.Close()
	if err := c.Put(context.Background(), record("a", 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a refused open made a file")
	}
}
