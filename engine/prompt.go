package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"hearth/engine/chat"
	"hearth/engine/sampling"
)

// Chat renders and tokenises a request, checks it, and queues it. Everything that can be refused is refused here, with a
// *RequestError. The stream must be closed. When ctx ends the sequence is dropped, queued or running.
func (e *Engine) Chat(ctx context.Context, req *Request) (*Stream, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	start := time.Now()
	ids, rendered, err := e.prompt(req)
	if err != nil {
		return nil, err
	}
	s := &sequence{req: req, ids: ids, queued: time.Now()}
	s.result.PromptTokens = len(ids)
	s.result.Timings.Render = s.queued.Sub(start)
	if s.maxTokens, err = e.room(req, len(ids)); err != nil {
		return nil, err
	}
	if s.params, err = e.params(req); err != nil {
		return nil, err
	}
	s.result.Timings.Seed = s.params.Seed
	if err := checkStops(req.Stop); err != nil {
		return nil, err
	}
	s.scanner = chat.NewScanner(chat.ScannerOptions{
		Tools: req.Tools, ToolsOff: req.ToolsOff || len(req.Tools) == 0, ThinkOpen: e.template.ThinkOpen(rendered), Stop: req.Stop,
	})
	s.text = e.tok.Detokenizer(true)
	s.counts = new(sampling.Counts)
	if s.params.Repetition != 1 {
		for _, id := range ids {
			s.counts.AddPrompt(int(id))
		}
	}
	return e.enqueue(ctx, s)
}

func (e *Engine) enqueue(ctx context.Context, s *sequence) (*Stream, error) {
	seqCtx, cancel := context.WithCancel(ctx)
	s.ctx = seqCtx
	s.stream = newStream(len(s.ids), func() {
		cancel()
		if e.queue.remove(s) {
			s.fail(errCancelled)
		}
	})
	if n, ok := e.queue.push(s); !ok {
		cancel()
		if e.ctx.Err() != nil {
			return nil, errShutdown
		}
		return nil, &RequestError{Kind: QueueFull, Message: fmt.Sprintf("%d requests are waiting already, the limit: try again later", n)}
	}
	context.AfterFunc(ctx, s.stream.cancel)
	return s.stream, nil
}

var errCancelled = &RequestError{Kind: Cancelled, Message: "the request was cancelled"}

// prompt renders a conversation and encodes it. Strings of added tokens in what people and tools wrote stay text.
func (e *Engine) prompt(req *Request) (ids []int32, rendered string, err error) {
	in, err := e.input(req)
	if err == nil {
		rendered, err = e.template.Render(in)
	}
	if err != nil {
		var t *chat.TemplateError
		var p *chat.ParamError
		switch {
		case errors.As(err, &p):
			return nil, "", &RequestError{Kind: Invalid, Param: p.Param, Message: p.Message}
		case errors.As(err, &t):
			return nil, "", &RequestError{Kind: Invalid, Param: "messages", Message: t.Message}
		}
		return nil, "", &RequestError{Kind: Invalid, Param: "messages", Message: err.Error()}
	}
	return e.memo.EncodeIn(req.Namespace, nil, e.tok, rendered), rendered, nil
}

// input is what the template takes: the normalised conversation and the request's template variables.
func (e *Engine) input(req *Request) (chat.Input, error) {
	c, err := chat.Normalize(req.Messages, req.Tools, e.tok)
	if err != nil {
		return chat.Input{}, err
	}
	vars, err := chat.Variables(req.TemplateKwargs, e.tok)
	return chat.Input{Messages: c.Messages, Tools: c.Tools, AddGenerationPrompt: true, Continue: c.Continue, Kwargs: vars}, err
}

