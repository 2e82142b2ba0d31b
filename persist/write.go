package persist

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
)

// Put writes r now and returns when it is stored or dropped. Most callers want Queue.
func (c *Cache) Put(ctx context.Context, r *Record) error {
	if err := r.check(); err != nil {
		c.dropped(r, err)
		return err
	}
	if err := c.lock(); err != nil {
		c.dropped(r, err)
		return err
	}
	defer c.unlock()
	var result error
	own := *r
	own.Done = func(err error) { result = err; r.done(err) }
	b := c.newBatch()
	c.write(ctx, b, &own)
	b.flush()
	c.tidy()
	return result
}

// dropped tells a record's owner that it is not stored.
func (c *Cache) dropped(r *Record, err error) {
	c.count(func(s *Stats) { s.Dropped++ })
	r.done(err)
}

// write adds r to the batch, flushing it as it fills. r's Done is called now if it is dropped, or when the batch commits.
func (c *Cache) write(ctx context.Context, b *batch, r *Record) {
	c.dropCondemned()
	if b.epoch != c.epoch {
		c.dropped(r, ErrMiss) // the file was replaced; so rare that the record need not be kept
		return
	}
	n, fresh, err := c.stage(b, r)
	if err != nil {
		c.dropped(r, err)
		return
	}
	at, flushes := len(b.ops), b.flushes
	err = c.makeRoom(b, freshBytes(fresh)+costOfNode(len(r.Value)))
	for i := 0; i < len(fresh) && err == nil; i++ {
		err = c.writeChunks(ctx, b, fresh[i])
	}
	if err == nil && b.epoch != c.epoch {
		err = ErrMiss // the file was replaced under us
	}
	if err != nil {
		b.cut(at, flushes)
		b.release(n.blobs)
		c.dropped(r, err)
		return
	}
	for _, f := range fresh {
		key := blobKeyBytes(f.blobKey)
		b.put(bucketBlobs, key, seal(sealBlob, where(c.o.Fingerprint, bucketBlobs, key), f.encode()))
	}
	c.finish(b, r, n)
	if b.full() {
		b.flush()
	}
}

// finish adds the entries that make r exist, the node's last.
func (c *Cache) finish(b *batch, r *Record, n *node) {
	key := []byte(n.key)
	e := nodeEntry{value: r.Value}
	for _, bl := range n.blobs {
		e.blobs = append(e.blobs, bl.ref())
	}
	value := seal(sealNode, where(c.o.Fingerprint, bucketNodes, key), e.encode())
	n.bytes = costOfNode(len(value))
	use := encodeUse(n.lastUse, n.hits, n.pinned)
	b.put(bucketUses, key, seal(sealUse, where(c.o.Fingerprint, bucketUses, key), use))
	b.put(bucketNodes, key, value)
	b.staged = append(b.staged, staged{r, n})
}

// freshBlob is a blob to be written and its bytes.
type freshBlob struct {
	*blob
	parts [][]byte
}

func freshBytes(fresh []freshBlob) (n int64) {
	for _, f := range fresh {
		n += f.cost()
	}
	return n
}

// stage finds which of r's blobs are stored already and takes a reference to each, so that making room does not remove them.
func (c *Cache) stage(b *batch, r *Record) (*node, []freshBlob, error) {
	n := &node{key: string(r.Key), pinned: r.Pinned, lastUse: c.o.Clock()}
	c.mu.Lock()
	if old := c.index.nodes[n.key]; old != nil {
		n.hits = old.hits
	}
	c.mu.Unlock()
	var fresh []freshBlob
	for i := range r.Blobs {
		bl, isFresh, err := c.stageBlob(b, &r.Blobs[i])
		if err != nil {
			b.release(n.blobs)
			return nil, nil, err
		}
		n.blobs = append(n.blobs, bl)
		if isFresh {
			fresh = append(fresh, freshBlob{bl, r.Blobs[i].Parts})
		}
	}
	return n, fresh, nil
}

func (c *Cache) stageBlob(b *batch, in *Blob) (bl *blob, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bl = c.index.blobs[in.index()]
	if bl == nil {
		bl = b.pending[in.index()]
	}
	length := in.bytes()
	switch {
	case bl == nil && in.Parts == nil:
		return nil, false, fmt.Errorf("%w: blob %d/%x is not stored and came without bytes", ErrMiss, in.Kind, in.Key)
	case bl != nil && in.Parts != nil && bl.length != length:
		return nil, false, limitf("blob %d/%x has %d bytes, the one stored has %d", in.Kind, in.Key, length, bl.length)
	case bl == nil:
		bl = &blob{blobKey: in.index(), blobEntry: blobEntry{id: c.nextBlob, length: length, chunks: uint32(chunksOf(length))}}
		c.nextBlob++
		b.pending[bl.blobKey] = bl
		fresh = true
	}
	bl.refs++
	return bl, fresh, nil
}

// writeChunks adds f's chunks to the batch and works out its checksum.
func (c *Cache) writeChunks(ctx context.Context, b *batch, f freshBlob) error {
	parts, checks := slices.Clone(f.parts), []byte(nil)
	for index := range f.chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		size := int(min(chunkBytes, f.length-int64(index)*chunkBytes))
		data := make([]byte, 0, size+4)
		for len(data) < size {
			n := min(size-len(data), len(parts[0]))
			data = append(data, parts[0][:n]...)
			if parts[0] = parts[0][n:]; len(parts[0]) == 0 {
				parts = parts[1:]
			}
		}
		key, value, check := c.chunk(f.id, index, data)
		checks = binary.BigEndian.AppendUint32(checks, check)
		b.put(bucketChunks, key, value)
		if b.full() {
			if err := b.flush(); err != nil {
				return err
			}
		}
	}
	f.sum = sum(checks)
	return nil
}
