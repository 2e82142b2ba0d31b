package persist

import (
	"context"
)

// dropQueued empties the queue.
func (c *Cache) dropQueued(err error) {
	c.mu.Lock()
	items := c.queue.items
	c.queue.items, c.queue.bytes = nil, 0
	c.mu.Unlock()
	for _, it := range items {
		c.dropped(it.r, err)
	}
	if len(items) > 0 {
		c.o.Log.Warn("cache: queued records dropped", "file", c.path, "records", len(items), "reason", err)
	}
}

// drain writes queued records, the most valuable first, until none is left, goOn says no or ctx ends. The caller holds writing.
func (c *Cache) drain(ctx context.Context, goOn func() bool) {
	b := c.newBatch()
	for goOn() && ctx.Err() == nil {
		c.mu.Lock()
		r := c.queue.pop()
		c.mu.Unlock()
		if r == nil {
			break
		}
		if c.usable() == ErrOff {
			c.dropped(r, ErrOff)
			continue
		}
		if b.epoch != c.epoch {
			b.flush() // tells the owners of what it held
			b = c.newBatch()
		}
		c.write(ctx, b, r)
	}
	b.flush()
}

// Flush writes what is queued, pinned records first, then by priority, until ctx ends; then what is left is dropped, counted and
// logged. It returns ctx's error in that case. Call it at shutdown, before Close.
func (c *Cache) Flush(ctx context.Context) error {
	c.mu.Lock()
	c.flushers++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.flushers--
		c.mu.Unlock()
	}()
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		c.dropQueued(ctx.Err())
		return ctx.Err()
	}
	defer c.unlock()
	if err := c.usable(); err != nil {
		c.dropQueued(err)
		return err
	}
	c.drain(ctx, func() bool { return true })
	if ctx.Err() != nil {
		c.dropQueued(ctx.Err())
		return ctx.Err()
	}
	return c.writeUses()
}
