// Package chat turns a conversation into a prompt and a model's output into events: normalisation, the checkpoint's own
// template, and the scanner of reasoning, content and tool calls. It is pure: no clock, no HTTP, no model.
package chat

// Message is one turn of a conversation, after decoding and before normalisation.
type Message struct {
	Role       string // system, developer, user, assistant, tool
	Parts      []Part // content in order; nil is absent content
	Reasoning  *string
	ToolCalls  []ToolCall
	ToolCallID string // of a tool message: the call it answers
	Name       string
}

// Part is a piece of content. Only text reaches the model; other kinds are refused by name.
type Part struct {
	Type string // "text"; anything else is refused
	Text string
}

// ToolCall is a call in an assistant turn of the history.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text of an object as sent; empty: none
}

// Tool is one declared tool.
type Tool struct {
	Name   string // function.name
	Raw    []byte // the whole tool object as sent: {"type": "function", "function": {…}}, bytes kept for the prompt
	Schema []byte // function.parameters, or nil
}

// EventKind says what an Event carries.
type EventKind uint8

const (
	Reasoning EventKind = iota // Text
	Content                    // Text
	CallStart                  // Index, Name
	CallArgs                   // Index, Text: the next piece of the arguments' JSON text
	CallEnd                    // Index
)

// Event is a piece of parsed output. Joined texts of neighbouring events of one kind do not depend on how the output was
// cut into pieces.
type Event struct {
	Kind  EventKind
	Index int
	Name  string
	Text  string
}

// Continues says whether e carries on the text of the event before it, so that the two can be joined.
func (e Event) Continues(before Event) bool {
	return e.Kind == before.Kind && e.Index == before.Index && e.Kind != CallStart && e.Kind != CallEnd
}
