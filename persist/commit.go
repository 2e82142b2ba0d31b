package persist

import (
	"errors"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// commit runs fn in a write transaction on the buckets of fp. A failure that is not about room turns the cache off or, if the file
// is damaged, replaces it. The file grows to capBytes at most; ErrFull says that this was not enough. The caller holds writing.
func (c *Cache) commit(fp fingerprint, capBytes int64, fn func(gen) error) error {
	c.mu.Lock()
	c.day.roll(c.o.Clock())
	day := c.day
	c.mu.Unlock()
	written, err := c.tryCommit(capBytes, func(tx *bbolt.Tx) error {
		g, ok := openGen(tx, fp)
		if !ok {
			return damagedf("%s lacks a bucket of fingerprint %x", c.path, fp[:4])
		}
		if err := fn(g); err != nil {
			return err
		}
		return putMeta(tx, keyDay, day.encode())
	})
	if err == nil {
		c.mu.Lock()
		c.day.written += written
		c.stats.WrittenBytes += uint64(written)
		c.mu.Unlock()
		return nil
	}
	return c.failed(err)
}

func (c *Cache) tryCommit(capBytes int64, fn func(tx *bbolt.Tx) error) (int64, error) {
	if err := c.usable(); errors.Is(err, ErrOff) {
		return 0, err
	}
	c.fileMu.RLock()
	defer c.fileMu.RUnlock()
	if c.db == nil {
		return 0, ErrOff
	}
	if c.o.failCommit != nil {
		if err := c.o.failCommit(); err != nil {
			return 0, err
		}
	}
	c.db.db.MaxSize = int(capBytes) // read by write transactions only, and this is the one
	return c.db.update(fn)
}

func (c *Cache) failed(err error) error {
	switch {
	case errors.Is(err, ErrOff):
		return ErrOff
	case errors.Is(err, berrors.ErrMaxSizeReached):
		c.overhead = min(c.overhead+batchBytes, c.o.DiskBudgetBytes/4)
		return ErrFull
	case errors.Is(err, ErrDamaged):
		c.renew(err)
		return err
	}
	c.turnOff(err.Error())
	return ErrOff
}
