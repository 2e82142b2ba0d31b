package persist

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Every value except chunks is sealed: version 1, kind 1, payload length 4, payload, CRC-32C 4, integers big-endian. The checksum
// covers the header, the place the value belongs to (fingerprint, bucket, key) and the payload.
const (
	sealVersion  = 1
	sealHead     = 6
	sealOverhead = sealHead + 4
)

// Kinds of sealed values.
const (
	sealSetting = iota + 1
	sealResult
	sealNode
	sealBlob
	sealUse
	sealMeta
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(parts ...[]byte) uint32 {
	var c uint32
	for _, p := range parts {
		c = crc32.Update(c, castagnoli, p)
	}
	return c
}

// place joins what a value's checksum is bound to; lengths keep ("ab", "c") and ("a", "bc") apart.
func place(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
		out = append(out, p...)
	}
	return out
}

func seal(kind byte, where, payload []byte) []byte {
	b := make([]byte, 0, len(payload)+sealOverhead)
	b = append(b, sealVersion, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	return binary.BigEndian.AppendUint32(b, sum(b[:sealHead], where, payload))
}

// unseal returns the payload of b, which it does not copy.
func unseal(kind byte, where, b []byte) ([]byte, error) {
	if len(b) < sealOverhead {
		return nil, damagedf("a value of %d bytes", len(b))
	}
	payload, end := b[sealHead:len(b)-4], b[len(b)-4:]
	if binary.BigEndian.Uint32(end) != sum(b[:sealHead], where, payload) {
		return nil, damagedf("a value's checksum does not match")
	}
	if b[0] != sealVersion || b[1] != kind || binary.BigEndian.Uint32(b[2:]) != uint32(len(payload)) {
		return nil, damagedf("a value of version %d, kind %d, length %d is out of place", b[0], b[1], binary.BigEndian.Uint32(b[2:]))
	}
	return payload, nil
}

// nodeEntry is a record's node as stored.
type nodeEntry struct {
	value []byte
	blobs []Ref
}

func (n nodeEntry) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(n.blobs)))
	for _, r := range n.blobs {
		b = append(b, r.Kind)
		b = binary.AppendUvarint(b, uint64(len(r.Key)))
		b = append(b, r.Key...)
	}
	return append(b, n.value...)
}

// decodeNode reads a node's payload. What it returns is a copy.
func decodeNode(b []byte) (nodeEntry, error) {
	count, used := binary.Uvarint(b)
	if used <= 0 || count > maxRecordBlobs {
		return nodeEntry{}, damagedf("a node with %d blobs", count)
	}
	b = b[used:]
	var n nodeEntry
	for range count {
		if len(b) < 2 {
			return nodeEntry{}, damagedf("a node ends in its list of blobs")
		}
		kind := b[0]
		size, used := binary.Uvarint(b[1:])
		if used <= 0 || size == 0 || size > maxKeyBytes || size > uint64(len(b)-1-used) {
			return nodeEntry{}, damagedf("a node names a blob by a key of %d bytes", size)
		}
		b = b[1+used:]
		n.blobs = append(n.blobs, Ref{Kind: kind, Key: slices.Clone(b[:size])})
		b = b[size:]
	}
	if len(b) > maxNodeValueBytes {
		return nodeEntry{}, damagedf("a node's value of %d bytes", len(b))
	}
	n.value = slices.Clone(b)
	return n, nil
}

// blobEntry is a blob's entry as stored: 24 bytes, big-endian.
type blobEntry struct {
	id     uint64
	length int64
	chunks uint32
	sum    uint32 // CRC-32C over the chunks' own checksums, in order
}

func (e blobEntry) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, e.id)
	b = binary.BigEndian.AppendUint64(b, uint64(e.length))
	b = binary.BigEndian.AppendUint32(b, e.chunks)
	return binary.BigEndian.AppendUint32(b, e.sum)
}

func decodeBlob(b []byte) (blobEntry, error) {
	if len(b) != 24 {
		return blobEntry{}, damagedf("a blob entry of %d bytes", len(b))
	}
	e := blobEntry{binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:])), binary.BigEndian.Uint32(b[16:]),
		binary.BigEndian.Uint32(b[20:])}
	if e.length < 0 || e.length > maxBlobBytes || int64(e.chunks) != chunksOf(e.length) {
		return blobEntry{}, damagedf("a blob of %d bytes in %d chunks", e.length, e.chunks)
	}
	return e, nil
}

func chunksOf(length int64) int64 { return (length + chunkBytes - 1) / chunkBytes }

// chunkKey is blob id 8, index 4, big-endian: a blob's chunks are neighbours, in order.
func chunkKey(id uint64, index uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, id), index)
}
