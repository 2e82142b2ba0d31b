package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"hearth/engine/chat"
	"hearth/engine/device"
	"hearth/engine/sampling"
	"hearth/engine/tokenizer"
)

// sequence is one conversation on its way: queued, then computed.
type sequence struct {
	req    *Request
	ctx    context.Context
	stream *Stream

	ids       []int32 // the prompt
	maxTokens int     // of the reply
	params    sampling.Params
	counts    *sampling.Counts
	scanner   *chat.Scanner
	text      tokenizer.Detokenizer

	pages  []device.PageID
	state  device.StateID
	queued time.Time
	result Result
}

// accept takes one generated token: its text goes through the scanner to the stream. It returns true when a stop string
// ended the reply.
func (s *sequence) accept(token int32) (stopped bool, err error) {
	defer caught(&err)
	s.result.OutputTokens++
	if s.scanner.InReasoning() {
		s.result.ReasoningTokens++
	}
	s.counts.Add(int(token))
	return s.scanner.Feed(s.text.Add(token), s.stream.emit), nil
}

// finish delivers what was held back and closes the stream. On an error it is still open.
func (s *sequence) finish(reason FinishReason) (err error) {
	defer caught(&err)
	s.scanner.Feed(s.text.Flush(), s.stream.emit)
	s.scanner.Finish(s.stream.emit)
	if reason == FinishStop && len(s.scanner.Calls()) > 0 {
		reason = FinishToolCalls
	}
	s.result.Finish = reason
	s.result.IncompleteCall, _ = s.scanner.Incomplete()
	s.stream.end(s.result, nil)
	return nil
}

// caught makes an error of a panic while output is read: a bug, but of this reply alone, since the device is between steps.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("reading the output: %v\n%s", p, debug.Stack())
	}
}

func (s *sequence) fail(err error) { s.stream.end(s.result, err) }
