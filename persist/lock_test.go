package persist

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() {
	children["hold"] = func(path string) int {
		c, err := OpenCache(path, quiet())
		if err != nil {
			return childFails("%v", err)
		}
		defer c.Close()
		fmt.Println("held")
		os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		return 0
	}
}

func TestLockedFileNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	cmd := child(t, "hold", path)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child: %s", line)
	}
	o := quiet()
	o.LockTimeout = 100 * time.Millisecond
	began := time.Now()
	_, err := OpenCache(path, o)
	if !errors.Is(err, ErrLocked) || time.Since(began) < o.LockTimeout {
		t.Fatalf("after %v: %v", time.Since(began), err)
	}
	if _, missing := os.Stat("/proc/locks"); missing == nil && !strings.Contains(err.Error(), fmt.Sprintf("process %d (", cmd.Process.Pid)) {
		t.Errorf("the holder %d is not named: %v", cmd.Process.Pid, err)
	}
	if _, err := Inspect(path, 0, true); !errors.Is(err, ErrLocked) {
		t.Errorf("inspect: %v", err)
	}
	// The holder ends while we wait.
	time.AfterFunc(200*time.Millisecond, func() { in.Close() })
	o.LockTimeout = 10 * time.Second
	c := mustOpen(t, path, o)
	works(t, c, "a")
}

func inodeOf(t *testing.T, f *os.File) uint64 {
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Ino
}

func TestLockHolderParsing(t *testing.T) {
	proc := t.TempDir()
	f, err := os.Create(filepath.Join(proc, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inode := inodeOf(t, f)
	lines := fmt.Sprintf("1: POSIX  ADVISORY  WRITE 11 fe:00:%[1]d 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 fe:00:1%[1]d 0 EOF\n"+
		"3: -> FLOCK ADVISORY WRITE 13 fe:00:%[1]d 0 EOF\n4: FLOCK  ADVISORY  WRITE 14 00:2a:%[1]d 0 EOF\nnonsense\n", inode)
	os.WriteFile(filepath.Join(proc, "locks"), []byte(lines), 0o600)
	os.Mkdir(filepath.Join(proc, "14"), 0o700)
	os.WriteFile(filepath.Join(proc, "14", "comm"), []byte("hearth\n"), 0o600)
	e := lockHolder(proc, f)
	if e.PID != 14 || e.Name != "hearth" {
		t.Errorf("holder %+v, want 14 (hearth)", e)
	}
	if e := lockHolder(filepath.Join(proc, "none"), f); e.PID != 0 {
		t.Errorf("holder without /proc: %+v", e)
	}
}

// TestLockFollowsTheName: whoever waits for a file that is replaced meanwhile gets the one that bears the name.
func TestLockFollowsTheName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	os.WriteFile(path, []byte("old"), 0o600)
	held, err := lockFile(path, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() {
		os.Rename(path, path+".aside")
		os.WriteFile(path, []byte("new"), 0o600)
		held.Close()
	})
	f, err := lockFile(path, false, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 3)
	f.ReadAt(b, 0)
	if string(b) != "new" {
		t.Errorf("locked the %s file", b)
	}
}
