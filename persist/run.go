package persist

import (
	"context"
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
		c.compact(ctx)
	}
	return min(idleWait, time.Until(*usesDue)+time.Second)
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

// writeUses stores the last-use times and pins that changed. The caller holds writing.
func (c *Cache) writeUses() error {
	c.mu.Lock()
	var dirty []*node
	var values [][]byte
	for _, n := range c.index.nodes {
		if n.dirty {
			key := []byte(n.key)
			dirty = append(dirty, n)
			values = append(values, seal(sealUse, where(c.o.Fingerprint, bucketUses, key), encodeUse(n.lastUse, n.hits, n.pinned)))
			n.dirty = false
		}
	}
	c.mu.Unlock()
	for len(dirty) > 0 {
		some := min(len(dirty), batchOps)
		err := c.commit(c.o.Fingerprint, func(g gen) error {
			for i, n := range dirty[:some] {
				if err := g.uses.Put([]byte(n.key), values[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		dirty, values = dirty[some:], values[some:]
	}
	return nil
}

// Pin marks the record of key to be evicted last, or not any more. ErrMiss: there is none.
func (c *Cache) Pin(key []byte, pinned bool) error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.unlock()
	c.mu.Lock()
	n := c.index.nodes[string(key)]
	if n != nil {
		n.dirty = n.dirty || n.pinned != pinned
		n.pinned = pinned
	}
	c.mu.Unlock()
	if n == nil {
		return ErrMiss
	}
	return c.writeUses()
}

// SetValue replaces the value of the record of key. ErrMiss: there is none.
func (c *Cache) SetValue(key, value []byte) error {
	c.mu.Lock()
	n := c.index.nodes[string(key)]
	r := &Record{Key: key, Value: value}
	if n != nil {
		r.Pinned = n.pinned
		for _, b := range n.blobs {
			r.Blobs = append(r.Blobs, Blob{Ref: b.ref()})
		}
	}
	c.mu.Unlock()
	if n == nil {
		return ErrMiss
	}
	return c.Put(context.Background(), r)
}
