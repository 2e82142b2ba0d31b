package persist

import (
	"context"
	"errors"
	"time"
)

const (
	idleWait     = time.Minute           // between looks at what is due
	maxQuietWait = time.Minute           // how long a record waits at most when the box is never quiet
	stepWait     = 20 * time.Millisecond // between steps of background deletion: readers and the disk come first
)

// poke wakes the background writer.
func (c *Cache) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run is the background writer.
func (c *Cache) run() {
	defer close(c.done)
	usesDue := time.Now().Add(c.o.UsesEvery)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		wait := idleWait
		select {
		case c.writing <- struct{}{}:
			wait = c.work(ctx, &usesDue)
			<-c.writing
		case <-c.stop:
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-c.stop:
			timer.Stop()
			return
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// work does what is due and returns when to look again. The caller holds writing.
func (c *Cache) work(ctx context.Context, usesDue *time.Time) time.Duration {
	c.replaceBroken()
	if c.usable() != nil {
		return idleWait
	}
	if wait := c.quietIn(); wait > 0 {
		return min(wait, idleWait)
	}
	c.drain(ctx, func() bool { return c.quietIn() <= 0 })
	c.tidy()
	if time.Now().After(*usesDue) {
		*usesDue = time.Now().Add(c.o.UsesEvery)
		c.writeUses()
	}
	if c.sweepStep() || c.expireForeign() {
		return stepWait
	}
	if c.worthCompacting() {
		c.compact(func() error { return c.yielding(ctx) })
	}
	return min(idleWait, time.Until(*usesDue)+time.Second)
}

// errYield: work that can wait was given up because Flush wants to write.
var errYield = errors.New("given up for a flush")

func (c *Cache) yielding(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flushers > 0 {
		return errYield
	}
	return ctx.Err()
}

// quietIn says how long to wait for quiet; 0 or less: work may be done now. A queue half full is written at once.
func (c *Cache) quietIn() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flushers > 0 {
		return stepWait // Flush wants to write
	}
	if c.queue.bytes > c.queue.limitBytes/2 || len(c.queue.items) > maxQueued/2 {
		return 0
	}
	if len(c.queue.items) > 0 && time.Since(c.queue.items[0].at) > maxQuietWait {
		return 0
	}
	return time.Until(c.active.Add(c.o.QuietDelay))
}

// replaceBroken begins a fresh file when a reader ran into a damaged page. The caller holds writing.
func (c *Cache) replaceBroken() {
	c.fileMu.RLock()
	broken := c.db != nil && c.db.broken.Load()
	c.fileMu.RUnlock()
	if broken && c.usable() == nil {
		c.renew(damagedf("%s: a page was found damaged in use", c.path))
	}
}
