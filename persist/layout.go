package persist

import (
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"
)

// cacheSchema is the version of the layout described in the package comment. A change of layout takes a new number; a cache of a
// lower one is renewed, of a higher one left alone.
const cacheSchema = 1

var (
	bucketGens   = []byte("gens")
	bucketNodes  = []byte("nodes")
	bucketUses   = []byte("uses")
	bucketBlobs  = []byte("blobs")
	bucketChunks = []byte("chunks")

	keySchema = []byte("schema")
	keyDay    = []byte("day")
)

type fingerprint = [32]byte

// gen is the bucket of one fingerprint within a transaction.
type gen struct {
	fp                         fingerprint
	nodes, uses, blobs, chunks *bbolt.Bucket
}

// openGen returns the buckets of fp; ok is false when one is missing.
func openGen(tx *bbolt.Tx, fp fingerprint) (g gen, ok bool) {
	gens := tx.Bucket(bucketGens)
	if gens == nil {
		return g, false
	}
	b := gens.Bucket(fp[:])
	if b == nil {
		return g, false
	}
	g = gen{fp, b.Bucket(bucketNodes), b.Bucket(bucketUses), b.Bucket(bucketBlobs), b.Bucket(bucketChunks)}
	return g, g.nodes != nil && g.uses != nil && g.blobs != nil && g.chunks != nil
}

func makeGen(tx *bbolt.Tx, fp fingerprint) error {
	gens, err := tx.CreateBucketIfNotExists(bucketGens)
	if err != nil {
		return err
	}
	b, err := gens.CreateBucketIfNotExists(fp[:])
	if err != nil {
		return err
	}
	for _, name := range [][]byte{bucketNodes, bucketUses, bucketBlobs, bucketChunks} {
		if _, err := b.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

func (g gen) bucket(name []byte) *bbolt.Bucket {
	switch string(name) {
	case "nodes":
		return g.nodes
	case "uses":
		return g.uses
	case "blobs":
		return g.blobs
	}
	return g.chunks
}

// where is what an entry's checksum is bound to.
func where(fp fingerprint, bucket, key []byte) []byte { return place(fp[:], bucket, key) }

func metaPlace(key []byte) []byte { return place(bucketMeta, key) }

func putMeta(tx *bbolt.Tx, key, payload []byte) error {
	return tx.Bucket(bucketMeta).Put(key, seal(sealMeta, metaPlace(key), payload))
}

// getMeta returns nil when there is no such entry or it is damaged.
func getMeta(tx *bbolt.Tx, key []byte) []byte {
	b := tx.Bucket(bucketMeta)
	if b == nil {
		return nil
	}
	payload, err := unseal(sealMeta, metaPlace(key), b.Get(key))
	if err != nil {
		return nil
	}
	return payload
}

func openedKey(fp fingerprint) []byte { return append([]byte("opened-"), fp[:]...) }

func encodeTime(t time.Time) []byte { return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli())) }

func decodeTime(b []byte) time.Time {
	if len(b) != 8 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b)))
}

// encodeUse is last use 8 (ms), hits 8, pinned 1.
func encodeUse(lastUse time.Time, hits uint64, pinned bool) []byte {
	b := binary.BigEndian.AppendUint64(encodeTime(lastUse), hits)
	if pinned {
		return append(b, 1)
	}
	return append(b, 0)
}

func decodeUse(b []byte) (lastUse time.Time, hits uint64, pinned, ok bool) {
	if len(b) != 17 || b[16] > 1 {
		return time.Time{}, 0, false, false
	}
	return decodeTime(b[:8]), binary.BigEndian.Uint64(b[8:]), b[16] == 1, true
}

func blobKeyBytes(k blobKey) []byte { return append([]byte{k.kind}, k.key...) }

// fillCache makes a new cache file's buckets.
func fillCache(tx *bbolt.Tx, fp fingerprint, now time.Time) error {
	if _, err := tx.CreateBucketIfNotExists(bucketMeta); err != nil {
		return err
	}
	if err := putMeta(tx, keySchema, []byte{cacheSchema}); err != nil {
		return err
	}
	if err := putMeta(tx, openedKey(fp), encodeTime(now)); err != nil {
		return err
	}
	return makeGen(tx, fp)
}
