package persist

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

// worthCompacting reports whether more than half of a file of some size is free pages, and there is room and write budget for a
// second one. A bbolt file never shrinks by itself.
func (c *Cache) worthCompacting() bool {
	space := c.space()
	size, used := space.file, space.used()
	half := size >= compactMinBytes && used < size/2
	over := size > c.o.DiskBudgetBytes && used < c.o.DiskBudgetBytes*7/8 // the budget was lowered
	if !half && !over || c.o.Clock().Before(c.compactAfter) {
		return false
	}
	c.mu.Lock()
	left := c.o.DailyWriteBytes - c.day.written
	c.mu.Unlock()
	disk, ok := diskFree(c.path)
	return used < left && (!ok || disk-c.o.DiskReserveBytes > used)
}

// Compact rewrites the file without its free pages, now. Loads go on meanwhile.
func (c *Cache) Compact(ctx context.Context) error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.unlock()
	return c.compact(ctx)
}

// compact copies the file into a new one, which takes its name when it is complete. The caller holds writing, so the old file does
// not change; a crash leaves one of the two. A failure leaves the old one in use.
func (c *Cache) compact(ctx context.Context) error {
	c.fileMu.RLock()
	old := c.db
	c.fileMu.RUnlock()
	if old == nil {
		return ErrOff
	}
	before := old.space()
	fresh, err := compactFile(ctx, old, c.o.DiskBudgetBytes)
	if err != nil {
		c.compactAfter = c.o.Clock().Add(time.Hour)
		c.o.Log.Warn("cache: not compacted", "file", c.path, "error", err)
		return err
	}
	fresh.db.AllocSize = old.db.AllocSize
	c.fileMu.Lock()
	c.db = fresh
	c.fileMu.Unlock()
	old.close()
	after := fresh.space()
	c.mu.Lock()
	c.day.roll(c.o.Clock())
	c.day.written += after.file
	c.stats.WrittenBytes += uint64(after.file)
	c.stats.Compactions++
	c.mu.Unlock()
	c.o.Log.Info("cache compacted", "file", c.path, "bytesBefore", before.file, "bytesAfter", after.file)
	return nil
}

// compactFile makes the new file, locked and open, under the old one's name.
func compactFile(ctx context.Context, old *file, maxBytes int64) (*file, error) {
	tmp := fmt.Sprintf("%s.compact-%d", old.path, os.Getpid())
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp)
	fresh, err := openBolt(f, tmp, false, maxBytes)
	if err != nil {
		return nil, err
	}
	fresh.db.NoSync = true // nothing counts until the rename
	err = contain(func() error { return copyBuckets(ctx, fresh, old) })
	fresh.db.NoSync = false
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, old.path)
	}
	if err != nil {
		fresh.abandon()
		return nil, err
	}
	fresh.path = old.path
	syncDir(old.path) // should this fail, a crash leaves either file under the name, and both are right
	return fresh, nil
}

// copyBuckets copies all entries in transactions of about batchBytes.
func copyBuckets(ctx context.Context, to, from *file) error {
	p := &copier{ctx: ctx, to: to}
	err := from.view(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return p.bucket(b, [][]byte{name}) })
	})
	if err != nil {
		return err
	}
	for range 2 { // twice: both meta pages know the last state
		if err := p.flush(); err != nil {
			return err
		}
	}
	return nil
}

// copier collects entries, which stay valid as long as the read transaction they come from.
type copier struct {
	ctx   context.Context
	to    *file
	ops   []copied
	bytes int
}

type copied struct {
	path       [][]byte
	key, value []byte // nil: the bucket itself
}

func (p *copier) bucket(b *bbolt.Bucket, path [][]byte) error {
	if err := p.add(copied{path: path}); err != nil {
		return err
	}
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return p.bucket(b.Bucket(k), append(path[:len(path):len(path)], k))
		}
		return p.add(copied{path, k, v})
	})
}

func (p *copier) add(o copied) error {
	p.ops = append(p.ops, o)
	if p.bytes += len(o.key) + len(o.value); p.bytes < batchBytes && len(p.ops) < batchOps {
		return nil
	}
	return p.flush()
}

func (p *copier) flush() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	_, err := p.to.update(func(tx *bbolt.Tx) error {
		for _, o := range p.ops {
			b, err := tx.CreateBucketIfNotExists(o.path[0])
			for _, name := range o.path[1:] {
				if err == nil {
					b, err = b.CreateBucketIfNotExists(name)
				}
			}
			if err == nil && o.key != nil {
				b.FillPercent = 1 // entries come in order
				err = b.Put(o.key, o.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	p.ops, p.bytes = nil, 0
	return err
}

// Clear deletes all records of all fingerprints by beginning a new file.
func (c *Cache) Clear() error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.unlock()
	c.fileMu.Lock()
	f := c.db
	c.db = nil
	c.fileMu.Unlock()
	c.mu.Lock()
	c.index.reset()
	c.mu.Unlock()
	err := os.Remove(c.path)
	if f != nil {
		f.abandon()
	}
	if err == nil {
		err = c.open(false)
	}
	if err != nil {
		c.turnOff(err.Error())
		return err
	}
	c.o.Log.Info("cache cleared", "file", c.path)
	return nil
}
