package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"hearth/engine"
	"hearth/engine/chat"
)

// Head is what all chunks of an answer have in common.
type Head struct {
	ID                string `json:"id"`
	Object            string `json:"object"`
	Created           int64  `json:"created"`
	Model             string `json:"model"`
	SystemFingerprint string `json:"system_fingerprint"`
}

// NewHead draws an id.
func NewHead(model, fingerprint string, now time.Time) Head {
	return Head{ID: "chatcmpl-" + randomID(), Created: now.Unix(), Model: model, SystemFingerprint: fingerprint}
}

// randomID is 24 random alphanumerics.
func randomID() string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 0, 24)
	for len(id) < cap(id) {
		var raw [48]byte
		rand.Read(raw[:]) // never fails
		for _, b := range raw {
			if b &= 63; int(b) < len(letters) && len(id) < cap(id) {
				id = append(id, letters[b])
			}
		}
	}
	return string(id)
}

// NewCallID is an id for a tool call, unique in any conversation.
func NewCallID() string { return "call_" + randomID() }

// FunctionCall is the function of a tool call; Arguments is JSON text.
type FunctionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// ToolCall is a complete call of an answer.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function FunctionCall `json:"function"`
}

// Message is the assistant's answer. Content is null only when there are calls and no text.
type Message struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
}

// Choice of a complete answer.
type Choice struct {
	Index        int     `json:"index"`
	Message      Message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

// Completion is the answer to a request without stream.
type Completion struct {
	Head
	Choices []Choice `json:"choices"`
	Usage   *Usage   `json:"usage"`
	Timings *Timings `json:"timings"`
}

// Usage counts tokens. PromptTokens includes the cached ones.
type Usage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	TotalTokens         int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// NewUsage counts a result.
func NewUsage(r engine.Result) *Usage {
	u := &Usage{PromptTokens: r.PromptTokens, CompletionTokens: r.OutputTokens, TotalTokens: r.PromptTokens + r.OutputTokens}
	u.PromptTokensDetails.CachedTokens = r.CachedTokens
	u.CompletionTokensDetails.ReasoningTokens = r.ReasoningTokens
	return u
}

// Timings is an extra field of ours: where the time of a request went.
type Timings struct {
	QueueMS                float64 `json:"queue_ms"`
	RenderMS               float64 `json:"render_ms"`
	PrefillMS              float64 `json:"prefill_ms"`
	DecodeMS               float64 `json:"decode_ms"`
	CachedTokens           int     `json:"cached_tokens"`
	PrefillTokens          int     `json:"prefill_tokens"`
	DecodeTokens           int     `json:"decode_tokens"`
	PrefillTokensPerSecond float64 `json:"prefill_tokens_per_second"`
	DecodeTokensPerSecond  float64 `json:"decode_tokens_per_second"`
	Seed                   uint64  `json:"seed"`
}

// NewTimings reports a result.
func NewTimings(r engine.Result) *Timings {
	t := r.Timings
	return &Timings{
		QueueMS: milliseconds(t.Queue), RenderMS: milliseconds(t.Render),
		PrefillMS: milliseconds(t.Prefill), DecodeMS: milliseconds(t.Decode),
		CachedTokens: r.CachedTokens, PrefillTokens: t.PrefillTokens, DecodeTokens: t.DecodeTokens,
		PrefillTokensPerSecond: rate(t.PrefillTokens, t.Prefill), DecodeTokensPerSecond: rate(t.DecodeTokens, t.Decode),
		Seed: t.Seed,
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// rate is tokens per second, 0 when nothing was measured.
func rate(tokens int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(int64(float64(tokens)/d.Seconds()*100+0.5)) / 100
}

// finishReason: the engine says whether a limit ended the answer; otherwise complete calls decide.
func finishReason(r engine.Result, completeCalls int) string {
	switch {
	case r.Finish == engine.FinishLength:
		return string(engine.FinishLength)
	case completeCalls > 0:
		return string(engine.FinishToolCalls)
	}
	return string(engine.FinishStop)
}

// Answer collects events into a complete answer.
type Answer struct {
	reasoning, content strings.Builder
	calls              []ToolCall
	open               *ToolCall // begun and not ended; dropped when the answer ends inside it
	arguments          strings.Builder
}

// Add takes the next event.
func (a *Answer) Add(e chat.Event) {
	switch e.Kind {
	case chat.Reasoning:
		a.reasoning.WriteString(e.Text)
	case chat.Content:
		a.content.WriteString(e.Text)
	case chat.CallStart:
		a.open = &ToolCall{ID: NewCallID(), Type: "function", Function: FunctionCall{Name: e.Name}}
		a.arguments.Reset()
	case chat.CallArgs:
		a.arguments.WriteString(e.Text)
	case chat.CallEnd:
		if a.open != nil {
			a.open.Function.Arguments = a.arguments.String()
			a.calls = append(a.calls, *a.open)
			a.open = nil
		}
	}
}

// Completion closes the answer. The raw text of a call that the answer ended in is content.
func (a *Answer) Completion(head Head, r engine.Result) Completion {
	head.Object = "chat.completion"
	a.content.WriteString(r.IncompleteCall)
	m := Message{Role: "assistant", ReasoningContent: a.reasoning.String(), ToolCalls: a.calls}
	if text := a.content.String(); text != "" || len(a.calls) == 0 {
		m.Content = &text
	}
	return Completion{
		Head:    head,
		Choices: []Choice{{Message: m, FinishReason: finishReason(r, len(a.calls))}},
		Usage:   NewUsage(r),
		Timings: NewTimings(r),
	}
}

// Marshal is JSON without the escapes that only HTML needs.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
