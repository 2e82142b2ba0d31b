package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// pattern is a blob's content, a function of its key, so that any test can tell whether delivered bytes are right.
func pattern(key string, size int) []byte {
	rng := rand.New(rand.NewPCG(uint64(len(key)), uint64(sum([]byte(key)))))
	b := make([]byte, size)
	for i := 0; i < size; i += 8 {
		v := rng.Uint64()
		for j := i; j < min(i+8, size); j++ {
			b[j] = byte(v)
			v >>= 8
		}
	}
	return b
}

func quiet() Options {
	return Options{Fingerprint: fingerprint{1}, DiskBudgetBytes: 64 << 20, DiskReserveBytes: -1, QuietDelay: -1,
		LockTimeout: 2 * time.Second}
}

func mustOpen(t testing.TB, path string, o Options) *Cache {
	t.Helper()
	c, err := OpenCache(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// record makes a record with one blob per size; blob i of key k has content pattern("k/i").
func record(key string, sizes ...int) *Record {
	r := &Record{Key: []byte(key), Value: []byte("value of " + key)}
	for i, size := range sizes {
		name := fmt.Sprintf("%s/%d", key, i)
		data := pattern(name, size)
		r.Blobs = append(r.Blobs, Blob{Ref{1, []byte(name)}, [][]byte{data[:size/3], data[size/3:]}})
	}
	return r
}

func load(c *Cache, key string) ([]byte, error) {
	var out bytes.Buffer
	err := c.Load(1, []byte(key), func(p []byte) error { out.Write(p); return nil })
	return out.Bytes(), err
}

// wantBlob fails unless the blob loads with the content of its key.
func wantBlob(t testing.TB, c *Cache, key string, size int) {
	t.Helper()
	got, err := load(c, key)
	if err != nil {
		t.Fatalf("blob %s: %v", key, err)
	}
	if !bytes.Equal(got, pattern(key, size)) {
		t.Fatalf("blob %s: wrong bytes", key)
	}
}

// checkIndex compares the byte and reference counts with the sums over what is there.
func checkIndex(t testing.TB, c *Cache) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	refs, live := map[*blob]int{}, int64(0)
	for _, n := range c.index.nodes {
		live += n.bytes
		for _, b := range n.blobs {
			refs[b]++
		}
	}
	for _, b := range c.index.blobs {
		live += b.cost()
		if refs[b] != b.refs {
			t.Errorf("blob %s: %d references counted, %d are there", b.key, b.refs, refs[b])
		}
	}
	if len(refs) != len(c.index.blobs) || live != c.index.liveBytes {
		t.Errorf("%d blobs indexed, %d named; %d live bytes counted, %d are there", len(c.index.blobs), len(refs), c.index.liveBytes, live)
	}
}

// logBook keeps log lines.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *logBook) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }
func (l *logBook) logger() *slog.Logger        { return slog.New(slog.NewTextHandler(l, nil)) }

func TestRecordSurvivesReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	sizes := []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3*chunkBytes + 7}
	c := mustOpen(t, path, quiet())
	if err := c.Put(context.Background(), record("a", sizes...)); err != nil {
		t.Fatal(err)
	}
	c.Touch([]byte("a"))
	if err := c.Pin([]byte("a"), true); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, path, quiet())
	for i, size := range sizes {
		wantBlob(t, c, fmt.Sprintf("a/%d", i), size)
	}
	var nodes []Node
	c.Nodes(func(n Node) error { nodes = append(nodes, n); return nil })
	if len(nodes) != 1 || string(nodes[0].Value) != "value of a" || nodes[0].Hits != 1 || !nodes[0].Pinned || len(nodes[0].Blobs) != len(sizes) {
		t.Errorf("nodes: %+v", nodes)
	}
	if _, err := load(c, "b"); !errors.Is(err, ErrMiss) {
		t.Errorf("a blob never stored: %v", err)
	}
	checkIndex(t, c)
}

