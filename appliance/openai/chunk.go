package openai

import (
	"fmt"

	"hearth/engine"
	"hearth/engine/chat"
)

// callDelta is a piece of a tool call: the first has id, type and name, later ones only arguments.
type callDelta struct {
	Index    int          `json:"index"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function FunctionCall `json:"function"`
}

// delta carries one kind of news.
type delta struct {
	Role             string      `json:"role,omitempty"`
	Content          *string     `json:"content,omitempty"`
	ReasoningContent *string     `json:"reasoning_content,omitempty"`
	ToolCalls        []callDelta `json:"tool_calls,omitempty"`
}

type chunkChoice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type chunk struct {
	Head
	Choices []chunkChoice `json:"choices"`
	Usage   *Usage        `json:"usage,omitempty"`
	Timings *Timings      `json:"timings,omitempty"`
}

// Done ends a stream that did not fail.
const Done = "data: [DONE]\n\n"

// Ping is a comment: bytes for clients that give up on a silent connection, ignored by all parsers.
const Ping = ": ping\n\n"

// Chunks encodes events as the server-sent events of one stream.
type Chunks struct {
	head     Head
	complete int // calls that ended
}

// NewChunks starts a stream.
func NewChunks(head Head) *Chunks {
	head.Object = "chat.completion.chunk"
	return &Chunks{head: head}
}

// Role is the first chunk: the request was accepted.
func (c *Chunks) Role() []byte {
	empty := ""
	return c.choice(delta{Role: "assistant", Content: &empty})
}

// Event is the chunk of one event, or nil when the protocol has no word for it.
func (c *Chunks) Event(e chat.Event) []byte {
	switch e.Kind {
	case chat.Reasoning:
		return c.choice(delta{ReasoningContent: &e.Text})
	case chat.Content:
		return c.choice(delta{Content: &e.Text})
	case chat.CallStart:
		return c.choice(delta{ToolCalls: []callDelta{
			{Index: e.Index, ID: NewCallID(), Type: "function", Function: FunctionCall{Name: e.Name}}}})
	case chat.CallArgs:
		return c.choice(delta{ToolCalls: []callDelta{{Index: e.Index, Function: FunctionCall{Arguments: e.Text}}}})
	case chat.CallEnd:
		c.complete++
	}
	return nil
}

// Finish is the last chunk with a choice.
func (c *Chunks) Finish(r engine.Result) []byte {
	reason := finishReason(r, c.complete)
	return sse(chunk{Head: c.head, Choices: []chunkChoice{{FinishReason: &reason}}, Timings: NewTimings(r)})
}

// Usage is the chunk that stream_options.include_usage asks for.
func (c *Chunks) Usage(r engine.Result) []byte {
	return sse(chunk{Head: c.head, Choices: []chunkChoice{}, Usage: NewUsage(r)})
}

// Failure is the last event of a stream that broke; nothing follows it.
func (c *Chunks) Failure(e *Error) []byte { return sse(e) }

func (c *Chunks) choice(d delta) []byte {
	return sse(chunk{Head: c.head, Choices: []chunkChoice{{Delta: d}}})
}

func sse(v any) []byte {
	b, err := Marshal(v)
	if err != nil { // plain structs of strings and finite numbers
		panic(fmt.Sprintf("encoding a chunk: %v", err))
	}
	return fmt.Appendf(nil, "data: %s\n\n", b)
}
