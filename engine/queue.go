package engine

import "sync"

// queue is the line in front of the engine: bounded, first come first served within a namespace, and fair between
// namespaces, which take turns.
type queue struct {
	mu      sync.Mutex
	limit   int
	size    int
	lines   map[string][]*sequence
	turns   []string // namespaces with a line, next one first
	arrived chan struct{}
	closed  bool
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, lines: map[string][]*sequence{}, arrived: make(chan struct{}, 1)}
}

// push appends a sequence to its namespace's line. It reports the queue's length and false when the queue is full or closed.
func (q *queue) push(s *sequence) (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.size >= q.limit {
		return q.size, false
	}
	ns := s.req.Namespace
	if len(q.lines[ns]) == 0 {
		q.turns = append(q.turns, ns)
	}
	q.lines[ns] = append(q.lines[ns], s)
	q.size++
	select {
	case q.arrived <- struct{}{}:
	default:
	}
	return q.size, true
}

// pop takes the next sequence, or nil when there is none.
func (q *queue) pop() *sequence {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		return nil
	}
	ns := q.turns[0]
	q.turns = q.turns[1:]
	s := q.lines[ns][0]
	q.lines[ns][0] = nil // its prompt need not outlive it
	if rest := q.lines[ns][1:]; len(rest) > 0 {
		q.lines[ns] = rest
		q.turns = append(q.turns, ns)
	} else {
		delete(q.lines, ns)
	}
	q.size--
	return s
}

// remove takes a sequence out of the line, if it is still there: a client that went away holds no place.
func (q *queue) remove(s *sequence) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	ns := s.req.Namespace
	for i, other := range q.lines[ns] {
		if other != s {
			continue
		}
		q.lines[ns] = append(q.lines[ns][:i:i], q.lines[ns][i+1:]...)
		if len(q.lines[ns]) == 0 {
			delete(q.lines, ns)
			for t, name := range q.turns {
				if name == ns {
					q.turns = append(q.turns[:t:t], q.turns[t+1:]...)
					break
				}
			}
		}
		q.size--
		return true
	}
	return false
}

// close refuses newcomers and returns everyone who waits.
func (q *queue) close() []*sequence {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	var left []*sequence
	for s := q.pop(); s != nil; s = q.pop() {
		left = append(left, s)
	}
	return left
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}
