package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

const sector, pageBytes = 512, 4096

// cut builds what a disk may hold after a power cut during the transaction that turned before into after: each changed page old,
// new, or torn at a sector or a byte. The meta pages (0 and 1) take part unless oldMeta says that the cut came before them.
func cut(rng *rand.Rand, before, after []byte, oldMeta bool) []byte {
	out := make([]byte, len(after))
	copy(out, before)
	favour := rng.IntN(4) // some images almost new, some almost old
	for p := 0; p < len(after); p += pageBytes {
		end := min(p+pageBytes, len(after))
		if bytes.Equal(out[p:end], after[p:end]) || oldMeta && p < 2*pageBytes {
			continue
		}
		switch n := rng.IntN(8); {
		case n == 0:
			copy(out[p:end], after[p:p+rng.IntN(pageBytes/sector)*sector])
		case n == 1:
			for s := p; s < end; s += sector {
				if rng.IntN(2) == 0 {
					copy(out[s:s+sector], after[s:s+sector])
				}
			}
		case n == 2:
			copy(out[p:end], after[p:p+rng.IntN(end-p)])
		case n > 2+favour || favour == 3 && n > 2:
			copy(out[p:end], after[p:end])
		}
	}
	return out
}

// history runs operations on a cache and keeps the file's image before and after each transaction, with the records that an
// operation did not touch.
type history struct {
	path   string
	c      *Cache
	sizes  map[string]int // records there are, each with one blob
	all    map[string]int
	images []image
}

type image struct {
	bytes  []byte
	stable map[string]int // records that must be readable from bytes and from the next image
}

func (h *history) snap(stable map[string]int) {
	b, err := os.ReadFile(h.path)
	if err != nil {
		panic(err)
	}
	h.images = append(h.images, image{b, stable})
}

func (h *history) run(t *testing.T, rng *rand.Rand, steps int) {
	var stable map[string]int
	o := quiet()
	o.failCommit = func() error {
		if stable != nil {
			h.snap(stable)
		}
		return nil
	}
	h.c = mustOpen(t, h.path, o)
	h.sizes, h.all = map[string]int{}, map[string]int{}
	for i := range steps {
		key := fmt.Sprintf("r%d", i)
		size := rng.IntN(2 * chunkBytes)
		if rng.IntN(2) == 0 {
			size = rng.IntN(20000)
		}
		victim := ""
		if len(h.sizes) > 3 && rng.IntN(3) == 0 {
			for victim = range h.sizes {
				break
			}
			delete(h.sizes, victim)
		}
		stable = clone(h.sizes)
		if victim != "" {
			if err := h.c.Delete([]byte(victim)); err != nil {
				t.Fatal(err)
			}
		} else {
			h.all[key] = size
			if err := h.c.Put(context.Background(), record(key, size)); err != nil {
				t.Fatal(err)
			}
			h.sizes[key] = size
		}
		h.snap(stable)
	}
	h.c.Close()
}

func clone(m map[string]int) map[string]int {
	out := map[string]int{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// TestPowerCut opens caches as power cuts leave them. A cut before the meta page leaves every record that was there; any other
// cut, as on a disk that reorders writes, leaves a cache that opens, delivers no wrong byte and works.
func TestPowerCut(t *testing.T) {
	rng, seed := seeded(t)
	dir := t.TempDir()
	h := &history{path: filepath.Join(dir, "cache.db")}
	h.run(t, rng, 10*soak())
	path := filepath.Join(dir, "cut.db")
	kept, lost, steppedBack, moved := 0, 0, 0, 0
	for i := 0; i+1 < len(h.images); i++ {
		for v := range 4 {
			before, after := h.images[i], h.images[i+1]
			oldMeta := v == 0
			os.WriteFile(path, cut(rng, before.bytes, after.bytes, oldMeta), 0o600)
			c := mustOpen(t, path, quiet())
			for key, size := range h.all {
				got, err := load(c, key+"/0")
				switch _, must := before.stable[key]; {
				case err == nil && !bytes.Equal(got, pattern(key+"/0", size)):
					t.Fatalf("seed %d, transaction %d, image %d: wrong bytes in %s", seed, i, v, key)
				case err == nil:
					kept++
				case !errors.Is(err, ErrMiss):
					t.Fatalf("seed %d, transaction %d, image %d: %v", seed, i, v, err)
				case must && oldMeta:
					t.Fatalf("seed %d, transaction %d, image %d: %s is lost", seed, i, v, key)
				default:
					lost++
				}
			}
			if err := c.Put(context.Background(), record("new", 1000)); err != nil {
				t.Fatalf("seed %d, transaction %d, image %d: %v", seed, i, v, err)
			}
			wantBlob(t, c, "new/0", 1000)
			checkIndex(t, c)
			steppedBack, moved = steppedBack+int(c.Stats().SteppedBack), moved+int(c.Stats().DamagedFiles)
			c.Close()
			if r, err := Inspect(path, 0, true); err != nil || oldMeta && r.Bad() > 0 {
				t.Fatalf("seed %d, transaction %d, image %d: check afterwards: %v, %d bad", seed, i, v, err, r.Bad())
			}
		}
	}
	t.Logf("%d transactions: %d loads right, %d missed, %d times stepped back, %d files moved aside", len(h.images)-1, kept, lost, steppedBack, moved)
	if steppedBack == 0 && soak() > 1 {
		t.Error("no image made a start step back: the test lost its point")
	}
}
