package tokenizer

import (
	"hash/maphash"
	"math/bits"
)

// kind says what an id is.
type kind uint8

const (
	kindNone    kind = iota // no token has this id
	kindBase                // of the vocabulary
	kindAdded               // added, visible when special tokens are skipped
	kindSpecial             // added, hidden then

	kindUnreachable // while reading: base, but outside the byte alphabet, so no piece can be it
)

// entry locates a token's bytes in the blob.
type entry struct {
	offset uint32
	size   uint16
	kind   kind
}

// vocab holds the bytes of every token, by id, and finds ids by bytes.
type vocab struct {
	blob    []byte
	entries []entry // by id

	// table finds base tokens by their bytes: open addressing, a slot is a tag from the hash, one bit that says a piece with
	// these bytes merges to this very token, and id+1. The seed is the process's own, so no file can choose collisions.
	table []uint64
	seed  maphash.Seed
}

const (
	slotIDBits = 21
	slotWhole  = 1 << slotIDBits
	slotTag    = ^uint64(slotWhole<<1 - 1)
)

func newVocab() *vocab { return &vocab{seed: maphash.MakeSeed()} }

func (v *vocab) bytes(id int32) []byte {
	e := v.entries[id]
	end := int(e.offset) + int(e.size)
	return v.blob[e.offset:end:end]
}

// grow makes room for id.
func (v *vocab) grow(id int32) {
	for int(id) >= len(v.entries) {
		v.entries = append(v.entries, entry{})
	}
}

// index makes the table large enough for n tokens at half load.
func (v *vocab) index(n int) {
	v.table = make([]uint64, 1<<bits.Len(uint(2*n)))
}

// insert puts a token in the table and returns the id that already has its bytes, or -1.
func (v *vocab) insert(id int32) int32 {
	key := v.bytes(id)
	h := maphash.Bytes(v.seed, key)
	mask := uint64(len(v.table) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		slot := v.table[at]
		if slot == 0 {
			v.table[at] = h&slotTag | uint64(id+1)
			return -1
		}
		if other := slotID(slot); (slot^h)&slotTag == 0 && string(v.bytes(other)) == string(key) {
			return other
		}
	}
}

func slotID(slot uint64) int32 { return int32(slot&(slotWhole-1)) - 1 }

// find returns the slot of the base token with these bytes, and where it is; slot 0 is none.
func (v *vocab) find(key string, h uint64) (slot uint64, at uint64) {
	mask := uint64(len(v.table) - 1)
	for at = h & mask; ; at = (at + 1) & mask {
		slot = v.table[at]
		if slot == 0 || (slot^h)&slotTag == 0 && string(v.bytes(slotID(slot))) == key {
			return slot, at
		}
	}
}

// id returns the base token with these bytes, or -1.
func (v *vocab) id(key string) int32 {
	slot, _ := v.find(key, maphash.String(v.seed, key))
	return slotID(slot)
}
