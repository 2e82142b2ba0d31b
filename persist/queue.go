package persist

import (
	"time"
)

// queue holds records waiting to be written.
type queue struct {
	items      []queued
	bytes      int64
	limitBytes int64
}

type queued struct {
	r     *Record
	bytes int64
	at    time.Time
}

// before orders the queue: pinned first, then by priority, then by age.
func (q queued) before(o queued) bool {
	if q.r.Pinned != o.r.Pinned {
		return q.r.Pinned
	}
	return q.r.Priority > o.r.Priority
}

func (q *queue) pop() *Record {
	if len(q.items) == 0 {
		return nil
	}
	best := 0
	for i := range q.items {
		if q.items[i].before(q.items[best]) {
			best = i
		}
	}
	it := q.items[best]
	q.remove(best)
	return it.r
}

func (q *queue) remove(i int) {
	q.bytes -= q.items[i].bytes
	q.items = append(q.items[:i], q.items[i+1:]...)
}

func (q *queue) find(key []byte) int {
	for i := range q.items {
		if string(q.items[i].r.Key) == string(key) {
			return i
		}
	}
	return -1
}

// Queue hands r over to be written once the cache has been quiet for Options.QuietDelay. A record of the same key that is still
// waiting is dropped in its favour. ErrFull: too much is waiting; ErrLimit: it can never be stored; in both cases and when the
// cache is off, Done is called with the same error.
func (c *Cache) Queue(r *Record) error {
	err := r.check()
	if err == nil {
		err = c.usable()
	}
	if err == nil {
		var old *Record
		if old, err = c.enqueue(r); old != nil {
			c.dropped(old, ErrMiss)
		}
	}
	if err != nil {
		c.dropped(r, err)
		return err
	}
	c.poke()
	return nil
}

// enqueue appends r and returns the record it replaced.
func (c *Cache) enqueue(r *Record) (old *Record, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = time.Now()
	if i := c.queue.find(r.Key); i >= 0 {
		old = c.queue.items[i].r
		c.queue.remove(i)
	}
	n := r.bytes()
	if c.queue.bytes+n > c.queue.limitBytes || len(c.queue.items) >= maxQueued {
		return old, ErrFull
	}
	c.queue.items = append(c.queue.items, queued{r, n, c.active})
	c.queue.bytes += n
	return old, nil
}

// Unqueue drops the waiting record of key, if there is one.
func (c *Cache) Unqueue(key []byte) bool {
	c.mu.Lock()
	i := c.queue.find(key)
	var r *Record
	if i >= 0 {
		r = c.queue.items[i].r
		c.queue.remove(i)
	}
	c.mu.Unlock()
	if r != nil {
		c.dropped(r, ErrMiss)
	}
	return r != nil
}
