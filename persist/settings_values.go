package persist

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"
)

// SettingsTx is a transaction on settings, valid only inside the function it was given to.
type SettingsTx struct{ tx *bbolt.Tx }

func checkNames(names ...string) error {
	for _, n := range names {
		if n == "" || len(n) > maxKeyBytes {
			return limitf("a name of %d bytes, not 1 to %d", len(n), maxKeyBytes)
		}
	}
	return nil
}

// Get decodes the value of key into dst. ErrMiss: there is none. ErrDamaged: its checksum or its JSON is wrong.
func (t *SettingsTx) Get(bucket, key string, dst any) error {
	if err := checkNames(bucket, key); err != nil {
		return err
	}
	b := t.tx.Bucket(bucketValues).Bucket([]byte(bucket))
	if b == nil {
		return ErrMiss
	}
	v := b.Get([]byte(key))
	if v == nil {
		return ErrMiss
	}
	payload, err := unseal(sealSetting, place(bucketValues, []byte(bucket), []byte(key)), v)
	if err != nil {
		return fmt.Errorf("setting %s/%s: %w", bucket, key, err)
	}
	if err := json.Unmarshal(payload, dst); err != nil {
		return fmt.Errorf("setting %s/%s: %w", bucket, key, err)
	}
	return nil
}

// Put stores v as JSON.
func (t *SettingsTx) Put(bucket, key string, v any) error {
	if err := checkNames(bucket, key); err != nil {
		return err
	}
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("setting %s/%s: %w", bucket, key, err)
	}
	if len(payload) > maxSettingBytes {
		return limitf("setting %s/%s is %d bytes, the limit is %d", bucket, key, len(payload), maxSettingBytes)
	}
	b, err := t.tx.Bucket(bucketValues).CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(key), seal(sealSetting, place(bucketValues, []byte(bucket), []byte(key)), payload))
}

// Delete removes key; it is no error if there is none.
func (t *SettingsTx) Delete(bucket, key string) error {
	if err := checkNames(bucket, key); err != nil {
		return err
	}
	if b := t.tx.Bucket(bucketValues).Bucket([]byte(bucket)); b != nil {
		return b.Delete([]byte(key))
	}
	return nil
}

// List returns the keys of bucket that begin with prefix, in byte order.
func (t *SettingsTx) List(bucket, prefix string) ([]string, error) {
	if err := checkNames(bucket); err != nil {
		return nil, err
	}
	b := t.tx.Bucket(bucketValues).Bucket([]byte(bucket))
	if b == nil {
		return nil, nil
	}
	var keys []string
	c := b.Cursor()
	for k, _ := c.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix); k, _ = c.Next() {
		keys = append(keys, string(k))
	}
	return keys, nil
}

// Get decodes one value in a transaction of its own; see SettingsTx.Get.
func (s *Settings) Get(bucket, key string, dst any) error {
	return s.View(func(t *SettingsTx) error { return t.Get(bucket, key, dst) })
}

// Put stores one value in a transaction of its own.
func (s *Settings) Put(bucket, key string, v any) error {
	return s.Update(func(t *SettingsTx) error { return t.Put(bucket, key, v) })
}

// Delete removes one value in a transaction of its own.
func (s *Settings) Delete(bucket, key string) error {
	return s.Update(func(t *SettingsTx) error { return t.Delete(bucket, key) })
}

// List returns keys in a transaction of its own; see SettingsTx.List.
func (s *Settings) List(bucket, prefix string) (keys []string, err error) {
	err = s.View(func(t *SettingsTx) (err error) { keys, err = t.List(bucket, prefix); return err })
	return keys, err
}
