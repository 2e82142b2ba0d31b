package persist

import (
	"encoding/binary"
	"errors"
)

// batch collects entries for one write transaction of about batchBytes. Records whose node entry is among them become visible
// when it commits; several small records share a transaction.
type batch struct {
	c       *Cache
	epoch   int // of the file it was begun on
	ops     []op
	bytes   int64
	flushes int
	staged  []staged          // records complete with these entries
	pending map[blobKey]*blob // blobs of staged records that are not in the index yet
}

type op struct{ bucket, key, value []byte }

type staged struct {
	r *Record
	n *node
}

func (c *Cache) newBatch() *batch { return &batch{c: c, epoch: c.epoch, pending: map[blobKey]*blob{}} }

func (b *batch) put(bucket, key, value []byte) {
	b.ops = append(b.ops, op{bucket, key, value})
	b.bytes += int64(len(key) + len(value))
}

func (b *batch) full() bool { return b.bytes >= batchBytes || len(b.ops) >= batchOps }

// flush commits what was collected. On failure all staged records are dropped.
func (b *batch) flush() error {
	if len(b.ops) == 0 {
		return nil
	}
	ops, staged := b.ops, b.staged
	b.ops, b.staged, b.bytes = nil, nil, 0
	b.flushes++
	if b.epoch != b.c.epoch { // the file it was meant for is gone
		b.fail(staged, ErrMiss)
		return ErrMiss
	}
	err := b.c.commitOps(ops)
	for try := 0; try < roomTries && errors.Is(err, ErrFull); try++ {
		if b.c.freeSome(min(batchBytes<<(try+1), b.c.o.DiskBudgetBytes/8)) != nil {
			break
		}
		err = b.c.commitOps(ops)
	}
	if err != nil {
		b.fail(staged, err)
		return err
	}
	b.publish(staged)
	return nil
}

func (c *Cache) commitOps(ops []op) error {
	return c.commit(c.o.Fingerprint, c.insertCap(), func(g gen) error {
		for _, o := range ops {
			if err := g.bucket(o.bucket).Put(o.key, o.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *batch) fail(staged []staged, err error) {
	for _, s := range staged {
		b.release(s.n.blobs)
		b.c.dropped(s.r, err)
	}
}

// cut takes back the entries of a record that will not be stored: those from at on, or all when the batch was flushed since.
func (b *batch) cut(at, flushes int) {
	if b.flushes != flushes {
		at = 0
	}
	for _, o := range b.ops[at:] {
		b.bytes -= int64(len(o.key) + len(o.value))
	}
	b.ops = b.ops[:at]
}

// release takes back the references of a record that will not be stored; chunks already written become garbage.
func (b *batch) release(blobs []*blob) {
	if b.epoch != b.c.epoch {
		return // the file they were in is gone
	}
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	for _, bl := range blobs {
		if b.c.index.blobs[bl.blobKey] == bl {
			if orphans := b.c.index.release([]*blob{bl}); len(orphans) > 0 { // its other records were evicted meanwhile
				b.c.toGarbage(b.c.o.Fingerprint, orphans)
				b.c.strays = append(b.c.strays, stray{bucketBlobs, blobKeyBytes(bl.blobKey)})
			}
			continue
		}
		if bl.refs--; bl.refs == 0 {
			delete(b.pending, bl.blobKey)
			b.c.toGarbage(b.c.o.Fingerprint, []*blob{bl})
		}
	}
}

// publish puts committed records into the index, in place of those with the same key.
func (b *batch) publish(staged []staged) {
	var orphans []*blob
	b.c.mu.Lock()
	for _, s := range staged {
		for _, bl := range s.n.blobs {
			if b.pending[bl.blobKey] == bl {
				delete(b.pending, bl.blobKey)
				b.c.index.addBlob(bl)
			}
		}
		if old := b.c.index.nodes[s.n.key]; old != nil {
			orphans = append(orphans, b.c.index.remove(old)...)
		}
		b.c.index.add(s.n)
		b.c.stats.Stored++
	}
	b.c.mu.Unlock()
	b.c.toGarbage(b.c.o.Fingerprint, orphans)
	for _, o := range orphans {
		b.c.strays = append(b.c.strays, stray{bucketBlobs, blobKeyBytes(o.blobKey)})
	}
	for _, s := range staged {
		s.r.done(nil)
	}
}

// chunk returns the value of chunk index of blob id: data, then a CRC-32C over its place and data.
func (c *Cache) chunk(id uint64, index uint32, data []byte) (key, value []byte, check uint32) {
	key = chunkKey(id, index)
	check = sum(where(c.o.Fingerprint, bucketChunks, key), data)
	return key, binary.BigEndian.AppendUint32(data, check), check
}
