package tokenizer

import (
	"container/list"
	"strings"
	"sync"
)

// Memo remembers the ids of segments, the texts between added tokens. An agent sends its whole history every turn; most of
// its segments (system prompt, files, earlier turns) come again unchanged, wherever in the prompt, and cost a hash, a
// comparison and a copy. Texts are compared, not only hashes, so Encode gives what EncodeMarked gives, always.
//
// Memory is bounded: what was not used for longest goes first. A Memo is safe for concurrent use. It keeps the tokenizers of
// what it remembers alive, so it should go when its tokenizer does.
type Memo struct {
	budgetBytes int

	mu        sync.Mutex
	entries   map[memoKey]*list.Element // of *memoEntry
	recent    *list.List                // front: used last
	usedBytes int
	stats     MemoStats
}

// MemoStats count since the start.
type MemoStats struct {
	Entries   int
	UsedBytes int
	HitBytes  uint64 // of text found
	MissBytes uint64 // of text encoded, segments too short to remember left out
	Evicted   uint64 // entries
}

type memoKey struct {
	t         *Tokenizer
	namespace string
	segment   string
}

type memoEntry struct {
	key memoKey
	ids []int32
}

// NewMemo makes a Memo that holds at most budgetBytes of texts and ids.
func NewMemo(budgetBytes int) *Memo {
	return &Memo{budgetBytes: budgetBytes, entries: map[memoKey]*list.Element{}, recent: list.New()}
}

// Encode appends to dst what t.EncodeMarked appends for text.
func (m *Memo) Encode(dst []int32, t *Tokenizer, text string) []int32 {
	return m.EncodeIn("", dst, t, text)
}

// EncodeIn is Encode for a namespace: what one namespace sent makes no encoding faster for another, so none can find out by
// timing what others send.
func (m *Memo) EncodeIn(namespace string, dst []int32, t *Tokenizer, text string) []int32 {
	clean, marks := unescape(validText(text))
	return t.encode(dst, clean, marks, func(dst []int32, segment string) []int32 {
		if len(segment) < memoMinSegmentBytes {
			return t.appendSegment(dst, segment)
		}
		key := memoKey{t, namespace, segment}
		if ids, ok := m.find(key); ok {
			return append(dst, ids...)
		}
		before := len(dst)
		dst = t.appendSegment(dst, segment)
		m.keep(key, dst[before:])
		return dst
	})
}

// Stats returns counts for a status page.
func (m *Memo) Stats() MemoStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Entries, s.UsedBytes = len(m.entries), m.usedBytes
	return s
}

// find returns remembered ids, which are not changed any more.
func (m *Memo) find(key memoKey) ([]int32, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok {
		m.stats.MissBytes += uint64(len(key.segment))
		return nil, false
	}
	m.stats.HitBytes += uint64(len(key.segment))
	m.recent.MoveToFront(e)
	return e.Value.(*memoEntry).ids, true
}

func (e *memoEntry) bytes() int {
	return len(e.key.segment) + len(e.key.namespace) + 4*len(e.ids) + memoEntryBytes
}

// keep remembers copies, unless they would fill more than half of the budget.
func (m *Memo) keep(key memoKey, ids []int32) {
	e := &memoEntry{key: key, ids: ids}
	size := e.bytes()
	if size > m.budgetBytes/2 {
		return
	}
	e.key.segment = strings.Clone(key.segment) // the key is a part of a whole prompt, ids of the caller's slice
	e.key.namespace = strings.Clone(key.namespace)
	e.ids = append(make([]int32, 0, len(ids)), ids...)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.entries[e.key]; ok {
		return // another goroutine was faster
	}
	for m.usedBytes+size > m.budgetBytes {
		oldest := m.recent.Remove(m.recent.Back()).(*memoEntry)
		delete(m.entries, oldest.key)
		m.usedBytes -= oldest.bytes()
		m.stats.Evicted++
	}
	m.entries[e.key] = m.recent.PushFront(e)
	m.usedBytes += size
}
