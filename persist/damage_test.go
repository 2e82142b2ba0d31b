package persist

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// filled makes a cache file with records r0.. and returns their blobs' sizes by key.
func filled(t testing.TB, path string) map[string]int {
	t.Helper()
	c := mustOpen(t, path, quiet())
	sizes := map[string]int{}
	for i := range 12 {
		key := fmt.Sprintf("r%d", i)
		r := record(key, 1000*i, 200+i, i%3*chunkBytes)
		if err := c.Put(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		for _, b := range r.Blobs {
			sizes[string(b.Key)] = int(b.bytes())
		}
	}
	c.Delete([]byte("r3"))
	for i := range 3 {
		delete(sizes, fmt.Sprintf("r3/%d", i))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return sizes
}

// neverWrong loads every blob: right or a miss.
func neverWrong(t testing.TB, c *Cache, sizes map[string]int) (right, missed int) {
	t.Helper()
	for key, size := range sizes {
		got, err := load(c, key)
		switch {
		case err == nil && !bytes.Equal(got, pattern(key, size)):
			t.Fatalf("blob %s: wrong bytes", key)
		case err == nil:
			right++
		case errors.Is(err, ErrMiss):
			missed++
		default:
			t.Fatalf("blob %s: %v", key, err)
		}
	}
	return right, missed
}

// works stores and loads a record, which may need a second try while a damaged file is being replaced.
func works(t testing.TB, c *Cache, key string) {
	t.Helper()
	var err error
	for range 3 {
		if err = c.Put(context.Background(), record(key, 3000)); err != nil {
			continue
		}
		// What was just put may lie in a part of the file that turns out to be damaged: then it is a miss, once.
		if _, err = load(c, key+"/0"); errors.Is(err, ErrMiss) {
			continue
		}
		wantBlob(t, c, key+"/0", 3000)
		return
	}
	t.Fatalf("the cache does not go on: %v, %+v", err, c.Stats())
}

// flip changes bytes of a file: single bits mostly, sometimes a sector of zeros or noise. Half of it goes to the first bytes of
// pages that begin a structure, which are a few of the file's pages.
func flip(image []byte, next func(int) int) []byte {
	b := bytes.Clone(image)
	var heads []int
	for at := 0; at+8 <= len(b); at += pageBytes {
		if binary.NativeEndian.Uint64(b[at:]) == uint64(at/pageBytes) {
			heads = append(heads, at)
		}
	}
	for range 1 + next(4) {
		at := next(len(b))
		if next(2) == 0 {
			at = heads[next(len(heads))] + next(120)
		}
		switch next(6) {
		case 0:
			clear(b[at : at+min(sector, len(b)-at)])
		case 1:
			for i := range min(sector, len(b)-at) {
				b[at+i] = byte(next(256))
			}
		default:
			b[at] ^= byte(1 << next(8))
		}
	}
	return b
}

func TestFlippedBytesBeforeOpen(t *testing.T) {
	rng, _ := seeded(t)
	path := filepath.Join(t.TempDir(), "cache.db")
	sizes := filled(t, path)
	image, _ := os.ReadFile(path)
	var right, missed, moved int
	for round := range 40 * soak() {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			os.WriteFile(path, flip(image, rng.IntN), 0o600)
			o := quiet()
			o.noSync = true
			c := mustOpen(t, path, o)
			r, m := neverWrong(t, c, sizes)
			right, missed = right+r, missed+m
			works(t, c, "new")
			works(t, c, "r3")
			checkIndex(t, c)
			moved += int(c.Stats().DamagedFiles)
			c.Close()
			if r, err := Inspect(path, 0, true); err != nil {
				t.Fatalf("check: %v, %d bad", err, r.Bad())
			}
		})
	}
	if n := len(glob(t, path+".damaged-*")); n > maxDamagedKept {
		t.Errorf("%d damaged files are kept", n)
	}
	t.Logf("%d right, %d missed, %d files moved", right, missed, moved)
	if right == 0 || missed == 0 || moved == 0 {
		t.Error("the test lost its point")
	}
}

