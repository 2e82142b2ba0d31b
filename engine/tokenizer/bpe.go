package tokenizer

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
)

const noRank = ^uint32(0)

// merges knows which adjacent tokens join, in what order, and into what.
type merges struct {
	// slots is an open-addressing table of pairs: left id (20 bits), right id (20), rank+1 (24).
	slots []uint64
	// multiplier of the hash is random and odd, so no file can choose collisions.
	multiplier uint64
	shift      uint
	joined     []int32 // by rank

	byteID    [256]int32
	byteRanks []uint32 // ranks of pairs of single bytes, 256*left+right: the first look at every pair of a piece
}

func newMerges(n int) *merges {
	size := bits.Len(uint(2 * n))
	return &merges{
		slots:      make([]uint64, 1<<size),
		multiplier: rand.Uint64() | 1,
		shift:      uint(64 - size),
		joined:     make([]int32, 0, n),
	}
}

func (m *merges) slot(pair uint64) uint64 { return (pair * m.multiplier) >> m.shift }

// add appends the next rank; false means the pair has one already.
func (m *merges) add(left, right, joined int32) bool {
	pair := uint64(left)<<44 | uint64(right)<<24
	mask := uint64(len(m.slots) - 1)
	at := m.slot(pair)
	for ; m.slots[at] != 0; at = (at + 1) & mask {
		if m.slots[at]>>24 == pair>>24 {
			return false
		}
	}
	m.joined = append(m.joined, joined)
	m.slots[at] = pair | uint64(len(m.joined))
	return true
}

// rank of joining two tokens, or noRank.
func (m *merges) rank(left, right int32) uint32 {
	pair := uint64(left)<<44 | uint64(right)<<24
	mask := uint64(len(m.slots) - 1)
	for at := m.slot(pair); ; at = (at + 1) & mask {
		slot := m.slots[at]
		if slot>>24 == pair>>24 && slot != 0 {
			return uint32(slot&(1<<24-1)) - 1
		}
		if slot == 0 {
			return noRank
		}
	}
}

// indexBytes fills the tables over single bytes, once byteID is set and every merge added.
func (m *merges) indexBytes() {
	m.byteRanks = make([]uint32, 1<<16)
	for l := range 256 {
		for r := range 256 {
			m.byteRanks[l<<8|r] = m.rank(m.byteID[l], m.byteID[r])
		}
	}
}

// encode appends the tokens of piece: its bytes, merged lowest rank first, leftmost among equals, until no pair has a rank.
func (m *merges) encode(dst []int32, piece string) []int32 {
	switch {
	case len(piece) == 1:
		return append(dst, m.byteID[piece[0]])
	case len(piece) <= shortPieceBytes:
		return m.encodeShort(dst, piece)
	}
	return m.encodeLong(dst, piece)
}

// encodeShort looks for the lowest rank by scanning: no heap, no allocation, quadratic in a length that is bounded.
func (m *merges) encodeShort(dst []int32, piece string) []int32 {
	var idBuffer [shortPieceBytes]int32
	var rankBuffer [shortPieceBytes]uint32 // rankBuffer[k]: of joining k and k+1
	n := len(piece)
	ids, ranks := idBuffer[:n], rankBuffer[:n]
	for k := range n {
		ids[k] = m.byteID[piece[k]]
		if k > 0 {
			ranks[k-1] = m.byteRanks[int(piece[k-1])<<8|int(piece[k])]
		}
	}
	ranks = ranks[:n-1]
	for {
		low, at := noRank, 0
		for k, r := range ranks {
			if r < low {
				low, at = r, k
			}
		}
		if low == noRank {
			return append(dst, ids...)
		}
		ids[at] = m.joined[low]
		copy(ids[at+1:], ids[at+2:])
		ids = ids[:len(ids)-1]
		copy(ranks[at:], ranks[at+1:])
		ranks = ranks[:len(ranks)-1]
		if at > 0 {
			ranks[at-1] = m.rank(ids[at-1], ids[at])
		}
		if at < len(ranks) {
			ranks[at] = m.rank(ids[at], ids[at+1])
		}
	}
}

// node is a token of a long piece in a doubly linked list.
type node struct {
	id         int32
	prev, next int32
	rank       uint32 // of joining this node and the next; a heap entry with another rank is stale
}

// scratch is what merging a long piece needs.
type scratch struct {
	nodes []node
	heap  rankHeap
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

// encodeLong keeps the pairs in a heap by rank, then position: n log n, so a megabyte of one letter costs no more per byte
// than a word.
func (m *merges) encodeLong(dst []int32, piece string) []int32 {
	s := scratchPool.Get().(*scratch)
	nodes, heap := slices.Grow(s.nodes[:0], len(piece)), slices.Grow(s.heap[:0], len(piece))
	for k := range len(piece) {
		rank := noRank
		if k+1 < len(piece) {
			rank = m.byteRanks[int(piece[k])<<8|int(piece[k+1])]
		}
		nodes = append(nodes, node{id: m.byteID[piece[k]], prev: int32(k) - 1, next: int32(k) + 1, rank: rank})
		if rank != noRank {
			heap = append(heap, uint64(rank)<<32|uint64(k))
		}
	}
	nodes[len(nodes)-1].next = -1
	heap.order()
	for len(heap) > 0 {
		top := heap[0]
		heap.pop()
		rank, k := uint32(top>>32), int32(uint32(top))
		left := &nodes[k]
		if left.rank != rank {
			continue
		}
		gone := &nodes[left.next]
		left.id, left.next = m.joined[rank], gone.next
		gone.rank = noRank
		left.rank = noRank
		if left.next >= 0 {
			nodes[left.next].prev = k
			if left.rank = m.rank(left.id, nodes[left.next].id); left.rank != noRank {
				heap.push(uint64(left.rank)<<32 | uint64(k))
			}
		}
		if left.prev >= 0 {
			before := &nodes[left.prev]
			if before.rank = m.rank(before.id, left.id); before.rank != noRank {
				heap.push(uint64(before.rank)<<32 | uint64(left.prev))
			}
		}
	}
	for k := int32(0); k >= 0; k = nodes[k].next {
		dst = append(dst, nodes[k].id)
	}
	if cap(nodes) <= maxScratchElements && cap(heap) <= maxScratchElements {
		s.nodes, s.heap = nodes, heap
		scratchPool.Put(s)
	}
	return dst
}

// rankHeap is a binary min-heap of rank<<32 | position.
type rankHeap []uint64

func (h rankHeap) order() {
	for k := len(h)/2 - 1; k >= 0; k-- {
		h.sink(k)
	}
}

func (h rankHeap) sink(k int) {
	for {
		child := 2*k + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[k] <= h[child] {
			return
		}
		h[k], h[child] = h[child], h[k]
		k = child
	}
}

func (h *rankHeap) pop() {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	h.sink(0)
}

func (h *rankHeap) push(v uint64) {
	*h = append(*h, v)
	k := len(*h) - 1
	for k > 0 && (*h)[(k-1)/2] > v {
		(*h)[k] = (*h)[(k-1)/2]
		k = (k - 1) / 2
	}
	(*h)[k] = v
}
