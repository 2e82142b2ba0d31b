package persist

import (
	"context"
)

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
		err := c.commit(c.o.Fingerprint, c.deleteCap(), func(g gen) error {
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
