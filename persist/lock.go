package persist

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockFile opens path and locks it, for one writer or for many readers, within wait. The lock is on the file itself (flock, the
// one bbolt takes), so it ends with the process however that dies. The path may be renamed away while we wait: then the lock we
// got is on a file that nobody will find again, and the new one is tried.
func lockFile(path string, readOnly bool, wait time.Duration) (*os.File, error) {
	flag, how := os.O_RDWR, syscall.LOCK_EX
	if readOnly {
		flag, how = os.O_RDONLY, syscall.LOCK_SH
	}
	deadline := time.Now().Add(wait)
	for {
		f, err := os.OpenFile(path, flag, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil && sameFile(f, path) {
			return f, nil
		}
		locked := errors.Is(err, syscall.EWOULDBLOCK)
		if err != nil && !locked {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if time.Now().After(deadline) {
			holder := lockHolder("/proc", f)
			f.Close()
			holder.Path = path
			return nil, holder
		}
		f.Close()
		if locked {
			time.Sleep(lockPoll)
		}
	}
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// lockHolder finds who has a flock on f's inode in <proc>/locks (fs/locks.c: "1: FLOCK  ADVISORY  WRITE 123 fe:00:4711 0 EOF").
// The device is not compared: overlay and btrfs show another one there than stat does.
func lockHolder(proc string, f *os.File) *LockedError {
	st, err := f.Stat()
	if err != nil {
		return &LockedError{}
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return &LockedError{}
	}
	locks, err := os.Open(filepath.Join(proc, "locks"))
	if err != nil {
		return &LockedError{}
	}
	defer locks.Close()
	inode := ":" + strconv.FormatUint(sys.Ino, 10)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 6 || w[1] != "FLOCK" || !strings.HasSuffix(w[5], inode) {
			continue
		}
		if pid, err := strconv.Atoi(w[4]); err == nil && pid > 0 {
			comm, _ := os.ReadFile(filepath.Join(proc, w[4], "comm"))
			return &LockedError{PID: pid, Name: strings.TrimSpace(string(comm))}
		}
	}
	return &LockedError{}
}
