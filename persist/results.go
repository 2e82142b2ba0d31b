package persist

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Result is one entry of the log of results, for example a benchmark run.
type Result struct {
	ID   uint64 // ascending within its kind, never reused
	At   time.Time
	Data json.RawMessage
}

type storedResult struct {
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

func resultKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

func resultPlace(kind string, key []byte) []byte { return place(bucketResults, []byte(kind), key) }

// Append adds v as JSON to the results of kind and returns its id. Beyond maxResults the oldest go.
func (s *Settings) Append(kind string, v any) (id uint64, err error) {
	if err := checkNames(kind); err != nil {
		return 0, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("result of kind %s: %w", kind, err)
	}
	payload, err := json.Marshal(storedResult{s.o.Clock().UTC(), data})
	if err != nil {
		return 0, fmt.Errorf("result of kind %s: %w", kind, err)
	}
	if len(payload) > maxSettingBytes {
		return 0, limitf("a result of kind %s is %d bytes, the limit is %d", kind, len(payload), maxSettingBytes)
	}
	err = s.Update(func(t *SettingsTx) error {
		b, err := t.tx.Bucket(bucketResults).CreateBucketIfNotExists([]byte(kind))
		if err != nil {
			return err
		}
		if id, err = b.NextSequence(); err != nil {
			return err
		}
		if err := b.Put(resultKey(id), seal(sealResult, resultPlace(kind, resultKey(id)), payload)); err != nil {
			return err
		}
		if id > maxResults {
			_, err = dropUpTo(b, id-maxResults)
		}
		return err
	})
	return id, err
}

// Results returns up to limit results of kind with ids below before (0: no bound), the newest first. A damaged one is left out and
// counted in damaged.
func (s *Settings) Results(kind string, before uint64, limit int) (out []Result, damaged int, err error) {
	if err := checkNames(kind); err != nil {
		return nil, 0, err
	}
	limit = min(limit, maxResults)
	err = s.View(func(t *SettingsTx) error {
		b := t.tx.Bucket(bucketResults).Bucket([]byte(kind))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		k, v := c.Last()
		for k != nil && before > 0 && len(k) == 8 && binary.BigEndian.Uint64(k) >= before {
			k, v = c.Prev()
		}
		for ; k != nil && len(out) < limit; k, v = c.Prev() {
			payload, err := unseal(sealResult, resultPlace(kind, k), v)
			var r storedResult
			if err != nil || len(k) != 8 || json.Unmarshal(payload, &r) != nil {
				damaged++
				continue
			}
			out = append(out, Result{binary.BigEndian.Uint64(k), r.At, slices.Clone(r.Data)})
		}
		return nil
	})
	return out, damaged, err
}

// Prune keeps the newest keep results of kind and returns how many it removed.
func (s *Settings) Prune(kind string, keep int) (removed int, err error) {
	if err := checkNames(kind); err != nil {
		return 0, err
	}
	err = s.Update(func(t *SettingsTx) error {
		b := t.tx.Bucket(bucketResults).Bucket([]byte(kind))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		k, _ := c.Last()
		for i := 0; i < keep && k != nil; i++ {
			k, _ = c.Prev()
		}
		if len(k) != 8 {
			return nil
		}
		removed, err = dropUpTo(b, binary.BigEndian.Uint64(k))
		return err
	})
	return removed, err
}

// dropUpTo deletes the results up to and including last.
func dropUpTo(b *bbolt.Bucket, last uint64) (n int, err error) {
	c := b.Cursor()
	for k, _ := c.First(); len(k) == 8 && binary.BigEndian.Uint64(k) <= last; k, _ = c.First() {
		if err := c.Delete(); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
