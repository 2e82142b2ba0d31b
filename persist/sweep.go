package persist

import (
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"
)

// sweep is how far the search for chunks without a blob entry has come: what a kill between chunks and node leaves behind. Only ids
// below limit are looked at; those from limit on were given out since this start.
type sweep struct {
	next, limit uint64
	known       map[uint64]bool // ids with an entry when the file was opened
}

// sweepStep looks at some blob ids and deletes the chunks of those without an entry. It reports whether there is more to do. The
// caller holds writing.
func (c *Cache) sweepStep() (more bool) {
	s := &c.sweep
	if s.next >= s.limit {
		s.known = nil
		return false
	}
	var orphans []garbage
	c.fileMu.RLock()
	err := ErrOff
	if c.db != nil {
		err = c.db.view(func(tx *bbolt.Tx) error { return s.look(tx, c.o.Fingerprint, &orphans) })
	}
	c.fileMu.RUnlock()
	if errors.Is(err, ErrDamaged) {
		c.renew(err)
	}
	if err != nil {
		s.next = s.limit
		return false
	}
	c.garbage = append(c.garbage, orphans...)
	c.count(func(st *Stats) { st.OrphanBlobs += uint64(len(orphans)) })
	c.collect()
	return s.next < s.limit
}

func (s *sweep) look(tx *bbolt.Tx, fp fingerprint, orphans *[]garbage) error {
	g, ok := openGen(tx, fp)
	if !ok {
		return damagedf("a bucket is gone")
	}
	cur := g.chunks.Cursor()
	for range sweepStep {
		k, _ := cur.Seek(binary.BigEndian.AppendUint64(nil, s.next))
		if len(k) < 8 || binary.BigEndian.Uint64(k) >= s.limit {
			s.next = s.limit
			return nil
		}
		id := binary.BigEndian.Uint64(k)
		if !s.known[id] {
			*orphans = append(*orphans, garbage{fp, id})
		}
		s.next = id + 1
	}
	return nil
}
