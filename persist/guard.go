package persist

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// file is an open bbolt file and the lock on it. Its transactions contain panics and memory faults: bbolt asserts what it reads,
// and a page that cannot be read from disk arrives as SIGBUS. After such a failure the file is broken and never used again.
type file struct {
	db       *bbolt.DB
	f        *os.File // the one db uses; closed through db, or by abandon
	path     string
	readOnly bool
	writeMu  sync.Mutex // one write transaction at a time, before beginMu, so that readers never wait for a writer
	beginMu  sync.Mutex // one Begin at a time: a panic inside it leaves bbolt's locks held
	broken   atomic.Bool
}

// contain runs fn and returns a panic or memory fault in it as ErrDamaged, as well as bbolt's errors about content.
func contain(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if p := recover(); p != nil {
			err = damagedf("%v", p)
		}
	}()
	err = fn()
	for _, wrong := range []error{berrors.ErrIncompatibleValue, berrors.ErrBucketNotFound, berrors.ErrInvalid, berrors.ErrChecksum,
		berrors.ErrVersionMismatch} { // our files have their buckets: a flipped flag took one away
		if errors.Is(err, wrong) {
			return damagedf("%v", err)
		}
	}
	return err
}

func (f *file) begin(writable bool) (tx *bbolt.Tx, err error) {
	f.beginMu.Lock()
	defer f.beginMu.Unlock()
	if f.broken.Load() {
		return nil, damagedf("%s was given up", f.path)
	}
	// bbolt holds its locks while it reads the meta pages of the mapped file: look first, where a bad page is an error.
	if len(readMetas(f.f)) == 0 {
		f.broken.Store(true)
		return nil, damagedf("%s lost its meta pages", f.path)
	}
	done := false
	defer func() {
		if !done {
			f.broken.Store(true)
		}
	}()
	tx, err = f.db.Begin(writable)
	done = true
	return tx, err
}

// view runs fn in a read transaction. Values fn sees end with it.
func (f *file) view(fn func(*bbolt.Tx) error) error {
	return contain(func() error {
		tx, err := f.begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback() // ends the transaction after a panic too; touches no page
		return fn(tx)
	})
}

// update runs fn in a write transaction, commits it, and returns how many bytes were written. After a panic nothing is rolled
// back, since that would read the pages again: the file is broken instead.
func (f *file) update(fn func(*bbolt.Tx) error) (writtenBytes int64, err error) {
	f.writeMu.Lock()
	defer f.writeMu.Unlock()
	err = contain(func() error {
		tx, err := f.begin(true)
		if err != nil {
			return err
		}
		done := false
		defer func() {
			if !done {
				f.broken.Store(true)
			}
		}()
		if err := fn(tx); err != nil {
			done = true
			return errors.Join(err, tx.Rollback())
		}
		if err = tx.Commit(); err == nil {
			st := tx.Stats()
			writtenBytes = st.GetPageAlloc()
		}
		done = true
		return err
	})
	return writtenBytes, err
}

// close closes the file in good order; a broken one is abandoned.
func (f *file) close() error {
	if f.broken.Load() {
		f.abandon()
		return nil
	}
	return contain(f.db.Close)
}

// abandon gives the lock back without bbolt, whose own locks may be held for good. The mapping stays, for readers that are still
// inside it; that happens at most maxRenewals times in a process.
func (f *file) abandon() {
	f.broken.Store(true)
	syscall.Flock(int(f.f.Fd()), syscall.LOCK_UN) // closing is not enough: the mapping refers to the open file too
	f.f.Close()
}

func openBolt(f *os.File, path string, readOnly bool, maxBytes int64) (*file, error) {
	out := &file{f: f, path: path, readOnly: readOnly}
	err := contain(func() (err error) {
		out.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout:        lockPoll, // the lock is ours already: f is the open file that holds it
			FreelistType:   bbolt.FreelistMapType,
			NoFreelistSync: true,
			ReadOnly:       readOnly,
			MaxSize:        int(maxBytes),
			OpenFile:       func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		})
		return err
	})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return out, nil
}
