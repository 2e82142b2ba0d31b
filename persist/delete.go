package persist

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
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
		err := c.commit(fp, c.deleteCap(), func(g gen) error {
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

// collectStep deletes up to sweepStep chunks of up to deleteRuns runs of neighbouring blobs.
func (c *Cache) collectStep() error {
	slices.SortFunc(c.garbage, func(a, b garbage) int {
		return cmp.Or(bytes.Compare(a.fp[:], b.fp[:]), cmp.Compare(a.id, b.id))
	})
	runs, n, finished, epoch := 0, 0, 0, c.epoch
	err := c.commit(c.garbage[0].fp, c.deleteCap(), func(g gen) error {
		for i, w := range c.garbage {
			if w.fp != g.fp {
				return nil
			}
			if i == 0 || w.id != c.garbage[i-1].id+1 {
				if runs++; runs > deleteRuns {
					return nil
				}
			}
			done, err := deleteChunks(g, w.id, &n)
			if !done || err != nil {
				return err
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

// deleteChunks deletes the chunks of blob id, counting them in n; done is false when n reached sweepStep before the end.
func deleteChunks(g gen, id uint64, n *int) (done bool, err error) {
	prefix := binary.BigEndian.AppendUint64(nil, id)
	cur := g.chunks.Cursor()
	for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Seek(prefix) {
		if *n == sweepStep {
			return false, nil
		}
		*n++
		if err := cur.Delete(); err != nil {
			return false, err
		}
	}
	return true, nil
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
