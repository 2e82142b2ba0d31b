package persist

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

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
