package persist

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func openSettings(t testing.TB, path string, o SettingsOptions) *Settings {
	t.Helper()
	if o.Version == 0 {
		o.Version = 1
	}
	s, err := OpenSettings(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

type power struct {
	Mode  string
	Watts int
}

func TestSettingsValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.db")
	s := openSettings(t, path, SettingsOptions{})
	want := power{"quiet", 40}
	for _, key := range []string{"board", "boot", "other"} {
		if err := s.Put("power", key, want); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete("power", "boot"); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := s.Update(func(tx *SettingsTx) error { tx.Put("power", "half", 1); return boom }); !errors.Is(err, boom) {
		t.Errorf("update: %v", err)
	}
	s.Close()
	if err := s.Put("power", "x", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("put after close: %v", err)
	}
	s = openSettings(t, path, SettingsOptions{})
	var got power
	if err := s.Get("power", "board", &got); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, key := range []string{"boot", "half"} {
		if err := s.Get("power", key, &got); !errors.Is(err, ErrMiss) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if keys, err := s.List("power", ""); err != nil || fmt.Sprint(keys) != "[board other]" {
		t.Errorf("keys %v, %v", keys, err)
	}
	if keys, _ := s.List("power", "o"); fmt.Sprint(keys) != "[other]" {
		t.Errorf("keys with a prefix: %v", keys)
	}
	if err := s.Put("power", "huge", strings.Repeat("x", maxSettingBytes)); !errors.Is(err, ErrLimit) {
		t.Errorf("a huge value: %v", err)
	}
	if err := s.Put("", "x", 1); !errors.Is(err, ErrLimit) {
		t.Errorf("no name: %v", err)
	}
}

func TestResults(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	s := openSettings(t, filepath.Join(t.TempDir(), "settings.db"), SettingsOptions{Clock: func() time.Time { return at }})
	for i := range 10 {
		if id, err := s.Append("bench", i); err != nil || id != uint64(i+1) {
			t.Fatalf("append: %d, %v", id, err)
		}
	}
	show := func(before uint64, limit int) string {
		rs, damaged, err := s.Results("bench", before, limit)
		var out []string
		for _, r := range rs {
			if !r.At.Equal(at) {
				t.Errorf("result %d is from %v", r.ID, r.At)
			}
			out = append(out, fmt.Sprintf("%d:%s", r.ID, r.Data))
		}
		return fmt.Sprint(out, damaged, err)
	}
	for _, tt := range []struct {
		before uint64
		limit  int
		want   string
	}{
		{0, 3, "[10:9 9:8 8:7] 0 <nil>"},
		{8, 2, "[7:6 6:5] 0 <nil>"},
		{99, 1, "[10:9] 0 <nil>"},
		{1, 5, "[] 0 <nil>"},
	} {
		if got := show(tt.before, tt.limit); got != tt.want {
			t.Errorf("before %d, %d: %s, want %s", tt.before, tt.limit, got, tt.want)
		}
	}
	if n, err := s.Prune("bench", 4); n != 6 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	if got := show(0, 99); got != "[10:9 9:8 8:7 7:6] 0 <nil>" {
		t.Errorf("after pruning: %s", got)
	}
	if id, _ := s.Append("bench", 10); id != 11 {
		t.Errorf("an id was used again: %d", id)
	}
}

func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.db")
	s := openSettings(t, path, SettingsOptions{})
	s.Put("power", "watts", 40)
	s.Close()
	before, _ := os.ReadFile(path)

	fail := errors.New("fail")
	double := func(tx *SettingsTx) error {
		var w int
		if err := tx.Get("power", "watts", &w); err != nil {
			return err
		}
		return tx.Put("power", "watts", w*2)
	}
	steps := map[int]func(*SettingsTx) error{1: double, 2: func(tx *SettingsTx) error { return fail }}
	if _, err := OpenSettings(path, SettingsOptions{Version: 3, Migrations: steps}); !errors.Is(err, fail) {
		t.Fatalf("a failing migration: %v", err)
	}
	if _, err := OpenSettings(path, SettingsOptions{Version: 4, Migrations: map[int]func(*SettingsTx) error{1: double}}); err == nil {
		t.Fatal("a missing migration was not noticed")
	}
	steps[2] = double
	s = openSettings(t, path, SettingsOptions{Version: 3, Migrations: steps})
	var w int
	if err := s.Get("power", "watts", &w); err != nil || w != 160 {
		t.Errorf("after migration: %d, %v", w, err)
	}
	s.Close()
	if copied, err := os.ReadFile(path + ".v1"); err != nil || !bytes.Equal(copied, before) {
		t.Errorf("the copy differs from the file before: %v", err)
	}

	newer, _ := os.ReadFile(path)
	if _, err := OpenSettings(path, SettingsOptions{Version: 2, Migrations: steps}); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer file: %v", err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, newer) {
		t.Error("a newer file was changed")
	}
	s = openSettings(t, path+".v1", SettingsOptions{})
	if err := s.Get("power", "watts", &w); err != nil || w != 40 {
		t.Errorf("the copy: %d, %v", w, err)
	}
}

// TestSettingsFlips flips bytes anywhere in a settings file: it opens with right values, or says that it is damaged, and is still
// there afterwards.
func TestSettingsFlips(t *testing.T) {
	dir := t.TempDir()
	s := openSettings(t, filepath.Join(dir, "settings.db"), SettingsOptions{})
	for i := range 40 {
		s.Put(fmt.Sprint("bucket", i%4), fmt.Sprint("key", i), power{"m", i})
		s.Append("bench", i)
	}
	s.Close()
	image, _ := os.ReadFile(filepath.Join(dir, "settings.db"))
	rng, seed := seeded(t)
	damaged, right := 0, 0
	for round := range 100 * soak() {
		path := filepath.Join(dir, fmt.Sprint("flip", round, ".db"))
		flipped := bytes.Clone(image)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(flipped))
			for round%2 == 0 && flipped[at] == 0 { // most of the file is empty: aim at what is written
				at = rng.IntN(len(flipped))
			}
			flipped[at] ^= byte(1 << rng.IntN(8))
		}
		os.WriteFile(path, flipped, 0o600)
		s, err := OpenSettings(path, SettingsOptions{Version: 1})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, flipped) && len(glob(t, path+".damaged-*")) == 0 {
				t.Fatalf("seed %d, round %d: a damaged file was changed", seed, round)
			}
			damaged++
			continue
		}
		for i := range 40 {
			var got power
			err := s.Get(fmt.Sprint("bucket", i%4), fmt.Sprint("key", i), &got)
			if err == nil && got != (power{"m", i}) {
				t.Fatalf("seed %d, round %d: key %d is %+v", seed, round, i, got)
			}
			if err == nil {
				right++
			}
		}
		if err := s.Put("bucket0", "new", 1); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("seed %d, round %d: put: %v", seed, round, err)
		}
		s.Close()
	}
	if damaged == 0 || right == 0 {
		t.Errorf("seed %d: %d files damaged, %d values right: the test lost its point", seed, damaged, right)
	}
}