func TestBlobsAreShared(t *testing.T) {
	c := mustOpen(t, filepath.Join(t.TempDir(), "cache.db"), quiet())
	ctx := context.Background()
	if err := c.Put(ctx, record("a", 300000)); err != nil {
		t.Fatal(err)
	}
	b := &Record{Key: []byte("b"), Blobs: []Blob{{Ref: Ref{1, []byte("a/0")}}}}
	if err := c.Put(ctx, b); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete([]byte("a")); err != nil {
		t.Fatal(err)
	}
	wantBlob(t, c, "a/0", 300000)
	if err := c.Delete([]byte("b")); err != nil {
		t.Fatal(err)
	}
	if _, err := load(c, "a/0"); !errors.Is(err, ErrMiss) {
		t.Errorf("blob outlives its last record: %v", err)
	}
	if err := c.Put(ctx, b); !errors.Is(err, ErrMiss) {
		t.Errorf("a record that names a blob which is gone: %v", err)
	}
	if s := c.Stats(); s.LiveBytes != 0 || s.Blobs != 0 {
		t.Errorf("not empty: %+v", s)
	}
	checkIndex(t, c)
}

func TestEvictionKeepsTheFileWithinBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	o := quiet()
	o.DiskBudgetBytes = 16 << 20
	o.Score = func(in Info) float64 { return float64(in.Hits) }
	c := mustOpen(t, path, o)
	for i := range 40 {
		r := record(fmt.Sprintf("r%02d", i), 300000, 200000)
		r.Pinned = i == 0
		if err := c.Put(context.Background(), r); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if i == 1 {
			c.Touch([]byte("r01"))
		}
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() > o.DiskBudgetBytes {
		t.Errorf("file of %d bytes, budget %d, %v", st.Size(), o.DiskBudgetBytes, err)
	}
	s := c.Stats()
	if s.Evicted == 0 || s.Records < 6 || !c.Has([]byte("r00")) || !c.Has([]byte("r01")) || c.Has([]byte("r02")) || !c.Has([]byte("r39")) {
		t.Errorf("wrong records are left: %+v", s)
	}
	checkIndex(t, c)
}

func TestQueueFlushOrderAndBound(t *testing.T) {
	o := quiet()
	o.QuietDelay = time.Hour
	o.QueueBytes = 1 << 20
	c := mustOpen(t, filepath.Join(t.TempDir(), "cache.db"), o)
	var order []string
	for i, key := range []string{"low", "high", "pinned"} {
		r := record(key, 100000)
		r.Priority, r.Pinned = float64(i%2), key == "pinned"
		r.Done = func(err error) { order = append(order, fmt.Sprint(key, err)) }
		if err := c.Queue(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Queue(record("big", 900000)); !errors.Is(err, ErrFull) {
		t.Errorf("a full queue took more: %v", err)
	}
	if err := c.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(order), "[pinned<nil> high<nil> low<nil>]"; got != want {
		t.Errorf("written in order %s, want %s", got, want)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c.Queue(record("late", 1000))
	if err := c.Flush(ended); !errors.Is(err, context.Canceled) || c.Has([]byte("late")) {
		t.Errorf("flush beyond its bound: %v", err)
	}
	if s := c.Stats(); s.Dropped != 2 || s.QueuedBytes != 0 {
		t.Errorf("dropped %d, still queued %d bytes", s.Dropped, s.QueuedBytes)
	}
}

// TestQueueTellsEveryOwnerOnce: whatever becomes of a record, its owner is told, and told once.
func TestQueueTellsEveryOwnerOnce(t *testing.T) {
	o := quiet()
	o.QuietDelay = time.Hour
	c := mustOpen(t, filepath.Join(t.TempDir(), "cache.db"), o)
	told := map[string][]error{}
	queue := func(key, name string) {
		r := record(key, 1000)
		r.Done = func(err error) { told[name] = append(told[name], err) }
		if err := c.Queue(r); err != nil {
			t.Fatal(err)
		}
	}
	queue("a", "replaced")
	queue("a", "stored")
	queue("b", "withdrawn")
	if !c.Unqueue([]byte("b")) || c.Unqueue([]byte("b")) {
		t.Error("a record was not withdrawn once")
	}
	if err := c.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	queue("c", "left")
	c.Close()
	want := map[string]error{"replaced": ErrMiss, "stored": nil, "withdrawn": ErrMiss, "left": ErrClosed}
	for name, err := range want {
		if len(told[name]) != 1 || !errors.Is(told[name][0], err) {
			t.Errorf("%s: told %v, want %v", name, told[name], err)
		}
	}
}

func TestBackgroundWriter(t *testing.T) {
	o := quiet()
	o.QuietDelay = 20 * time.Millisecond
	c := mustOpen(t, filepath.Join(t.TempDir(), "cache.db"), o)
	done := make(chan error, 1)
	r := record("a", 1000)
	r.Done = func(err error) { done <- err }
	if err := c.Queue(r); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("not written")
	}
	wantBlob(t, c, "a/0", 1000)
}
