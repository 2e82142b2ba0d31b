package persist

import (
	"encoding/binary"
	"hash/fnv"
	"os"
)

// The layout of bbolt's meta pages (go.etcd.io/bbolt internal/common: page.go, meta.go), native byte order: a page header of 16
// bytes (id 8, flags 2, count 2, overflow 4), then magic 4, version 4, page size 4, flags 4, root bucket (page 8, sequence 8),
// freelist page 8, high-water mark 8, transaction id 8, FNV-1a over all before it 8.
const (
	pageHeaderBytes = 16
	metaBytes       = 64
	boltMagic       = 0xED0CDAED
	boltVersion     = 2
	noFreelist      = ^uint64(0)
)

type boltMeta struct {
	slot     int // 0 or 1: the page it was read from
	pageSize int
	root     uint64
	freelist uint64
	highest  uint64 // pages at or above are unused
	txid     uint64
}

func parseMeta(b []byte, slot int) (boltMeta, bool) {
	if len(b) < pageHeaderBytes+metaBytes {
		return boltMeta{}, false
	}
	b = b[pageHeaderBytes:]
	e := binary.NativeEndian
	h := fnv.New64a()
	h.Write(b[:56])
	if e.Uint32(b) != boltMagic || e.Uint32(b[4:]) != boltVersion || e.Uint64(b[56:]) != h.Sum64() {
		return boltMeta{}, false
	}
	m := boltMeta{slot: slot, pageSize: int(e.Uint32(b[8:])), root: e.Uint64(b[16:]), freelist: e.Uint64(b[32:]),
		highest: e.Uint64(b[40:]), txid: e.Uint64(b[48:])}
	return m, m.pageSize >= 1024 && m.pageSize <= 1<<24 && m.pageSize&(m.pageSize-1) == 0
}

func readMeta(f *os.File, offset int64, slot int) (boltMeta, bool) {
	var b [pageHeaderBytes + metaBytes]byte
	if _, err := f.ReadAt(b[:], offset); err != nil {
		return boltMeta{}, false
	}
	return parseMeta(b[:], slot)
}

// readMetas returns the valid metas, the newest first. The second page's place depends on the page size, which is searched for
// when the first page is gone, as bbolt does.
func readMetas(f *os.File) []boltMeta {
	var ms []boltMeta
	first, ok := readMeta(f, 0, 0)
	if ok {
		ms = append(ms, first)
		if m, ok := readMeta(f, int64(first.pageSize), 1); ok && m.pageSize == first.pageSize {
			ms = append(ms, m)
		}
	} else {
		for size := int64(1024); size <= 1<<24; size <<= 1 {
			if m, ok := readMeta(f, size, 1); ok && int64(m.pageSize) == size {
				ms = append(ms, m)
				break
			}
		}
	}
	if len(ms) == 2 && ms[1].txid > ms[0].txid {
		ms[0], ms[1] = ms[1], ms[0]
	}
	return ms
}

// settle makes bbolt open a sound tree: if the newest meta's tree is broken but the older one's is whole, as after a power cut on
// a disk that reordered writes, the newest meta page is wiped. Copy on write kept the older tree's pages. It reports whether it
// stepped back; before is called first, and its error ends the attempt.
func settle(f *os.File, readOnly bool, before func() error) (steppedBack bool, err error) {
	ms := readMetas(f)
	if len(ms) == 0 {
		return false, damagedf("%s has no valid meta page", f.Name())
	}
	err = walkFile(f, ms[0], nil)
	if err == nil || readOnly || len(ms) == 1 || walkFile(f, ms[1], nil) != nil {
		return false, err
	}
	if before != nil {
		if err := before(); err != nil {
			return false, err
		}
	}
	if _, err := f.WriteAt(make([]byte, ms[0].pageSize), int64(ms[0].slot*ms[0].pageSize)); err != nil {
		return false, err
	}
	return true, f.Sync()
}
