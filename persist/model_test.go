package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// model is what the cache must hold, as maps.
type model struct {
	t     *testing.T
	rng   *rand.Rand
	path  string
	o     Options
	c     *Cache
	now   time.Time
	nodes map[string]modelNode
	fail  int // commits until an injected failure; 0: none
	seed  uint64
	steps int
}

type modelNode struct {
	value  string
	blobs  []string // keys; the size is a function of the key
	pinned bool
	hits   uint64
}

func sizeOf(blob string) int { return int(sum([]byte(blob)) % 600) }

func (m *model) fatalf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("seed %d, step %d: %s", m.seed, m.steps, fmt.Sprintf(format, args...))
}

var errInjected = errors.New("injected write failure")

func (m *model) open() {
	o := m.o
	o.Clock = func() time.Time { return m.now }
	o.failCommit = func() error {
		if m.fail > 0 {
			if m.fail--; m.fail == 0 {
				return errInjected
			}
		}
		return nil
	}
	c, err := OpenCache(m.path, o)
	if err != nil {
		m.fatalf("open: %v", err)
	}
	m.c = c
}

func (m *model) reopen() {
	m.fail = 0
	if err := m.c.Close(); err != nil {
		m.fatalf("close: %v", err)
	}
	m.open()
	m.compare()
}

// key picks one of few keys, so that operations meet.
func (m *model) key() string { return fmt.Sprintf("k%02d", m.rng.IntN(60)) }

func (m *model) put() {
	key := m.key()
	n := modelNode{value: fmt.Sprint(m.rng.Uint32()), pinned: m.rng.IntN(10) == 0, hits: m.nodes[key].hits}
	r := &Record{Key: []byte(key), Value: []byte(n.value), Pinned: n.pinned}
	for range m.rng.IntN(4) {
		name := fmt.Sprintf("b%03d", m.rng.IntN(200))
		n.blobs = append(n.blobs, name)
		r.Blobs = append(r.Blobs, Blob{Ref{1, []byte(name)}, [][]byte{pattern(name, sizeOf(name))}})
	}
	err := m.c.Put(context.Background(), r)
	if m.settled(err) {
		m.nodes[key] = n
	}
}

// settled reports whether an operation was carried out. After an injected failure the cache must be off and stay readable; then it
// is opened anew, as by a restart.
func (m *model) settled(err error) bool {
	if err == nil {
		return true
	}
	if !errors.Is(err, ErrOff) || m.c.Stats().Off == "" {
		m.fatalf("unexpected error: %v", err)
	}
	if err := m.c.Put(context.Background(), record("x", 1)); !errors.Is(err, ErrOff) {
		m.fatalf("a cache that is off took a record: %v", err)
	}
	return false
}

func (m *model) delete() {
	key := m.key()
	before := m.c.Has([]byte(key))
	if _, known := m.nodes[key]; known != before {
		m.fatalf("record %s there: %v, want %v", key, before, known)
	}
	err := m.c.Delete([]byte(key))
	if m.settled(err) {
		delete(m.nodes, key)
		return
	}
	m.restart(key)
}

// restart opens anew after a failure in an operation on key, which may have happened or not.
func (m *model) restart(key string) {
	m.fail = 0
	if err := m.c.Close(); err != nil {
		m.fatalf("close: %v", err)
	}
	m.open()
	if !m.c.Has([]byte(key)) {
		delete(m.nodes, key)
	}
	m.learnUses()
	m.compare()
}

func (m *model) touch() {
	key := m.key()
	m.c.Touch([]byte(key))
	if n, ok := m.nodes[key]; ok {
		n.hits++
		m.nodes[key] = n
	}
}

func (m *model) pin() {
	key, pinned := m.key(), m.rng.IntN(2) == 0
	n, known := m.nodes[key]
	err := m.c.Pin([]byte(key), pinned)
	if !known {
		if !errors.Is(err, ErrMiss) {
			m.fatalf("pin of nothing: %v", err)
		}
		return
	}
	if m.settled(err) {
		n.pinned = pinned
		m.nodes[key] = n
		return
	}
	m.rewind()
}

