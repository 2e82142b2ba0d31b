package persist

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// openOrRenew opens the cache file; a damaged one is moved aside and a fresh one begun; where nothing can be written the cache
// is off, reading what can be read.
func (c *Cache) openOrRenew() error {
	err := c.open(false)
	switch {
	case err == nil || errors.Is(err, ErrLocked):
		return err
	case errors.Is(err, ErrNewer):
		c.turnOff(err.Error())
	case errors.Is(err, ErrDamaged):
		c.setAside(err)
	default:
		if roErr := c.open(true); errors.Is(roErr, ErrLocked) {
			return roErr
		}
		c.turnOff(err.Error())
	}
	return nil
}

// setAside moves a damaged file away and begins a fresh one. The caller holds writing, or is alone.
func (c *Cache) setAside(cause error) {
	kept, err := moveAside(c.path, c.o.Clock())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.turnOff(fmt.Sprintf("%v; and it cannot be moved aside: %v", cause, err))
		return
	}
	c.count(func(s *Stats) { s.DamagedFiles++ })
	c.o.Log.Error("cache file is damaged; moved aside, starting with an empty one", "file", c.path, "kept", kept, "cause", cause)
	if c.renewals++; c.renewals > maxRenewals {
		c.turnOff(fmt.Sprintf("damaged %d times since the start, the disk may be failing: %v", c.renewals, cause))
		return
	}
	if err := c.open(false); err != nil {
		c.turnOff(err.Error())
	}
}

// open opens the file and reads the index. On failure nothing is left open.
func (c *Cache) open(readOnly bool) error {
	now := c.o.Clock()
	f, err := openFile(opening{
		path: c.path, readOnly: readOnly, wait: c.o.LockTimeout, maxBytes: c.o.DiskBudgetBytes,
		make: func(tx *bbolt.Tx) error { return fillCache(tx, c.o.Fingerprint, now) },
		stepped: func(path string) {
			c.count(func(s *Stats) { s.SteppedBack++ })
			c.o.Log.Warn("cache: the last write is damaged, went back to the one before", "file", path)
		},
	})
	if err != nil {
		return err
	}
	if err := c.adopt(f); err != nil {
		f.abandon()
		return err
	}
	if !readOnly {
		c.removeLeftovers() // nobody else makes any while the lock is ours
	}
	return nil
}

// adopt checks the schema, stamps the fingerprint, reads the index and makes f the cache's file.
func (c *Cache) adopt(f *file) error {
	var day dailyBudget
	var seen bool
	err := f.view(func(tx *bbolt.Tx) error {
		schema := getMeta(tx, keySchema)
		if len(schema) != 1 || schema[0] < cacheSchema {
			return damagedf("%s is not a cache of schema %d", f.path, cacheSchema)
		}
		if schema[0] > cacheSchema {
			return fmt.Errorf("%w: %s has schema %d, this program knows %d", ErrNewer, f.path, schema[0], cacheSchema)
		}
		day, _ = decodeDaily(getMeta(tx, keyDay))
		_, seen = openGen(tx, c.o.Fingerprint)
		return nil
	})
	if err != nil {
		return err
	}
	if !f.readOnly {
		err := c.stamp(f)
		if errors.Is(err, ErrDamaged) {
			return err
		}
		if err != nil {
			c.turnOff(err.Error())
		}
		seen = seen || err == nil
	}
	l := loaded{index: new(index)}
	l.index.reset()
	if seen {
		if l, err = readIndex(f, c.o.Fingerprint); err != nil {
			return err
		}
	}
	c.install(f, l, day)
	return nil
}

func (c *Cache) stamp(f *file) error {
	f.db.NoSync = c.o.noSync
	f.db.AllocSize = int(c.allocBytes())
	_, err := f.update(func(tx *bbolt.Tx) error { return fillCache(tx, c.o.Fingerprint, c.o.Clock()) })
	return err
}

func (c *Cache) install(f *file, l loaded, day dailyBudget) {
	c.fileMu.Lock()
	c.db = f
	c.fileMu.Unlock()
	c.nextBlob, c.garbage, c.overhead, c.strays = l.nextBlob, nil, min(batchBytes, c.o.DiskBudgetBytes/8), l.strays
	c.foreign, c.foreignListed = nil, false
	c.sweep = sweep{limit: l.nextBlob, known: l.ids}
	c.epoch++
	c.mu.Lock()
	c.index = *l.index
	if c.day.day < day.day || c.day.day == day.day && c.day.written < day.written {
		c.day = day
	}
	c.day.roll(c.o.Clock())
	c.stats.Bad += uint64(l.bad)
	c.mu.Unlock()
	if l.bad > 0 {
		c.o.Log.Warn("cache: entries failed verification and will be removed", "file", c.path, "entries", l.bad)
	}
}

// renew leaves the present file, which is damaged or to be cleared, and begins a fresh one. The caller holds writing.
func (c *Cache) renew(cause error) {
	c.fileMu.Lock()
	f := c.db
	c.db = nil
	c.fileMu.Unlock()
	c.mu.Lock()
	c.index.reset()
	c.mu.Unlock()
	if f == nil {
		return
	}
	f.abandon()
	c.setAside(cause)
}

// removeLeftovers deletes what a crash left of files being made.
func (c *Cache) removeLeftovers() {
	for _, pattern := range []string{".new-*", ".compact-*"} {
		old, _ := filepath.Glob(globQuote(c.path) + pattern)
		for _, name := range old {
			os.Remove(name)
		}
	}
}
