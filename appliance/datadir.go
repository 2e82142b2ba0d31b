package appliance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DataDir is the locked data folder of a running server.
type DataDir struct {
	Path string
	lock *os.File
}

// OpenDataDir creates the folder where it is missing and locks it. A second server on the same folder is refused with the
// process id of the first.
func OpenDataDir(path string) (*DataDir, error) {
	if err := os.MkdirAll(filepath.Join(path, "models"), 0o750); err != nil {
		return nil, &StartError{Code: ExitDataDir, Message: fmt.Sprintf("cannot create the data folder %s: %v; choose another with --data", path, plain(err))}
	}
	name := filepath.Join(path, "lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, &StartError{Code: ExitDataDir, Message: fmt.Sprintf("cannot write to the data folder %s: %v; choose another with --data", path, plain(err))}
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &StartError{Code: ExitDataDir, Message: fmt.Sprintf("cannot lock %s: %v; is the file system local?", name, err)}
		}
		return nil, &StartError{Code: ExitLocked, Message: fmt.Sprintf("another hearth (%s) uses the data folder %s; stop it, or choose another folder with --data", holder(f), path)}
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, &StartError{Code: ExitDataDir, Message: fmt.Sprintf("cannot write %s: %v", name, plain(err))}
	}
	return &DataDir{Path: path, lock: f}, nil
}

// holder reads who has the lock.
func holder(f *os.File) string {
	b, _ := io.ReadAll(io.LimitReader(f, 32))
	if pid := strings.TrimSpace(string(b)); pid != "" {
		return "process " + pid
	}
	return "of unknown process id"
}

// plain drops the path that os errors repeat.
func plain(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Close unlocks the folder. The lock file stays: removing it would let two servers lock two files of one name.
func (d *DataDir) Close() error { return d.lock.Close() }
