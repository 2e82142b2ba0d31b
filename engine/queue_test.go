package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func named(ns, id string) *sequence { return &sequence{req: &Request{ID: id, Namespace: ns}} }

// TestQueueIsFair: one namespace with many requests does not delay another's first.
func TestQueueIsFair(t *testing.T) {
	q := newQueue(10)
	for _, s := range []*sequence{named("a", "a1"), named("a", "a2"), named("a", "a3"), named("b", "b1"), named("c", "c1"), named("b", "b2")} {
		if _, ok := q.push(s); !ok {
			t.Fatal("refused below the limit")
		}
	}
	got := ""
	for s := q.pop(); s != nil; s = q.pop() {
		got += s.req.ID + " "
	}
	if want := "a1 b1 c1 a2 b2 a3 "; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := newQueue(2)
	q.push(named("a", "1"))
	q.push(named("b", "2"))
	if n, ok := q.push(named("c", "3")); ok || n != 2 {
		t.Errorf("third of two accepted (%d, %v)", n, ok)
	}
	q.pop()
	if _, ok := q.push(named("c", "3")); !ok {
		t.Error("refused with room")
	}
	if left := q.close(); len(left) != 2 {
		t.Errorf("%d left at close, want 2", len(left))
	}
	if _, ok := q.push(named("c", "4")); ok {
		t.Error("accepted after close")
	}
}

// TestQueueAgainstModel does random pushes, pops and removals, and compares with plain lists.
func TestQueueAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	q := newQueue(20)
	lines := map[string][]*sequence{}
	var turns []string
	size := 0
	drop := func(ns string) {
		if len(lines[ns]) > 0 {
			return
		}
		for i, name := range turns {
			if name == ns {
				turns = append(turns[:i:i], turns[i+1:]...)
			}
		}
	}
	for step := range 20000 {
		switch rng.IntN(3) {
		case 0:
			ns := fmt.Sprint(rng.IntN(5))
			s := named(ns, fmt.Sprint(step))
			_, ok := q.push(s)
			if ok != (size < 20) {
				t.Fatalf("seed %d step %d: push %v at size %d", seed, step, ok, size)
			}
			if ok {
				if len(lines[ns]) == 0 {
					turns = append(turns, ns)
				}
				lines[ns] = append(lines[ns], s)
				size++
			}
		case 1:
			var want *sequence
			if len(turns) > 0 {
				ns := turns[0]
				want = lines[ns][0]
				lines[ns] = lines[ns][1:]
				turns = turns[1:]
				if len(lines[ns]) > 0 {
					turns = append(turns, ns)
				}
				size--
			}
			if got := q.pop(); got != want {
				t.Fatalf("seed %d step %d: pop got %v, want %v", seed, step, got, want)
			}
		case 2:
			ns := fmt.Sprint(rng.IntN(5))
			if len(lines[ns]) == 0 {
				continue
			}
			i := rng.IntN(len(lines[ns]))
			s := lines[ns][i]
			lines[ns] = append(lines[ns][:i:i], lines[ns][i+1:]...)
			drop(ns)
			size--
			if !q.remove(s) || q.remove(s) {
				t.Fatalf("seed %d step %d: remove", seed, step)
			}
		}
		if q.len() != size {
			t.Fatalf("seed %d step %d: length %d, want %d", seed, step, q.len(), size)
		}
	}
}
