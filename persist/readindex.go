package persist

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// loaded is what a start reads of one fingerprint: entries, not chunks.
type loaded struct {
	index    *index
	nextBlob uint64
	ids      map[uint64]bool // of blobs with an entry that is named
	strays   []stray         // entries to delete: damaged, incomplete or named by nobody
	bad      int
}

type stray struct{ bucket, key []byte }

// readIndex reads the node, use and blob entries of fp. Entries that fail verification, and nodes whose blobs are not all there,
// are left out.
func readIndex(f *file, fp fingerprint) (l loaded, err error) {
	l.index = new(index)
	l.index.reset()
	err = f.view(func(tx *bbolt.Tx) error {
		g, ok := openGen(tx, fp)
		if !ok {
			return damagedf("%s lacks a bucket of fingerprint %x", f.path, fp[:4])
		}
		blobs := l.readBlobs(g)
		l.readNodes(g, blobs)
		l.ids = map[uint64]bool{}
		for k, b := range blobs {
			if b.refs == 0 {
				l.stray(bucketBlobs, blobKeyBytes(k))
				continue
			}
			l.ids[b.id] = true
		}
		l.readUses(g)
		if k, _ := g.chunks.Cursor().Last(); len(k) == 12 {
			l.nextBlob = max(l.nextBlob, binary.BigEndian.Uint64(k)+1)
		}
		return nil
	})
	return l, err
}

func (l *loaded) stray(bucket, key []byte) {
	l.strays = append(l.strays, stray{bucket, append([]byte(nil), key...)})
}

func (l *loaded) readBlobs(g gen) map[blobKey]*blob {
	blobs := map[blobKey]*blob{}
	ids := map[uint64]bool{}
	c := g.blobs.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		payload, err := unseal(sealBlob, where(g.fp, bucketBlobs, k), v)
		var e blobEntry
		if err == nil {
			e, err = decodeBlob(payload)
		}
		if err != nil || len(k) < 2 || ids[e.id] {
			l.bad++
			l.stray(bucketBlobs, k)
			continue
		}
		ids[e.id] = true
		l.nextBlob = max(l.nextBlob, e.id+1)
		bk := blobKey{k[0], string(k[1:])}
		blobs[bk] = &blob{blobKey: bk, blobEntry: e}
	}
	return blobs
}

func (l *loaded) readNodes(g gen, blobs map[blobKey]*blob) {
	c := g.nodes.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		payload, err := unseal(sealNode, where(g.fp, bucketNodes, k), v)
		var e nodeEntry
		if err == nil {
			e, err = decodeNode(payload)
		}
		n := &node{key: string(k), bytes: costOfNode(len(v))}
		for _, r := range e.blobs {
			b := blobs[r.index()]
			if b == nil {
				err = ErrMiss
				break
			}
			n.blobs = append(n.blobs, b)
		}
		if err != nil {
			l.bad++
			l.stray(bucketNodes, k)
			continue
		}
		for _, b := range n.blobs {
			if b.refs++; b.refs == 1 {
				l.index.addBlob(b)
			}
		}
		l.index.add(n)
	}
}

func (l *loaded) readUses(g gen) {
	c := g.uses.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		n := l.index.nodes[string(k)]
		payload, err := unseal(sealUse, where(g.fp, bucketUses, k), v)
		if err == nil {
			lastUse, hits, pinned, ok := decodeUse(payload)
			if ok && n != nil {
				n.lastUse, n.hits, n.pinned = lastUse, hits, pinned
				continue
			}
		}
		l.stray(bucketUses, k)
	}
}
