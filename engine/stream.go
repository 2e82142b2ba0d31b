package engine

import (
	"context"
	"sync"

	"hearth/engine/chat"
)

// Stream delivers one continuation. The engine never waits for its reader: what is not yet read is kept, neighbouring texts
// of a kind joined, so it holds at most the reply.
type Stream struct {
	promptTokens int
	cancel       func() // ends the sequence, queued or running

	mu     sync.Mutex
	events []chat.Event
	ended  bool
	result Result
	err    error
	signal chan struct{} // something changed
}

func newStream(promptTokens int, cancel func()) *Stream {
	return &Stream{promptTokens: promptTokens, cancel: cancel, signal: make(chan struct{}, 1)}
}

// PromptTokens of the rendered prompt.
func (s *Stream) PromptTokens() int { return s.promptTokens }

// Next returns the next event, waiting for it. It returns false when the stream has ended (see Result) or ctx has.
func (s *Stream) Next(ctx context.Context) (chat.Event, bool) {
	for {
		s.mu.Lock()
		if len(s.events) > 0 {
			e := s.events[0]
			s.events = s.events[1:]
			s.mu.Unlock()
			return e, true
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return chat.Event{}, false
		}
		select {
		case <-s.signal:
		case <-ctx.Done():
			return chat.Event{}, false
		}
	}
}

// Result tells how the stream ended, once Next has returned false. Before the end it is an error of kind Cancelled.
func (s *Stream) Result() (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		return Result{}, &RequestError{Kind: Cancelled, Message: "the stream was left before its end"}
	}
	return s.result, s.err
}

// Close frees what the sequence holds. It may be called at any time, more than once.
func (s *Stream) Close() { s.cancel() }

// emit appends an event; texts of the same kind and call are joined while unread.
func (s *Stream) emit(e chat.Event) {
	s.mu.Lock()
	if n := len(s.events); n > 0 && e.Continues(s.events[n-1]) {
		s.events[n-1].Text += e.Text
	} else {
		s.events = append(s.events, e)
	}
	s.mu.Unlock()
	s.notify()
}

func (s *Stream) end(r Result, err error) {
	s.mu.Lock()
	s.ended, s.result, s.err = true, r, err
	s.mu.Unlock()
	s.notify()
}

func (s *Stream) notify() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}