// TestFlippedBytesInUse flips bytes under an open cache.
func TestFlippedBytesInUse(t *testing.T) {
	rng, _ := seeded(t)
	path := filepath.Join(t.TempDir(), "cache.db")
	sizes := filled(t, path)
	image, _ := os.ReadFile(path)
	moved := 0
	for round := range 30 * soak() {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			os.WriteFile(path, image, 0o600)
			o := quiet()
			o.noSync = true
			c := mustOpen(t, path, o)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteAt(flip(image, rng.IntN), 0)
			f.Close()
			neverWrong(t, c, sizes)
			works(t, c, "new")
			neverWrong(t, c, sizes)
			c.Nodes(func(Node) error { return nil })
			works(t, c, "newer")
			checkIndex(t, c)
			moved += int(c.Stats().DamagedFiles)
			c.Close()
		})
	}
	if moved == 0 {
		t.Error("no file was moved aside: the test lost its point")
	}
}

// TestBucketTurnedValue flips the flag that makes an entry of the root a bucket: its pages are in order, yet it is no cache.
func TestBucketTurnedValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	filled(t, path)
	image, _ := os.ReadFile(path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	root := int(readMetas(f)[0].root) * pageBytes
	f.Close()
	entries := int(binary.NativeEndian.Uint16(image[root+10:]))
	if entries != 2 {
		t.Fatalf("%d entries in the root, want meta and gens", entries)
	}
	for i := range entries {
		b := bytes.Clone(image)
		b[root+pageHeaderBytes+i*elementBytes] ^= bucketEntry
		os.WriteFile(path, b, 0o600)
		c := mustOpen(t, path, quiet())
		works(t, c, "a")
		if s := c.Stats(); s.Off != "" || s.DamagedFiles != 1 {
			t.Errorf("entry %d: %+v", i, s)
		}
		c.Close()
	}
}

// TestTruncatedInUse cuts the file under an open cache: reading it is a memory fault.
func TestTruncatedInUse(t *testing.T) {
	for _, left := range []int64{0, 5000, 3 * pageBytes, 20 * pageBytes} {
		path := filepath.Join(t.TempDir(), "cache.db")
		sizes := filled(t, path)
		var log logBook
		o := quiet()
		o.Log = log.logger()
		c := mustOpen(t, path, o)
		if err := os.Truncate(path, left); err != nil {
			t.Fatal(err)
		}
		if right, _ := neverWrong(t, c, sizes); right == len(sizes) {
			t.Errorf("cut to %d bytes, all blobs load", left)
		}
		works(t, c, "new")
		if s := c.Stats(); s.Off != "" || s.DamagedFiles > 1 {
			t.Errorf("cut to %d bytes: %+v", left, s)
		}
		if s := c.Stats(); s.DamagedFiles == 1 && !strings.Contains(log.String(), ".damaged-") {
			t.Errorf("the log does not name the file moved aside:\n%s", log.String())
		}
	}
}

func TestDamagedFileIsMovedAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 3 {
		if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000+i)), 0o600); err != nil {
			t.Fatal(err)
		}
		o := quiet()
		o.Clock = func() time.Time { return now.Add(time.Duration(i) * time.Hour) }
		c := mustOpen(t, path, o)
		works(t, c, "a")
		c.Close()
	}
	kept := glob(t, path+".damaged-*")
	if len(kept) != 1 || !strings.HasSuffix(kept[0], "20260102T050405.000Z") {
		t.Errorf("kept: %v", kept)
	}
}

// TestDamageWithoutEnd: a disk that destroys every file ends persistence, not the service.
func TestDamageWithoutEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	c := mustOpen(t, path, quiet())
	for i := range 2 * maxRenewals {
		if err := os.Truncate(path, 100); err != nil {
			break // turned off: there is no new file
		}
		c.Put(context.Background(), record(fmt.Sprint(i), 10))
	}
	if s := c.Stats(); s.Off == "" || s.DamagedFiles != maxRenewals+1 {
		t.Errorf("still on: %+v", s)
	}
	if err := c.Put(context.Background(), record("a", 10)); !errors.Is(err, ErrOff) {
		t.Errorf("put: %v", err)
	}
}