// room is how many tokens the reply may have.
func (e *Engine) room(req *Request, prompt int) (int, error) {
	if req.MaxTokens < 0 {
		return 0, invalidf("max_tokens", "max_tokens is %d: want 1 or more", req.MaxTokens)
	}
	left := e.context - prompt
	if prompt == 0 {
		return 0, invalidf("messages", "the conversation renders to an empty prompt")
	}
	if left < 1 {
		return 0, &RequestError{Kind: ContextTooLong, Param: "messages", Message: fmt.Sprintf(
			"the prompt has %d tokens, and the context of %d tokens must hold it and a reply: shorten the conversation", prompt, e.context)}
	}
	if req.MaxTokens > 0 {
		return min(req.MaxTokens, left), nil
	}
	return left, nil
}

// params merges a request's overrides with the checkpoint's generation_config.json.
func (e *Engine) params(req *Request) (sampling.Params, error) {
	g, r := e.ck.Config.Generation, req.Sampling
	p := sampling.Params{
		Temperature: pick(r.Temperature, g.Temperature, 1), TopP: pick(r.TopP, g.TopP, 1), MinP: pick(r.MinP, g.MinP, 0),
		TopK: pick(r.TopK, g.TopK, 0), Repetition: pick(r.RepetitionPenalty, g.RepetitionPenalty, 1),
		Presence: pick(r.PresencePenalty, nil, 0), Frequency: pick(r.FrequencyPenalty, nil, 0),
		LogitBias: sampling.SortBias(r.LogitBias), Vocab: e.tok.Size(),
	}
	if r.Temperature == nil && g.DoSample != nil && !*g.DoSample {
		p.Temperature = 0
	}
	if r.Seed != nil {
		p.Seed = *r.Seed
	} else {
		var b [8]byte
		rand.Read(b[:])                                 // never fails (crypto/rand)
		p.Seed = binary.LittleEndian.Uint64(b[:]) >> 11 // fits a JSON number
	}
	return p, checkSampling(r, p.LogitBias, p.Vocab)
}

func pick[T any](request, model *T, neutral T) T {
	if request != nil {
		return *request
	}
	if model != nil {
		return *model
	}
	return neutral
}

// checkSampling holds the request's own values to the ranges of the OpenAI API and its common extensions.
func checkSampling(s Sampling, bias []sampling.Bias, vocab int) error {
	for _, f := range []struct {
		name        string
		value       *float32
		least, most float32
	}{
		{"temperature", s.Temperature, 0, MaxTemperature}, {"min_p", s.MinP, 0, 1},
		{"presence_penalty", s.PresencePenalty, -2, 2}, {"frequency_penalty", s.FrequencyPenalty, -2, 2},
	} {
		if f.value != nil && !(*f.value >= f.least && *f.value <= f.most) {
			return invalidf(f.name, "%s is %v: want a number from %v to %v", f.name, *f.value, f.least, f.most)
		}
	}
	if v := s.TopP; v != nil && !(*v > 0 && *v <= 1) {
		return invalidf("top_p", "top_p is %v: want a number above 0, at most 1", *v)
	}
	if v := s.RepetitionPenalty; v != nil && !(*v > 0 && *v <= MaxRepetitionPenalty) {
		return invalidf("repetition_penalty", "repetition_penalty is %v: want a number above 0, at most %d", *v, MaxRepetitionPenalty)
	}
	if v := s.TopK; v != nil && *v < 0 {
		return invalidf("top_k", "top_k is %d: want 0 (off) or more", *v)
	}
	if len(bias) > MaxLogitBias {
		return invalidf("logit_bias", "logit_bias has %d entries: at most %d", len(bias), MaxLogitBias)
	}
	for _, b := range bias {
		if b.Token < 0 || b.Token >= vocab || !(b.Value >= -100 && b.Value <= 100) {
			return invalidf("logit_bias", "logit_bias of token %d is %v: want tokens 0 to %d and values from -100 to 100", b.Token, b.Value, vocab-1)
		}
	}
	return nil
}

func checkStops(stops []string) error {
	if len(stops) > MaxStops {
		return invalidf("stop", "stop has %d strings: at most %d", len(stops), MaxStops)
	}
	for i, s := range stops {
		if s == "" || len(s) > MaxStopBytes {
			return invalidf(fmt.Sprintf("stop[%d]", i), "a stop string of %d bytes: want 1 to %d", len(s), MaxStopBytes)
		}
	}
	return nil
}
