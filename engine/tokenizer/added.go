package tokenizer

import (
	"slices"
	"strings"
)

// added finds the added tokens in a text.
type added struct {
	ids      map[string]int32 // by text
	first    [256]int32       // trie node of a first byte, 0 for none
	nodes    []trieNode
	only     int // the one byte all tokens start with, or -1
	maxBytes int
	tails    [256][]string // proper suffixes of tokens, by first byte: what may complete one across the start of a text
}

// trieNode is a byte of one or more tokens after the same bytes. Its children hang together by sibling; 0 is none.
type trieNode struct {
	id             int32 // of the token that ends here, or -1
	child, sibling int32
	byte           byte
}

// newAdded builds the trie; the texts are not empty.
func newAdded(ids map[string]int32) *added {
	a := &added{ids: ids, nodes: make([]trieNode, 1), only: -1}
	firsts := 0
	for text, id := range ids {
		a.maxBytes = max(a.maxBytes, len(text))
		node := a.first[text[0]]
		if node == 0 {
			node = a.node(text[0], 0)
			a.first[text[0]] = node
			a.only = int(text[0])
			firsts++
		}
		for k := 1; k < len(text); k++ {
			next := a.step(node, text[k])
			if next == 0 {
				next = a.node(text[k], a.nodes[node].child)
				a.nodes[node].child = next
			}
			node = next
			a.tails[text[k]] = append(a.tails[text[k]], text[k:])
		}
		a.nodes[node].id = id
	}
	if firsts != 1 {
		a.only = -1
	}
	return a
}

func (a *added) node(b byte, sibling int32) int32 {
	a.nodes = append(a.nodes, trieNode{id: -1, byte: b, sibling: sibling})
	return int32(len(a.nodes) - 1)
}

// step returns the child of node for b, or 0.
func (a *added) step(node int32, b byte) int32 {
	node = a.nodes[node].child
	for node != 0 && a.nodes[node].byte != b {
		node = a.nodes[node].sibling
	}
	return node
}

// candidate returns the first position from i on where a token may start, or -1.
func (a *added) candidate(s string, i int) int {
	if a.only >= 0 {
		if n := strings.IndexByte(s[i:], byte(a.only)); n >= 0 {
			return i + n
		}
		return -1
	}
	for ; i < len(s); i++ {
		if a.first[s[i]] != 0 {
			return i
		}
	}
	return -1
}

// longest returns the longest token at s[i:limit] and its end; id -1 is none.
func (a *added) longest(s string, i, limit int) (id int32, end int) {
	id = -1
	node := a.first[s[i]]
	for i++; node != 0; i++ {
		if a.nodes[node].id >= 0 {
			id, end = a.nodes[node].id, i
		}
		if i >= limit {
			break
		}
		node = a.step(node, s[i])
	}
	return id, end
}

// next returns the leftmost token in s from i on, the longest of those that start there. A token never covers a byte in
// marks, which ascend; found is false when there is none.
func (a *added) next(s string, i int, marks []int) (id int32, start, end int, found bool) {
	passed, _ := slices.BinarySearch(marks, i)
	marks = marks[passed:]
	for start = a.candidate(s, i); start >= 0; start = a.candidate(s, start+1) {
		limit := len(s)
		for len(marks) > 0 && marks[0] < start {
			marks = marks[1:]
		}
		if len(marks) > 0 {
			limit = marks[0]
		}
		if limit > start {
			if id, end = a.longest(s, start, limit); id >= 0 {
				return id, start, end, true
			}
		}
	}
	return -1, len(s), len(s), false
}
