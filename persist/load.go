package persist

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

var chunkBuffers = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, chunkBytes+4)) }}

// Load hands the bytes of a blob to dst, a chunk at a time, in order; dst must not keep a chunk. A chunk is verified before it is
// handed over, the last one only when the whole is known to be right. ErrMiss: there is no such blob, or it failed verification (it
// is counted, and its records are dropped); what dst got before must then be discarded. An error of dst ends the load and is
// returned as it is.
func (c *Cache) Load(kind byte, key []byte, dst func(chunk []byte) error) error {
	b, e := c.find(blobKey{kind, string(key)})
	if b == nil {
		c.count(func(s *Stats) { s.Misses++ })
		return ErrMiss
	}
	err := c.load(e, dst)
	switch {
	case err == nil:
		c.count(func(s *Stats) { s.Hits++; s.LoadedBytes += uint64(e.length) })
	case errors.Is(err, errChunk):
		c.condemn(b)
		return ErrMiss
	}
	return err
}

// errChunk: a chunk is missing, cannot be read or is not what its entry says.
var errChunk = errors.New("bad chunk")

func (c *Cache) find(k blobKey) (*blob, blobEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = time.Now()
	b := c.index.blobs[k]
	if b == nil || b.bad || c.closed {
		return nil, blobEntry{}
	}
	return b, b.blobEntry
}

func (c *Cache) load(e blobEntry, dst func([]byte) error) error {
	buf := chunkBuffers.Get().(*bytes.Buffer)
	defer chunkBuffers.Put(buf)
	var checks []byte
	for i := range e.chunks {
		if err := c.readChunk(e.id, i, buf); err != nil {
			return errChunk
		}
		v := buf.Bytes()
		end, err := verifyChunk(c.o.Fingerprint, chunkKey(e.id, i), e, i, v)
		if err != nil {
			return err
		}
		if checks = append(checks, end...); i+1 == e.chunks && sum(checks) != e.sum {
			return errChunk
		}
		if err := dst(v[: len(v)-4 : len(v)-4]); err != nil {
			return err
		}
	}
	return nil
}

// readChunk copies one chunk out of a transaction of its own.
func (c *Cache) readChunk(id uint64, index uint32, buf *bytes.Buffer) error {
	buf.Reset()
	c.fileMu.RLock()
	defer c.fileMu.RUnlock()
	if c.db == nil {
		return ErrMiss
	}
	err := c.db.view(func(tx *bbolt.Tx) error {
		g, ok := openGen(tx, c.o.Fingerprint)
		if !ok {
			return damagedf("a bucket is gone")
		}
		v := g.chunks.Get(chunkKey(id, index))
		if v == nil || len(v) > chunkBytes+4 {
			return ErrMiss
		}
		return c.db.copyOut(tx, v, buf)
	})
	if errors.Is(err, ErrDamaged) {
		c.db.broken.Store(true)
		c.poke()
	}
	return err
}

// condemn marks a blob that failed verification; the writer deletes its records. One that was deleted meanwhile just missed.
func (c *Cache) condemn(b *blob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Misses++
	if c.index.blobs[b.blobKey] != b || b.bad || c.closed {
		return
	}
	b.bad = true
	c.stats.Bad++
	c.condemned = append(c.condemned, b.blobKey)
	c.o.Log.Warn("cache: a blob failed verification and is dropped", "file", c.path, "kind", b.kind, "bytes", b.length)
	c.poke()
}

// Nodes calls fn with every stored record, in key order, reading a few at a time. A record stored or deleted meanwhile may or may
// not be seen. An error of fn ends it and is returned.
func (c *Cache) Nodes(fn func(Node) error) error {
	var after []byte
	for {
		some, err := c.someNodes(after)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, n := range some {
			if err := fn(n); err != nil {
				return err
			}
		}
		after = some[len(some)-1].Key
	}
}

// someNodes reads up to 64 nodes with keys beyond after.
func (c *Cache) someNodes(after []byte) (out []Node, err error) {
	c.fileMu.RLock()
	defer c.fileMu.RUnlock()
	if c.db == nil {
		return nil, nil
	}
	err = c.db.view(func(tx *bbolt.Tx) error {
		g, ok := openGen(tx, c.o.Fingerprint)
		if !ok {
			return nil
		}
		cur := g.nodes.Cursor()
		for k, v := cur.Seek(append(bytes.Clone(after), 0)); k != nil && len(out) < 64; k, v = cur.Next() {
			payload, err := unseal(sealNode, where(g.fp, bucketNodes, k), v)
			if err != nil {
				continue // it was left out of the index too, or went bad since
			}
			e, err := decodeNode(payload)
			if err != nil {
				continue
			}
			c.mu.Lock()
			if n := c.index.nodes[string(k)]; n != nil {
				out = append(out, Node{n.info(), e.value, e.blobs})
			}
			c.mu.Unlock()
		}
		return nil
	})
	if errors.Is(err, ErrDamaged) {
		c.db.broken.Store(true)
		c.poke()
		err = nil
		out = nil
	}
	return out, err
}
