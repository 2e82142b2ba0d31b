package persist

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestSettingsPowerCut cuts the power during writes of settings. On an honest disk all earlier writes are there; on one that reorders
// writes either the file steps back to them, with a copy kept, or each value that is read is one that was written.
func TestSettingsPowerCut(t *testing.T) {
	rng, seed := seeded(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.db")
	s := openSettings(t, path, SettingsOptions{})
	var images [][]byte
	for i := range 12 {
		err := s.Update(func(tx *SettingsTx) error {
			for k := range min(i+1, 6) {
				if err := tx.Put(fmt.Sprint("bucket", k%2), fmt.Sprint("k", k), strings.Repeat(fmt.Sprintf("%d,", i), 300)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(path)
		images = append(images, b)
	}
	s.Close()
	steppedBack := 0
	for i := 0; i+1 < len(images); i++ {
		for v := range 8 {
			cutPath := filepath.Join(dir, "cut.db")
			os.WriteFile(cutPath, cut(rng, images[i], images[i+1], v < 2), 0o600)
			var log logBook
			s, err := OpenSettings(cutPath, SettingsOptions{Version: 1, Log: log.logger()})
			if err != nil {
				if v < 2 {
					t.Fatalf("seed %d, round %d: %v", seed, i, err)
				}
				continue
			}
			checkCut(t, s, i, v < 2)
			s.Close()
			if copies := glob(t, cutPath+".damaged-*"); len(copies) > 0 {
				steppedBack++
				if !strings.Contains(log.String(), "went back") {
					t.Errorf("a silent step back")
				}
				for _, c := range copies {
					os.Remove(c)
				}
			}
		}
	}
	t.Logf("stepped back %d times", steppedBack)
}

// wasWritten reports whether got is the value of a round up to last. An older one than the last two may come back where the disk lost
// the write of a page whose place held an earlier state of the same tree; bbolt's pages carry no version that would tell.
func wasWritten(got string, last int) bool {
	for i := range last + 1 {
		if got == strings.Repeat(fmt.Sprintf("%d,", i), 300) {
			return true
		}
	}
	return false
}

// checkCut compares what a cut file holds with rounds i and i+1.
func checkCut(t *testing.T, s *Settings, i int, honest bool) {
	t.Helper()
	for k := range min(i+1, 6) {
		var got string
		err := s.Get(fmt.Sprint("bucket", k%2), fmt.Sprint("k", k), &got)
		value := strings.SplitN(got, ",", 2)[0]
		switch {
		case err != nil && honest:
			t.Fatalf("round %d, key %d: %v", i, k, err)
		case honest && value != fmt.Sprint(i):
			t.Fatalf("round %d, key %d: value of round %s", i, k, value)
		case err == nil && !wasWritten(got, i+1):
			t.Fatalf("round %d, key %d: a value never written: %.20q", i, k, got)
		}
	}
}

func TestSettingsFromManyGoroutines(t *testing.T) {
	s := openSettings(t, filepath.Join(t.TempDir(), "settings.db"), SettingsOptions{})
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 15 {
				key := fmt.Sprint("k", g)
				if err := s.Put("b", key, i); err != nil {
					t.Error(err)
				}
				var got int
				if err := s.Get("b", key, &got); err != nil || got != i {
					t.Errorf("%d, %v, want %d", got, err, i)
				}
			}
		})
	}
	wg.Wait()
}
