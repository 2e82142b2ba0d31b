package persist

import (
	"bytes"
	"encoding/binary"
	"os"
)

const (
	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	bucketEntry  = 0x01
	elementBytes = 16 // branch: key position 4, key size 4, page 8; leaf: flags 4, position 4, key size 4, value size 4
	bucketBytes  = 16 // root page 8, sequence 8; root 0 means that the bucket's only page follows inline
)

// pageWalk checks that every page reachable from a meta page makes sense: ids, types, bounds, key order, no page used twice. It
// reads with pread, so a bad file gives an error and never a fault, and it allocates by the file's size, not by what pages claim.
type pageWalk struct {
	f     *os.File
	meta  boltMeta
	pages uint64 // pages in the file
	seen  []uint64
	used  uint64
}

// pageUse says how many of a file's pages are reachable.
type pageUse struct{ used, highest, pageSize uint64 }

// walkFile checks the tree of meta m. bbolt's own scan panics on the first thing wrong; this one must refuse at least as much.
func walkFile(f *os.File, m boltMeta, use *pageUse) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	w := &pageWalk{f: f, meta: m, pages: uint64(st.Size()) / uint64(m.pageSize)}
	if m.highest < 3 || m.highest > w.pages {
		return damagedf("meta %d counts %d pages, the file has %d", m.slot, m.highest, w.pages)
	}
	w.seen = make([]uint64, m.highest/64+1)
	w.mark(0)
	w.mark(1)
	if err := w.bucket(m.root, 0); err != nil {
		return err
	}
	if use != nil {
		*use = pageUse{w.used, m.highest, uint64(m.pageSize)}
	}
	if m.freelist != noFreelist {
		return w.freelist(m.freelist)
	}
	return nil
}

func (w *pageWalk) mark(id uint64) bool {
	if w.seen[id/64]&(1<<(id%64)) != 0 {
		return false
	}
	w.seen[id/64] |= 1 << (id % 64)
	w.used++
	return true
}

// page is a page's header and as much of its bytes as fit into one page; the rest is read when asked for.
type page struct {
	id    uint64
	flags uint16
	count int
	size  int64 // with overflow
	head  []byte
}

func (w *pageWalk) read(id uint64) (page, error) {
	if id < 2 || id >= w.meta.highest {
		return page{}, damagedf("page %d is outside the %d pages in use", id, w.meta.highest)
	}
	head := make([]byte, w.meta.pageSize)
	if _, err := w.f.ReadAt(head, int64(id)*int64(w.meta.pageSize)); err != nil {
		return page{}, damagedf("page %d cannot be read: %v", id, err)
	}
	e := binary.NativeEndian
	p := page{id: id, flags: e.Uint16(head[8:]), count: int(e.Uint16(head[10:])), head: head}
	overflow := uint64(e.Uint32(head[12:]))
	if got := e.Uint64(head); got != id {
		return page{}, damagedf("page %d says it is page %d", id, got)
	}
	if id+overflow >= w.meta.highest {
		return page{}, damagedf("page %d overflows past the end by %d pages", id, overflow)
	}
	p.size = int64(overflow+1) * int64(w.meta.pageSize)
	for i := range overflow + 1 {
		if !w.mark(id + i) {
			return page{}, damagedf("page %d is used twice", id+i)
		}
	}
	return p, nil
}

// bytes returns n bytes at offset of page p.
func (w *pageWalk) bytes(p page, offset, n int64) ([]byte, error) {
	if offset < 0 || n < 0 || offset+n > p.size {
		return nil, damagedf("page %d: an element lies outside of it", p.id)
	}
	if offset+n <= int64(len(p.head)) {
		return p.head[offset : offset+n], nil
	}
	b := make([]byte, n)
	if _, err := w.f.ReadAt(b, int64(p.id)*int64(w.meta.pageSize)+offset); err != nil {
		return nil, damagedf("page %d cannot be read: %v", p.id, err)
	}
	return b, nil
}

func (w *pageWalk) bucket(root uint64, depth int) error {
	_, err := w.tree(root, nil, nil, depth)
	return err
}

// tree checks the page id and all below it: keys ascend, the first is the one its parent has for it, all are below max (nil: no
// bound). It returns the last key. bbolt's own check lets a child begin later than its parent says; but a write then adds a second
// entry to the parent, where it means to replace the first, and leaves a freed page in the tree.
func (w *pageWalk) tree(id uint64, first, max []byte, depth int) ([]byte, error) {
	if depth > maxPageDepth {
		return nil, damagedf("page %d is %d levels deep", id, depth)
	}
	p, err := w.read(id)
	if err != nil {
		return nil, err
	}
	switch {
	case p.flags == branchPage && p.count > 0:
		return w.branch(p, first, max, depth)
	case p.flags == leafPage:
		return w.leaf(p, first, max, depth)
	}
	return nil, damagedf("page %d has type %#x with %d entries", id, p.flags, p.count)
}

// inOrder reports whether key i of a page is in its place: the first equals want unless that is nil, others are above last.
func inOrder(i int, key, want, last, max []byte) bool {
	if i == 0 && want != nil && !bytes.Equal(key, want) || i > 0 && bytes.Compare(last, key) >= 0 {
		return false
	}
	return max == nil || bytes.Compare(key, max) < 0
}
