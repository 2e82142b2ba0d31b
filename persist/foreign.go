package persist

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// foreignGen are the records of another fingerprint in the same file.
type foreignGen struct {
	fp     fingerprint
	opened time.Time // when that fingerprint was last in use
	index  *index    // nil until it is needed
}

// listForeign finds the other fingerprints in the file, the longest unused first. The caller holds writing.
func (c *Cache) listForeign() []*foreignGen {
	if c.foreignListed {
		return c.foreign
	}
	c.foreignListed = true
	c.fileMu.RLock()
	defer c.fileMu.RUnlock()
	if c.db == nil {
		return nil
	}
	var out []*foreignGen
	c.db.view(func(tx *bbolt.Tx) error {
		gens := tx.Bucket(bucketGens)
		if gens == nil {
			return nil
		}
		return gens.ForEachBucket(func(k []byte) error {
			if len(k) == 32 && !bytes.Equal(k, c.o.Fingerprint[:]) {
				f := &foreignGen{fp: fingerprint(k)}
				f.opened = decodeTime(getMeta(tx, openedKey(f.fp)))
				out = append(out, f)
			}
			return nil
		})
	})
	slices.SortFunc(out, func(a, b *foreignGen) int { return a.opened.Compare(b.opened) })
	c.foreign = out
	return out
}

// expireForeign deletes a step of a fingerprint whose grace period is over. It reports whether there may be more to do.
func (c *Cache) expireForeign() bool {
	for _, f := range c.listForeign() {
		if c.o.Clock().Sub(f.opened) > c.o.Grace {
			freed, err := c.evictFrom(f, batchBytes)
			return freed && err == nil
		}
	}
	return false
}

// evictForeign frees about n bytes of another fingerprint's records, the longest unused one's first.
func (c *Cache) evictForeign(n int64) (freed bool, err error) {
	for len(c.listForeign()) > 0 && !freed && err == nil {
		freed, err = c.evictFrom(c.foreign[0], n)
	}
	return freed, err
}

// evictFrom deletes the longest unused records of f, and f's buckets when none is left.
func (c *Cache) evictFrom(f *foreignGen, n int64) (freed bool, err error) {
	if f.index == nil {
		if err := c.readForeign(f); err != nil {
			return false, err
		}
	}
	nodes := make([]*node, 0, len(f.index.nodes))
	for _, nd := range f.index.nodes {
		nodes = append(nodes, nd)
	}
	if len(nodes) == 0 {
		return true, c.dropForeign(f)
	}
	slices.SortFunc(nodes, func(a, b *node) int {
		return cmp.Or(a.lastUse.Compare(b.lastUse), cmp.Compare(a.key, b.key))
	})
	before, cut := f.index.liveBytes, 0
	var orphans []*blob
	for cut < len(nodes) && before-f.index.liveBytes < n {
		orphans = append(orphans, f.index.remove(nodes[cut])...)
		cut++
	}
	if err := c.deleteEntries(f.fp, nodes[:cut], orphans); err != nil {
		return false, err
	}
	return true, c.collect()
}

func (c *Cache) readForeign(f *foreignGen) error {
	c.fileMu.RLock()
	if c.db == nil {
		c.fileMu.RUnlock()
		return ErrOff
	}
	l, err := readIndex(c.db, f.fp)
	c.fileMu.RUnlock()
	if errors.Is(err, ErrDamaged) {
		c.renew(err)
	}
	if err == nil {
		f.index = l.index
	}
	return err
}

// dropForeign deletes what is left of f: chunks without an entry, step by step, then its buckets.
func (c *Cache) dropForeign(f *foreignGen) error {
	for more := true; more; {
		err := c.commit(f.fp, c.deleteCap(), func(g gen) error {
			cur, n := g.chunks.Cursor(), 0
			for k, _ := cur.First(); k != nil && n < sweepStep; k, _ = cur.First() {
				if err := cur.Delete(); err != nil {
					return err
				}
				n++
			}
			if more = n == sweepStep; more {
				return nil
			}
			tx := g.chunks.Tx()
			if err := tx.Bucket(bucketMeta).Delete(openedKey(f.fp)); err != nil {
				return err
			}
			return tx.Bucket(bucketGens).DeleteBucket(f.fp[:])
		})
		if err != nil {
			return err
		}
	}
	c.foreign = slices.DeleteFunc(c.foreign, func(g *foreignGen) bool { return g == f })
	c.o.Log.Info("cache: records of an old fingerprint deleted", "file", c.path, "lastUsed", f.opened)
	return nil
}
