package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Session is one conversation in a terminal.
type Session struct {
	Client    *Client
	Model     string
	Tools     json.RawMessage // declared tools, or nil
	NoThink   bool
	In        io.Reader
	Out       io.Writer
	Color     bool
	Interrupt <-chan struct{} // ^C: stops an answer; at the prompt it ends the session

	messages []Message
	lines    chan string
}

const help = "Enter sends. /new forgets the conversation, /quit or ^D leaves, ^C stops an answer.\n"

// style wraps text in an SGR sequence where colours are wanted.
func (s *Session) style(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *Session) dim(text string) string { return s.style("2", text) }

// Run talks until the input ends. prompt, unless empty, is sent first; with once, Run ends after its answer.
func (s *Session) Run(ctx context.Context, system, prompt string, once bool) error {
	if system != "" {
		s.messages = append(s.messages, Message{Role: "system", Content: &system})
	}
	first := len(s.messages)
	if prompt != "" {
		if err := s.turn(ctx, prompt); err != nil || once {
			return err
		}
	}
	fmt.Fprint(s.Out, s.dim(help))
	for {
		text, ok := s.ask(ctx, s.style("1;36", "› "))
		switch text = strings.TrimSpace(text); {
		case !ok || text == "/quit" || text == "/exit":
			fmt.Fprintln(s.Out)
			return nil
		case text == "":
		case text == "/new":
			s.messages = s.messages[:first]
			fmt.Fprintln(s.Out, s.dim("A new conversation."))
		default:
			if err := s.turn(ctx, text); err != nil {
				fmt.Fprintln(s.Out, s.style("31", err.Error()))
			}
		}
	}
}

// ask shows a prompt and waits for a line; ok is false at the end of the input.
func (s *Session) ask(ctx context.Context, prompt string) (line string, ok bool) {
	if s.lines == nil {
		s.lines = make(chan string)
		go func() {
			defer close(s.lines)
			in := bufio.NewScanner(s.In)
			in.Buffer(nil, maxLineBytes)
			for in.Scan() {
				s.lines <- in.Text()
			}
		}()
	}
	fmt.Fprint(s.Out, prompt)
	select {
	case line, ok = <-s.lines:
		return line, ok
	case <-s.Interrupt:
	case <-ctx.Done():
	}
	return "", false
}

// turn sends a user message and answers tool calls by asking for their results, until the model is done.
func (s *Session) turn(ctx context.Context, text string) error {
	before := len(s.messages)
	s.messages = append(s.messages, Message{Role: "user", Content: &text})
	for {
		answer, err := s.answer(ctx)
		if err != nil {
			s.messages = s.messages[:before] // what has no answer is not history
			return err
		}
		s.messages = append(s.messages, answer)
		if len(answer.ToolCalls) == 0 {
			return nil
		}
		for _, call := range answer.ToolCalls {
			result, ok := s.ask(ctx, s.style("33", "result of "+call.Function.Name+": "))
			if !ok {
				s.messages = s.messages[:before]
				return nil
			}
			s.messages = append(s.messages, Message{Role: "tool", ToolCallID: call.ID, Content: &result})
		}
	}
}

// errStopped ends an answer after ^C.
var errStopped = errors.New("stopped")

// answer streams one reply to the terminal. A reply stopped by ^C counts with what it had.
func (s *Session) answer(ctx context.Context) (Message, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.Interrupt:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	p := printer{s: s}
	r := request{Model: s.Model, Messages: s.messages, Tools: s.Tools}
	if s.NoThink {
		r.Kwargs = map[string]bool{"enable_thinking": false}
	}
	err := s.Client.stream(ctx, r, p.chunk)
	p.mode("")
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		fmt.Fprintln(s.Out, s.dim("(stopped)"))
		p.message.ToolCalls = nil // their arguments may be cut off
		err = nil
	}
	if err == nil && p.finish == "length" {
		p.message.ToolCalls = nil
		fmt.Fprintln(s.Out, s.dim("(ended at the length limit)"))
	}
	if p.timings != nil {
		fmt.Fprintln(s.Out, s.dim(fmt.Sprintf("%d tokens, %.1f/s; prompt %d new, %d cached", p.timings.DecodeTokens,
			p.timings.DecodeTokensPerSecond, p.timings.PrefillTokens, p.timings.CachedTokens)))
	}
	p.message.Role = "assistant"
	content := p.content.String()
	if content != "" || len(p.message.ToolCalls) == 0 {
		p.message.Content = &content
	}
	p.message.ReasoningContent = p.reasoning.String()
	return p.message, err
}

// printer shows chunks and gathers the message they make.
type printer struct {
	s                  *Session
	now                string // what is being shown: reasoning, content, call; "" at the start of a line
	content, reasoning strings.Builder
	message            Message
	finish             string
	timings            *timings
}

// mode ends the line of another kind of text.
func (p *printer) mode(next string) {
	if p.now != "" && p.now != next {
		fmt.Fprintln(p.s.Out)
	}
	p.now = next
}

func (p *printer) chunk(k chunk) {
	if k.Timings != nil {
		p.timings = k.Timings
	}
	if len(k.Choices) == 0 {
		return
	}
	c := k.Choices[0]
	if c.FinishReason != "" {
		p.finish = c.FinishReason
	}
	if text := c.Delta.ReasoningContent; text != "" {
		p.mode("reasoning")
		p.reasoning.WriteString(text)
		fmt.Fprint(p.s.Out, p.s.dim(visible(text)))
	}
	if text := c.Delta.Content; text != "" {
		p.mode("content")
		p.content.WriteString(text)
		fmt.Fprint(p.s.Out, visible(text))
	}
	for _, call := range c.Delta.ToolCalls {
		p.call(call)
	}
}

// maxShownCalls bounds indexes that a stream may name.
const maxShownCalls = 1024

func (p *printer) call(piece ToolCall) {
	calls := &p.message.ToolCalls
	if piece.Index < 0 || piece.Index > min(len(*calls), maxShownCalls) {
		return
	}
	if piece.Index == len(*calls) {
		p.mode("")
		p.mode("call")
		*calls = append(*calls, ToolCall{Index: piece.Index, Type: "function"})
		fmt.Fprint(p.s.Out, p.s.style("1;33", "→ "+visible(piece.Function.Name)+" "))
	}
	call := &(*calls)[piece.Index]
	if piece.ID != "" {
		call.ID = piece.ID
	}
	call.Function.Name += piece.Function.Name
	call.Function.Arguments += piece.Function.Arguments
	fmt.Fprint(p.s.Out, p.s.style("33", visible(piece.Function.Arguments)))
}

// visible drops control characters, so that a model cannot drive the terminal.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, text)
}
