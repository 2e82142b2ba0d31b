package engine

import (
	"time"

	"hearth/engine/chat"
)

// Request asks for one continuation of a conversation.
type Request struct {
	ID             string // request id, for logs
	Messages       []chat.Message
	Tools          []chat.Tool
	ToolsOff       bool   // tool_choice none: tools stay in the prompt, calls in the output are text
	TemplateKwargs []byte // JSON object of template variables as sent (chat_template_kwargs), or nil
	Sampling       Sampling
	Stop           []string
	MaxTokens      int    // 0: what the context leaves
	Namespace      string // caches are kept apart by it
}

// Sampling are a request's overrides; a nil field takes the checkpoint's generation_config.json, else the neutral value.
type Sampling struct {
	Temperature       *float32 // ≥ 0; 0 is greedy
	TopP              *float32 // (0, 1]
	TopK              *int     // ≥ 0; 0 is off
	MinP              *float32 // [0, 1]
	PresencePenalty   *float32 // [-2, 2]
	FrequencyPenalty  *float32 // [-2, 2]
	RepetitionPenalty *float32 // > 0
	Seed              *uint64  // nil: drawn, and reported in Timings
	LogitBias         map[int]float32
}

// FinishReason says why a continuation ended.
type FinishReason string

const (
	FinishStop      FinishReason = "stop"
	FinishLength    FinishReason = "length"
	FinishToolCalls FinishReason = "tool_calls"
)

// Result closes a stream: why it ended and what it cost.
type Result struct {
	Finish          FinishReason
	PromptTokens    int
	CachedTokens    int
	OutputTokens    int // end token excluded
	ReasoningTokens int
	IncompleteCall  string // raw text of a tool call that the output ended in, "" if none
	Timings         Timings
}

// Timings of one request. Queue ends when its first step starts; Prefill when the first token is sampled.
type Timings struct {
	Queue, Render, Prefill, Decode time.Duration
	PrefillTokens                  int
	DecodeTokens                   int
	Seed                           uint64
}
