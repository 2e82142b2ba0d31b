package persist

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// opening says how to open a file.
type opening struct {
	path     string
	readOnly bool
	wait     time.Duration
	maxBytes int64                    // cap on the file's size; 0: none
	make     func(tx *bbolt.Tx) error // fills a new file
	before   func(f *os.File) error   // called before a step back to the older meta page
	stepped  func(path string)        // called after it
}

// openFile creates the file if it is missing, locks it, checks its pages and opens it.
func openFile(o opening) (*file, error) {
	if _, err := os.Stat(o.path); errors.Is(err, fs.ErrNotExist) && !o.readOnly {
		if err := createFile(o.path, o.make); err != nil {
			return nil, fmt.Errorf("create %s: %w", o.path, err)
		}
	}
	f, err := lockFile(o.path, o.readOnly, o.wait)
	if err != nil {
		return nil, err
	}
	stepped, err := settle(f, o.readOnly, func() error {
		if o.before == nil {
			return nil
		}
		return o.before(f)
	})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", o.path, err)
	}
	if stepped && o.stepped != nil {
		o.stepped(o.path)
	}
	return openBolt(f, o.path, o.readOnly, o.maxBytes)
}

// createFile makes a bbolt file under another name and links it to path when it is complete, so that a file with half its first
// pages never exists under that name. It is no error if another process was faster.
func createFile(path string, fill func(tx *bbolt.Tx) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	f, err := openBolt(tmp, tmp.Name(), false, 0)
	if err != nil {
		return err
	}
	for _, step := range []func(*bbolt.Tx) error{fill, func(*bbolt.Tx) error { return nil }} { // twice: both metas know the buckets
		if _, err := f.update(step); err != nil {
			f.close()
			return err
		}
	}
	if err := f.close(); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(path)
}

// copyFile writes what f holds to path, synced, through a temporary name.
func copyFile(f *os.File, path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := io.Copy(tmp, io.NewSectionReader(f, 0, st.Size())); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(path)
}

// syncDir makes a rename or link of path durable.
func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