func (m *model) setValue() {
	key := m.key()
	n, known := m.nodes[key]
	value := fmt.Sprint(m.rng.Uint32())
	err := m.c.SetValue([]byte(key), []byte(value))
	if !known {
		if !errors.Is(err, ErrMiss) {
			m.fatalf("value of nothing: %v", err)
		}
		return
	}
	if m.settled(err) {
		n.value = value
		m.nodes[key] = n
		return
	}
	m.rewind()
}

// rewind opens anew after a failure; uses and pins may be those of before.
func (m *model) rewind() {
	m.fail = 0
	m.c.Close()
	m.open()
	m.learnUses()
	m.compare()
}

// learnUses takes over hits and pins, which a failure may lose.
func (m *model) learnUses() {
	for _, in := range m.c.Infos() {
		if n, ok := m.nodes[string(in.Key)]; ok {
			n.hits, n.pinned = in.Hits, in.Pinned
			m.nodes[string(in.Key)] = n
		}
	}
}

func (m *model) load() {
	name := fmt.Sprintf("b%03d", m.rng.IntN(200))
	want := false
	for _, n := range m.nodes {
		for _, b := range n.blobs {
			want = want || b == name
		}
	}
	got, err := load(m.c, name)
	if want != (err == nil) || err != nil && !errors.Is(err, ErrMiss) {
		m.fatalf("blob %s there: %v, want %v", name, err, want)
	}
	if err == nil && !bytes.Equal(got, pattern(name, sizeOf(name))) {
		m.fatalf("blob %s: wrong bytes", name)
	}
}

// compare looks at everything.
func (m *model) compare() {
	checkIndex(m.t, m.c)
	seen := 0
	m.c.Nodes(func(n Node) error {
		seen++
		want, ok := m.nodes[string(n.Key)]
		if !ok || string(n.Value) != want.value || n.Pinned != want.pinned || n.Hits != want.hits || len(n.Blobs) != len(want.blobs) {
			m.fatalf("record %s is %+v, want %+v", n.Key, n, want)
		}
		for i, b := range n.Blobs {
			if string(b.Key) != want.blobs[i] {
				m.fatalf("record %s names %s, want %s", n.Key, b.Key, want.blobs[i])
			}
			wantBlob(m.t, m.c, want.blobs[i], sizeOf(want.blobs[i]))
		}
		return nil
	})
	if seen != len(m.nodes) {
		m.fatalf("%d records, want %d", seen, len(m.nodes))
	}
}

// TestModel compares a cache with maps over random operations, reopening it now and then and failing commits. The file has no syncs,
// so that it takes seconds; crashes have tests of their own.
func TestModel(t *testing.T) {
	rng, seed := seeded(t)
	m := &model{t: t, rng: rng, seed: seed, path: filepath.Join(t.TempDir(), "cache.db"), o: quiet(), now: time.Unix(1.8e9, 0),
		nodes: map[string]modelNode{}}
	m.o.UsesEvery = time.Hour
	m.o.noSync = true
	m.open()
	for m.steps = range 100_000 * soak() {
		switch p := m.rng.IntN(1000); {
		case p < 60:
			m.put()
			if m.c.Stats().Off != "" {
				m.rewind()
			}
		case p < 90:
			m.delete()
		case p < 110:
			m.pin()
		case p < 120:
			m.setValue()
		case p < 500:
			m.touch()
		case p < 997:
			m.load()
		case p < 998:
			m.fail = 1 + m.rng.IntN(4)
		case m.rng.IntN(10) == 0:
			m.reopen()
		}
		if m.rng.IntN(5000) == 0 {
			m.compare()
		}
	}
	m.c.Close()
	r, err := Inspect(m.path, 0, true)
	if err != nil || r.Bad() > 0 || len(r.Generations) != 1 || len(r.Generations[0].Records) != len(m.nodes) {
		t.Errorf("check: %v, %d bad", err, r.Bad())
	}
}
