package persist

import (
	"context"
	"fmt"
	"os"
	"time"
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
	return c.compact(ctx.Err)
}

// compact copies the file into a new one, which takes its name when it is complete. The caller holds writing, so the old file does
// not change; a crash leaves one of the two. A failure, or an error of goOn between two steps, leaves the old one in use.
func (c *Cache) compact(goOn func() error) error {
	c.fileMu.RLock()
	old := c.db
	c.fileMu.RUnlock()
	if old == nil {
		return ErrOff
	}
	before := old.space()
	fresh, err := compactFile(goOn, old, c.o.DiskBudgetBytes)
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
func compactFile(goOn func() error, old *file, maxBytes int64) (*file, error) {
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
	err = contain(func() error { return copyBuckets(goOn, fresh, old) })
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
