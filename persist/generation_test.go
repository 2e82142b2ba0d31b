package persist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clock is a clock that tests move.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// settle waits until the background writer has nothing to do.
func settleDown(t testing.TB, c *Cache, done func(Stats) bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !done(c.Stats()); time.Sleep(2 * time.Millisecond) {
		c.poke()
		if time.Now().After(deadline) {
			t.Fatalf("it does not come: %+v", c.Stats())
		}
	}
}

func gens(t testing.TB, path string) (fps []byte) {
	t.Helper()
	r, err := Inspect(path, 0, true)
	if err != nil || r.Bad() > 0 {
		t.Fatalf("%v, %d bad", err, r.Bad())
	}
	for _, g := range r.Generations {
		fps = append(fps, g.Fingerprint[0])
	}
	return fps
}

// TestFingerprints: records of another fingerprint are misses, come back after a rollback within the grace period, and are deleted
// after it.
func TestFingerprints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	ck := &clock{time.Unix(1.8e9, 0)}
	open := func(fp byte) *Cache {
		o := quiet()
		o.Fingerprint, o.Grace, o.Clock = fingerprint{fp}, 24*time.Hour, ck.read
		return mustOpen(t, path, o)
	}
	c := open(1)
	works(t, c, "a")
	c.Close()

	ck.now = ck.now.Add(time.Hour)
	c = open(2)
	if _, err := load(c, "a/0"); !errors.Is(err, ErrMiss) {
		t.Errorf("a record of another fingerprint: %v", err)
	}
	c.Nodes(func(n Node) error { t.Errorf("node %s of another fingerprint", n.Key); return nil })
	works(t, c, "a") // same key, other fingerprint
	c.Close()

	ck.now = ck.now.Add(23 * time.Hour)
	c = open(1) // rolled back
	wantBlob(t, c, "a/0", 3000)
	c.Close()
	if got := gens(t, path); string(got) != "\x01\x02" {
		t.Errorf("fingerprints %v", got)
	}

	ck.now = ck.now.Add(25 * time.Hour)
	c = open(3)
	settleDown(t, c, func(Stats) bool {
		c.writing <- struct{}{}
		defer c.unlock()
		return len(c.listForeign()) == 0
	})
	works(t, c, "b")
	c.Close()
	if got := gens(t, path); string(got) != "\x03" {
		t.Errorf("fingerprints %v are left after the grace period", got)
	}
}

// TestOldFingerprintMakesRoom: records of an old fingerprint go before ours.
func TestOldFingerprintMakesRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	o := quiet()
	o.DiskBudgetBytes = 16 << 20
	c := mustOpen(t, path, o)
	for i := range 20 {
		if err := c.Put(context.Background(), record(fmt.Sprint("old", i), 500000)); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	o.Fingerprint = fingerprint{9}
	c = mustOpen(t, path, o)
	for i := range 14 {
		if err := c.Put(context.Background(), record(fmt.Sprint("new", i), 500000)); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	if s := c.Stats(); s.Records != 14 || s.Evicted != 0 || s.FileBytes > o.DiskBudgetBytes {
		t.Errorf("%+v", s)
	}
	checkIndex(t, c)
	c.Close()
	if got := gens(t, path); len(got) > 2 {
		t.Errorf("fingerprints %v", got)
	}
}

func TestNewerCacheIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	c := mustOpen(t, path, quiet())
	works(t, c, "a")
	c.Close()
	f, err := openFile(opening{path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := putSchema(f, cacheSchema+1); err != nil {
		t.Fatal(err)
	}
	f.close()
	before, _ := os.ReadFile(path)
	c = mustOpen(t, path, quiet())
	if s := c.Stats(); s.Off == "" {
		t.Error("a newer file is in use")
	}
	if _, err := load(c, "a/0"); !errors.Is(err, ErrMiss) {
		t.Errorf("load: %v", err)
	}
	if err := c.Put(context.Background(), record("b", 1)); !errors.Is(err, ErrOff) {
		t.Errorf("put: %v", err)
	}
	c.Close()
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("a newer file was changed")
	}
	if _, err := Inspect(path, 0, false); !errors.Is(err, ErrNewer) {
		t.Errorf("inspect: %v", err)
	}
}
