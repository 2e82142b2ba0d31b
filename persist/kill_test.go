package persist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func killSize(key string) int { return int(sum([]byte(key)) % (3 * chunkBytes)) }

func init() { children["kill"] = killChild }

// killChild stores and deletes records until it is killed: "+key" is printed once a record is stored, "-key" before it is deleted.
func killChild(arg string) int {
	path, first, _ := strings.Cut(arg, " ")
	i, _ := strconv.Atoi(first)
	c, err := OpenCache(path, quiet())
	if err != nil {
		return childFails("%v", err)
	}
	for ; ; i++ {
		key := "r" + strconv.Itoa(i)
		if err := c.Put(context.Background(), record(key, killSize(key), 5000)); err != nil {
			return childFails("%v", err)
		}
		fmt.Println("+" + key)
		if i%3 == 2 {
			key := "r" + strconv.Itoa(i-1)
			fmt.Println("-" + key)
			if err := c.Delete([]byte(key)); err != nil {
				return childFails("%v", err)
			}
		}
		if i%50 == 20 {
			if err := c.Compact(context.Background()); err != nil {
				return childFails("%v", err)
			}
		}
	}
}

// TestKill kills a writing process at random moments: every record it had stored loads, none is wrong, and the next start works.
func TestKill(t *testing.T) {
	rng, seed := seeded(t)
	path := filepath.Join(t.TempDir(), "cache.db")
	stored, next := map[string]bool{}, 0
	for round := range 20 * soak() {
		cmd := child(t, "kill", fmt.Sprintf("%s %d", path, next))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := 1 + rng.IntN(6)
		pause := time.Duration(rng.IntN(20000)) * time.Microsecond
		for lines := bufio.NewScanner(out); lines.Scan(); after-- {
			line := lines.Text()
			switch line[0] {
			case '+':
				stored[line[1:]] = true
				n, _ := strconv.Atoi(line[2:])
				next = max(next, n+1)
			case '-':
				delete(stored, line[1:])
			default:
				t.Fatalf("seed %d, round %d: child says %s", seed, round, line)
			}
			if after == 0 {
				time.Sleep(pause)
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		next += 2
		verifyKilled(t, path, stored)
		if len(stored) > 20 {
			os.Remove(path)
			clear(stored)
		}
	}
}

func verifyKilled(t *testing.T, path string, stored map[string]bool) {
	t.Helper()
	c := mustOpen(t, path, quiet())
	defer c.Close()
	for key := range stored {
		if !c.Has([]byte(key)) {
			t.Fatalf("%s was stored and is gone", key)
		}
	}
	for _, in := range c.Infos() {
		key := string(in.Key)
		wantBlob(t, c, key+"/0", killSize(key))
		wantBlob(t, c, key+"/1", 5000)
	}
	if s := c.Stats(); s.Bad > 0 || s.DamagedFiles > 0 || s.Off != "" {
		t.Fatalf("after a kill: %+v", s)
	}
	for deadline := time.Now().Add(5 * time.Second); sweeping(c); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the sweep does not end")
		}
	}
	c.Close()
	r, err := Inspect(path, 0, true)
	if err != nil || r.Bad() > 0 {
		t.Fatalf("check: %v, %d bad", err, r.Bad())
	}
	for _, g := range r.Generations {
		if g.Orphans > 0 {
			t.Fatalf("%d orphans are left", g.Orphans)
		}
	}
}

func TestOrphansAreSwept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	o := quiet()
	commits := 0
	o.failCommit = func() error {
		if commits++; commits == 2 {
			return errInjected
		}
		return nil
	}
	c := mustOpen(t, path, o)
	big := record("big", 10<<20)
	if err := c.Put(context.Background(), big); err == nil {
		t.Fatal("the second transaction did not fail")
	}
	c.Close()
	if r, err := Inspect(path, 0, true); err != nil || r.Generations[0].Orphans != 1 {
		t.Fatalf("a half written record left %+v, %v", r.Generations, err)
	}
	verifyKilled(t, path, nil)
}

// TestCancelledRecordLeavesNothing: a record given up halfway is cleaned up at once.
func TestCancelledRecordLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	ctx, cancel := context.WithCancel(context.Background())
	o := quiet()
	o.failCommit = func() error { cancel(); return nil }
	c := mustOpen(t, path, o)
	if err := c.Put(ctx, record("big", 20<<20)); !errors.Is(err, context.Canceled) {
		t.Fatalf("put: %v", err)
	}
	checkIndex(t, c)
	c.Close()
	r, err := Inspect(path, 0, true)
	if err != nil || r.Generations[0].Orphans != 0 || r.Bad() != 0 || len(r.Generations[0].Records) != 0 {
		t.Errorf("left behind: %+v, %v", r.Generations, err)
	}
}

func sweeping(c *Cache) bool {
	c.writing <- struct{}{}
	defer c.unlock()
	return c.sweep.next < c.sweep.limit || len(c.garbage) > 0
}
