package persist

import (
	"time"
)

// Ref names a blob: a kind chosen by the caller (page, state, ...) and a key within it.
type Ref struct {
	Kind byte
	Key  []byte
}

// Blob is one large value of a record. Its length is that of its parts together.
type Blob struct {
	Ref
	// Parts are the bytes, which may lie in several places. nil means that the blob is already stored for another record; the
	// record is refused with ErrMiss if it is not.
	Parts [][]byte
}

// Record is what is written as a whole: a node entry and its blobs. Two records that name the same blob share it; the first one's
// bytes stay, so a blob's key must determine its content. A record replaces the one of the same key and keeps its hits.
type Record struct {
	Key   []byte // 1 to 256 bytes
	Value []byte // up to 1 MiB, given back by Nodes
	Blobs []Blob

	Pinned   bool
	Priority float64     // order within the queue, highest first, after pinned ones
	Done     func(error) // called once when the record is stored (nil) or dropped; may be nil; must not block
}

func (r *Record) bytes() (n int64) {
	n = int64(len(r.Key) + len(r.Value))
	for _, b := range r.Blobs {
		n += b.bytes()
	}
	return n
}

func (b *Blob) bytes() (n int64) {
	for _, p := range b.Parts {
		n += int64(len(p))
	}
	return n
}

func (r *Record) check() error {
	if len(r.Key) == 0 || len(r.Key) > maxKeyBytes {
		return limitf("a record's key of %d bytes, not 1 to %d", len(r.Key), maxKeyBytes)
	}
	if len(r.Value) > maxNodeValueBytes {
		return limitf("a record's value of %d bytes, the limit is %d", len(r.Value), maxNodeValueBytes)
	}
	if len(r.Blobs) > maxRecordBlobs {
		return limitf("a record of %d blobs, the limit is %d", len(r.Blobs), maxRecordBlobs)
	}
	for i := range r.Blobs {
		b := &r.Blobs[i]
		if len(b.Key) == 0 || len(b.Key) > maxKeyBytes {
			return limitf("a blob's key of %d bytes, not 1 to %d", len(b.Key), maxKeyBytes)
		}
		if n := b.bytes(); n > maxBlobBytes {
			return limitf("a blob of %d bytes, the limit is %d", n, maxBlobBytes)
		}
	}
	return nil
}

func (r *Record) done(err error) {
	if r.Done != nil {
		r.Done(err)
	}
}

// Info describes a stored record.
type Info struct {
	Key       []byte
	Bytes     int64 // of its blobs and its value, shared ones included
	FreeBytes int64 // what deleting it would free: blobs that no other record names, and its value
	LastUse   time.Time
	Hits      uint64
	Pinned    bool
}

// Node is a stored record as a start reads it.
type Node struct {
	Info
	Value []byte
	Blobs []Ref
}
