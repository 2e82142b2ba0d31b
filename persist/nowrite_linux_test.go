package persist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func init() {
	children["fsize"] = fsizeChild
	children["fullDisk"] = fullDiskChild
}

// fill stores records until one fails, and then demands that the cache is off, says so once, and still reads all it stored.
func fill(path string, o Options, want string) int {
	var log logBook
	o.Log = log.logger()
	c, err := OpenCache(path, o)
	if err != nil {
		return childFails("open: %v", err)
	}
	stored := 0
	for ; stored < 10000; stored++ {
		if err = c.Put(context.Background(), record(strconv.Itoa(stored), 70000, 300)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrOff) || !strings.Contains(c.Stats().Off, want) {
		return childFails("after %d records: %v, off: %q, want %q", stored, err, c.Stats().Off, want)
	}
	for i := range 3 {
		if err := c.Put(context.Background(), record("x", i)); !errors.Is(err, ErrOff) {
			return childFails("a cache that is off: %v", err)
		}
	}
	if n := strings.Count(log.String(), "persistence is off"); n != 1 {
		return childFails("%d log lines:\n%s", n, log.String())
	}
	for i := range stored {
		for j, size := range []int{70000, 300} {
			key := fmt.Sprintf("%d/%d", i, j)
			if got, err := load(c, key); err != nil || string(got) != string(pattern(key, size)) {
				return childFails("off, blob %s: %v", key, err)
			}
		}
	}
	if err := c.Close(); err != nil {
		return childFails("close: %v", err)
	}
	fmt.Printf("stored %d\n", stored)
	return 0
}

// fsizeChild lets the kernel refuse writes beyond a size, in the middle of a transaction.
func fsizeChild(arg string) int {
	path, limit, _ := strings.Cut(arg, " ")
	n, _ := strconv.ParseUint(limit, 10, 64)
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		return childFails("setrlimit: %v", err)
	}
	return fill(path, quiet(), "file too large")
}

func TestFileSizeLimit(t *testing.T) {
	rng, seed := seeded(t)
	for range 4 * soak() {
		path := filepath.Join(t.TempDir(), "cache.db")
		mustOpen(t, path, quiet()).Close()
		limit := 200<<10 + rng.IntN(4<<20)
		out := runChild(t, child(t, "fsize", fmt.Sprintf("%s %d", path, limit)))
		var stored int
		fmt.Sscanf(out, "stored %d", &stored)
		t.Logf("seed %d: limit %d, %s", seed, limit, out)
		c := mustOpen(t, path, quiet())
		for i := range stored {
			wantBlob(t, c, fmt.Sprintf("%d/0", i), 70000)
		}
		works(t, c, "new")
		c.Close()
	}
}

// fullDiskChild runs in a mount namespace of its own, on a small file system.
func fullDiskChild(dir string) int {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Printf("skip: private mounts: %v\n", err)
		return 0
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		fmt.Printf("skip: tmpfs: %v\n", err)
		return 0
	}
	path := filepath.Join(dir, "cache.db")
	if code := fill(path, quiet(), "no space left"); code != 0 {
		return code
	}
	if code := readOnlyDisk(dir, path); code != 0 {
		return code
	}
	// Room again: the next start writes.
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=40m"); err != nil {
		return childFails("remount: %v", err)
	}
	c, err := OpenCache(path, quiet())
	if err != nil {
		return childFails("open: %v", err)
	}
	defer c.Close()
	if err := c.Put(context.Background(), record("new", 100000)); err != nil {
		return childFails("with room again: %v", err)
	}
	return settingsOnFullDisk(dir)
}

// readOnlyDisk opens the cache on a disk that refuses writing.
func readOnlyDisk(dir, path string) int {
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return childFails("remount: %v", err)
	}
	c, err := OpenCache(path, quiet())
	if err != nil {
		return childFails("open on a read-only disk: %v", err)
	}
	defer c.Close()
	if off := c.Stats().Off; !strings.Contains(off, "read-only") {
		return childFails("off: %q", off)
	}
	if err := c.Put(context.Background(), record("x", 1)); !errors.Is(err, ErrOff) {
		return childFails("put on a read-only disk: %v", err)
	}
	if got, err := load(c, "0/0"); err != nil || string(got) != string(pattern("0/0", 70000)) {
		return childFails("load on a read-only disk: %v", err)
	}
	none, err := OpenCache(filepath.Join(dir, "none.db"), quiet())
	if err != nil || none.Stats().Off == "" {
		return childFails("a new cache on a read-only disk: %v", err)
	}
	defer none.Close()
	if _, err := load(none, "0/0"); !errors.Is(err, ErrMiss) {
		return childFails("load without a file: %v", err)
	}
	return 0
}

func settingsOnFullDisk(dir string) int {
	s, err := OpenSettings(filepath.Join(dir, "settings.db"), SettingsOptions{Version: 1})
	if err != nil {
		return childFails("settings: %v", err)
	}
	defer s.Close()
	if err := s.Put("a", "b", 1); err != nil {
		return childFails("settings: %v", err)
	}
	ballast := make([]byte, 1<<20)
	f, _ := os.Create(filepath.Join(dir, "ballast"))
	for err = nil; err == nil; {
		_, err = f.Write(ballast)
	}
	failed := false
	for i := 0; i < 200 && !failed; i++ {
		failed = s.Put("a", fmt.Sprint(i), strings.Repeat("x", 50000)) != nil
	}
	var v int
	if err := s.Get("a", "b", &v); !failed || err != nil || v != 1 {
		return childFails("settings on a full disk: put failed: %v, get: %v", failed, err)
	}
	f.Close()
	os.Remove(f.Name())
	if err := s.Put("a", "b", 2); err != nil {
		return childFails("settings with room again: %v", err)
	}
	return 0
}

func TestFullAndReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "fullDisk", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit interface{ ExitCode() int }
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("no user namespace for a file system of our own: %v", err)
	case err != nil:
		t.Fatalf("child: %v\n%s", err, out)
	case strings.HasPrefix(string(out), "skip: "):
		t.Skip(strings.TrimSpace(string(out)))
	}
	t.Logf("%s", out)
}
