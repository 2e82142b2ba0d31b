package persist

import (
	"bytes"
	"encoding/binary"
)

// garbage is a blob whose chunks nobody can reach any more.
type garbage struct {
	fp fingerprint
	id uint64
}

func (c *Cache) toGarbage(fp fingerprint, blobs []*blob) {
	for _, b := range blobs {
		c.garbage = append(c.garbage, garbage{fp, b.id})
	}
}

// deleteRecords removes records and the entries of blobs that nobody else names, in one transaction; chunks follow later. The
// index forgets them first, so that no Load begins on what is about to go.
func (c *Cache) deleteRecords(nodes []*node) error {
	c.mu.Lock()
	var orphans []*blob
	for _, n := range nodes {
		if c.index.nodes[n.key] == n {
			orphans = append(orphans, c.index.remove(n)...)
		}
	}
	c.mu.Unlock()
	return c.deleteEntries(c.o.Fingerprint, nodes, orphans)
}

func (c *Cache) deleteEntries(fp fingerprint, nodes []*node, orphans []*blob) error {
	for len(nodes) > 0 || len(orphans) > 0 {
		some, few := nodes[:min(len(nodes), batchOps)], orphans[:min(len(orphans), batchOps)]
		if len(some) > 0 && len(nodes) > len(some) {
			few = nil // nodes first: a node must not outlive its blobs
		}
		err := c.commit(fp, func(g gen) error {
			for _, n := range some {
				if err := g.nodes.Delete([]byte(n.key)); err != nil {
					return err
				}
				if err := g.uses.Delete([]byte(n.key)); err != nil {
					return err
				}
			}
			for _, b := range few {
				if err := g.blobs.Delete(blobKeyBytes(b.blobKey)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.toGarbage(fp, few)
		nodes, orphans = nodes[len(some):], orphans[len(few):]
	}
	return nil
}

// collect deletes the chunks of all garbage, in steps.
func (c *Cache) collect() error {
	for len(c.garbage) > 0 {
		if err := c.collectStep(); err != nil {
			return err
		}
	}
	return nil
}

// collectStep deletes up to sweepStep chunks of the first garbage blobs.
func (c *Cache) collectStep() error {
	first, n, finished, epoch := c.garbage[0].fp, 0, 0, c.epoch
	err := c.commit(first, func(g gen) error {
		for _, w := range c.garbage {
			if w.fp != first {
				return nil
			}
			prefix := binary.BigEndian.AppendUint64(nil, w.id)
			cur := g.chunks.Cursor()
			for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Seek(prefix) {
				if n++; n > sweepStep {
					return nil
				}
				if err := cur.Delete(); err != nil {
					return err
				}
			}
			finished++
		}
		return nil
	})
	if epoch == c.epoch && err == nil {
		c.garbage = c.garbage[finished:]
	}
	return err
}

// dropCondemned deletes the records whose blobs Load found bad.
func (c *Cache) dropCondemned() {
	c.mu.Lock()
	var nodes []*node
	for _, k := range c.condemned {
		if b := c.index.blobs[k]; b != nil && b.bad {
			nodes = append(nodes, c.index.users(b)...)
		}
	}
	c.condemned = nil
	c.mu.Unlock()
	if len(nodes) > 0 {
		c.deleteRecords(nodes)
	}
}

// dropStrays deletes entries that the index does not know.
func (c *Cache) dropStrays() error {
	for len(c.strays) > 0 {
		some := c.strays[:min(len(c.strays), batchOps)]
		c.mu.Lock()
		var gone []stray
		for _, s := range some {
			if !c.index.knows(s) {
				gone = append(gone, s)
			}
		}
		c.mu.Unlock()
		err := c.commit(c.o.Fingerprint, func(g gen) error {
			for _, s := range gone {
				if err := g.bucket(s.bucket).Delete(s.key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.strays = c.strays[len(some):]
	}
	return nil
}

func (x *index) knows(s stray) bool {
	if string(s.bucket) == "blobs" {
		return len(s.key) > 0 && x.blobs[blobKey{s.key[0], string(s.key[1:])}] != nil
	}
	return x.nodes[string(s.key)] != nil
}

// tidy does the small deletions that writing left behind. The caller holds writing and has no open batch.
func (c *Cache) tidy() {
	c.dropCondemned()
	if c.dropStrays() == nil {
		c.collect()
	}
}

// Delete removes the record of key; it is no error if there is none.
func (c *Cache) Delete(key []byte) error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.unlock()
	c.mu.Lock()
	n := c.index.nodes[string(key)]
	c.mu.Unlock()
	if n == nil {
		return nil
	}
	if err := c.deleteRecords([]*node{n}); err != nil {
		return err
	}
	return c.collect()
}
