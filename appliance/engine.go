package appliance

import (
	"context"

	"hearth/engine"
	"hearth/engine/chat"
)

// Engine is what the endpoint wants of the engine.
type Engine interface {
	Status() engine.Status
	// Chat validates, renders, tokenises and queues a request. A refusal is an *engine.RequestError. The request ends
	// early when ctx does.
	Chat(ctx context.Context, req *engine.Request) (Stream, error)
	// Tokenize encodes text; with special, strings of added tokens become their ids.
	Tokenize(text string, special bool) ([]int32, error)
	Detokenize(ids []int32) (string, error)
	// Wait returns when loading is over; the error says why it failed.
	Wait(ctx context.Context) error
	Close() error
}

// Stream is one answer being made. One goroutine reads it; Close may be called from any, more than once.
type Stream interface {
	PromptTokens() int
	// Next waits for the next event; more is false when there is none, and Result has the reason.
	Next(ctx context.Context) (event chat.Event, more bool)
	// Result is valid after the last event.
	Result() (engine.Result, error)
	// Close cancels what is still running and frees it.
	Close()
}
