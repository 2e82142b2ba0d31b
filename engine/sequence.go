package engine

import (
	"context"
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
func (s *sequence) accept(token int32) (stopped bool) {
	s.result.OutputTokens++
	if s.scanner.InReasoning() {
		s.result.ReasoningTokens++
	}
	s.counts.Add(int(token))
	return s.scanner.Feed(s.text.Add(token), s.stream.emit)
}

// finish delivers what was held back and closes the stream.
func (s *sequence) finish(reason FinishReason) {
	if reason != "" {
		s.scanner.Feed(s.text.Flush(), s.stream.emit)
	}
	s.scanner.Finish(s.stream.emit)
	if reason == FinishStop && len(s.scanner.Calls()) > 0 {
		reason = FinishToolCalls
	}
	s.result.Finish = reason
	s.result.IncompleteCall, _ = s.scanner.Incomplete()
	s.stream.end(s.result, nil)
}

func (s *sequence) fail(err error) { s.stream.end(s.result, err) }
