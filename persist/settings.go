package persist

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// SettingsOptions are what OpenSettings needs to know. Version must be at least 1.
type SettingsOptions struct {
	Version int // of the caller's data

	// Migrations[v] turns data of version v into version v+1. All that are needed run in one transaction, after a synced copy of
	// the file was made beside it (settings.db.v<old>).
	Migrations map[int]func(*SettingsTx) error

	LockTimeout time.Duration // 0: DefaultLockTimeout
	Clock       func() time.Time
	Log         *slog.Logger
}

// Settings is a synced store of small JSON values in named buckets, and a log of results. A write that returned nil survives a
// power cut.
type Settings struct {
	f      *file
	o      SettingsOptions
	closed atomic.Bool
}

var (
	bucketMeta    = []byte("meta")
	bucketValues  = []byte("values")
	bucketResults = []byte("results")
	keyVersion    = []byte("version")
)

// OpenSettings opens or creates the file at path. It fails with a LockedError, with ErrNewer when the file's version is above
// o.Version (the file is left as it was), and with ErrDamaged when its pages make no sense; the file is never thrown away. A power
// cut that tore the last write is undone to the write before it, with a copy kept and a line in the log.
func OpenSettings(path string, o SettingsOptions) (*Settings, error) {
	if o.Version < 1 {
		return nil, limitf("settings of version %d", o.Version)
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = DefaultLockTimeout
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f, err := openFile(opening{
		path: path, wait: o.LockTimeout,
		make: func(tx *bbolt.Tx) error { return makeSettings(tx, o.Version) },
		before: func(f *os.File) error {
			return copyFile(f, damagedName(path, o.Clock()))
		},
		stepped: func(path string) {
			o.Log.Error("settings: the last write is damaged, went back to the one before; a copy was kept", "file", path)
		},
	})
	if err != nil {
		return nil, err
	}
	s := &Settings{f: f, o: o}
	if err := s.migrate(); err != nil {
		f.close()
		return nil, err
	}
	return s, nil
}

func makeSettings(tx *bbolt.Tx, version int) error {
	for _, name := range [][]byte{bucketMeta, bucketValues, bucketResults} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return putVersion(tx, version)
}

// Close closes the file. Later calls return ErrClosed.
func (s *Settings) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.f.close()
}

// View runs fn on one consistent state. fn must be short and must not call Settings.
func (s *Settings) View(fn func(*SettingsTx) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	return s.named(s.f.view(func(tx *bbolt.Tx) error { return fn(&SettingsTx{tx: tx}) }))
}

// Update runs fn and commits what it wrote, all or nothing, synced. fn must be short and must not call Settings.
func (s *Settings) Update(fn func(*SettingsTx) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	_, err := s.f.update(func(tx *bbolt.Tx) error { return fn(&SettingsTx{tx: tx}) })
	return s.named(err)
}

func (s *Settings) named(err error) error {
	if err == nil || errors.Is(err, ErrMiss) || errors.Is(err, ErrLimit) {
		return err
	}
	return fmt.Errorf("%s: %w", s.f.path, err)
}
