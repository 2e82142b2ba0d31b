package persist

import (
	"encoding/json"
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

func putVersion(tx *bbolt.Tx, version int) error {
	payload, _ := json.Marshal(version)
	return tx.Bucket(bucketMeta).Put(keyVersion, seal(sealMeta, place(bucketMeta, keyVersion), payload))
}

func getVersion(tx *bbolt.Tx) (version int, err error) {
	for _, name := range [][]byte{bucketMeta, bucketValues, bucketResults} {
		if tx.Bucket(name) == nil {
			return 0, damagedf("no bucket %q: not a settings file", name)
		}
	}
	payload, err := unseal(sealMeta, place(bucketMeta, keyVersion), tx.Bucket(bucketMeta).Get(keyVersion))
	if err != nil {
		return 0, fmt.Errorf("schema version: %w", err)
	}
	if err := json.Unmarshal(payload, &version); err != nil || version < 1 {
		return 0, damagedf("schema version %q", payload)
	}
	return version, nil
}

// migrate brings the file to o.Version.
func (s *Settings) migrate() error {
	var version int
	if err := s.f.view(func(tx *bbolt.Tx) (err error) { version, err = getVersion(tx); return err }); err != nil {
		return fmt.Errorf("open %s: %w", s.f.path, err)
	}
	if version == s.o.Version {
		return nil
	}
	if version > s.o.Version {
		return fmt.Errorf("%w: %s has version %d, this program knows %d; start the newer program or move the file away",
			ErrNewer, s.f.path, version, s.o.Version)
	}
	copied := fmt.Sprintf("%s.v%d", s.f.path, version)
	if err := copyFile(s.f.f, copied); err != nil {
		return fmt.Errorf("copy %s before a migration: %w", s.f.path, err)
	}
	_, err := s.f.update(func(tx *bbolt.Tx) error {
		for v := version; v < s.o.Version; v++ {
			step := s.o.Migrations[v]
			if step == nil {
				return fmt.Errorf("no migration from version %d", v)
			}
			if err := step(&SettingsTx{tx: tx}); err != nil {
				return fmt.Errorf("migration from version %d: %w", v, err)
			}
		}
		return putVersion(tx, s.o.Version)
	})
	if err != nil {
		return fmt.Errorf("migrate %s to version %d: %w", s.f.path, s.o.Version, err)
	}
	s.o.Log.Info("settings migrated", "file", s.f.path, "from", version, "to", s.o.Version, "copy", copied)
	return nil
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
