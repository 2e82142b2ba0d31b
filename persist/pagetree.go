package persist

import (
	"encoding/binary"
	"slices"
)

type branchEntry struct {
	key   []byte
	child uint64
}

func (w *pageWalk) branch(p page, first, max []byte, depth int) ([]byte, error) {
	entries := make([]branchEntry, p.count)
	for i := range entries {
		at := int64(pageHeaderBytes + i*elementBytes)
		el, err := w.bytes(p, at, elementBytes)
		if err != nil {
			return nil, err
		}
		e := binary.NativeEndian
		key, err := w.bytes(p, at+int64(e.Uint32(el)), int64(e.Uint32(el[4:])))
		if err != nil {
			return nil, err
		}
		entries[i] = branchEntry{slices.Clone(key), e.Uint64(el[8:])}
	}
	var last []byte // of the children so far
	for i, en := range entries {
		if !inOrder(i, en.key, first, last, max) {
			return nil, damagedf("page %d: key %d is out of order", p.id, i)
		}
		below := max
		if i+1 < len(entries) {
			below = entries[i+1].key
		}
		end, err := w.tree(en.child, en.key, below, depth+1)
		if err != nil {
			return nil, err
		}
		last = end
	}
	return last, nil
}

func (w *pageWalk) leaf(p page, first, max []byte, depth int) ([]byte, error) {
	if p.count == 0 && first != nil {
		return nil, damagedf("page %d is empty", p.id) // only a bucket's root may be
	}
	var last []byte
	for i := range p.count {
		at := int64(pageHeaderBytes + i*elementBytes)
		el, err := w.bytes(p, at, elementBytes)
		if err != nil {
			return nil, err
		}
		e := binary.NativeEndian
		flags, pos := e.Uint32(el), at+int64(e.Uint32(el[4:]))
		keyBytes, valueBytes := int64(e.Uint32(el[8:])), int64(e.Uint32(el[12:]))
		key, err := w.bytes(p, pos, keyBytes)
		if err != nil {
			return nil, err
		}
		if !inOrder(i, key, first, last, max) {
			return nil, damagedf("page %d: key %d is out of order", p.id, i)
		}
		last = slices.Clone(key)
		if pos+keyBytes+valueBytes > p.size {
			return nil, damagedf("page %d: value %d ends outside of it", p.id, i)
		}
		if flags&^uint32(bucketEntry) != 0 {
			return nil, damagedf("page %d: entry %d has flags %#x", p.id, i, flags)
		}
		if flags&bucketEntry != 0 {
			if err := w.bucketValue(p, pos+keyBytes, valueBytes, depth); err != nil {
				return nil, err
			}
		}
	}
	return last, nil
}

// bucketValue checks the value of a bucket entry: a root page, or the bucket's only page inline.
func (w *pageWalk) bucketValue(p page, offset, n int64, depth int) error {
	if n < bucketBytes {
		return damagedf("page %d: a bucket of %d bytes", p.id, n)
	}
	b, err := w.bytes(p, offset, n)
	if err != nil {
		return err
	}
	if root := binary.NativeEndian.Uint64(b); root != 0 {
		return w.bucket(root, depth+1)
	}
	if n < bucketBytes+pageHeaderBytes {
		return damagedf("page %d: an inline bucket of %d bytes", p.id, n)
	}
	in := page{id: p.id, head: b[bucketBytes:], size: n - bucketBytes}
	in.flags = binary.NativeEndian.Uint16(in.head[8:])
	in.count = int(binary.NativeEndian.Uint16(in.head[10:]))
	if in.flags != leafPage {
		return damagedf("page %d: an inline bucket of type %#x", p.id, in.flags)
	}
	return w.inlineLeaf(in)
}

// inlineLeaf checks an inline bucket's page; bbolt never nests buckets inside one.
func (w *pageWalk) inlineLeaf(p page) error {
	var last []byte
	for i := range p.count {
		at := int64(pageHeaderBytes + i*elementBytes)
		el, err := w.bytes(p, at, elementBytes)
		if err != nil {
			return err
		}
		e := binary.NativeEndian
		key, err := w.bytes(p, at+int64(e.Uint32(el[4:])), int64(e.Uint32(el[8:])))
		if err != nil {
			return err
		}
		if _, err := w.bytes(p, at+int64(e.Uint32(el[4:]))+int64(len(key)), int64(e.Uint32(el[12:]))); err != nil {
			return err
		}
		if e.Uint32(el) != 0 || !inOrder(i, key, nil, last, nil) {
			return damagedf("page %d: entry %d of an inline bucket is wrong", p.id, i)
		}
		last = key
	}
	return nil
}

// freelist checks a stored list of free pages, which our files have only when another tool wrote them. A count of 0xFFFF means
// that the first entry holds the count (bbolt internal/freelist).
func (w *pageWalk) freelist(id uint64) error {
	p, err := w.read(id)
	if err != nil {
		return err
	}
	if p.flags != freelistPage {
		return damagedf("page %d has type %#x, not a list of free pages", id, p.flags)
	}
	e := binary.NativeEndian
	at, count := int64(pageHeaderBytes), int64(p.count)
	if count == 0xFFFF {
		b, err := w.bytes(p, at, 8)
		if err != nil {
			return err
		}
		at, count = at+8, int64(e.Uint64(b))
	}
	if count < 0 || count > p.size/8 {
		return damagedf("page %d lists %d free pages", id, count)
	}
	b, err := w.bytes(p, at, count*8)
	if err != nil {
		return err
	}
	for i := range count {
		free := e.Uint64(b[i*8:])
		if free < 2 || free >= w.meta.highest || !w.mark(free) {
			return damagedf("page %d lists page %d as free", id, free)
		}
	}
	return nil
}
