package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"hearth/engine/device"
)

// serve computes one sequence after the other until the engine is closed. It is the only goroutine that uses the device.
func (e *Engine) serve() {
	debug.SetPanicOnFault(true) // see guarded
	for {
		s := e.queue.pop()
		if s == nil {
			select {
			case <-e.queue.arrived:
				continue
			case <-e.ctx.Done():
				for _, left := range e.queue.close() {
					left.fail(errShutdown)
				}
				return
			}
		}
		e.running.Store(1)
		e.run(s)
		e.running.Store(0)
	}
}

var errShutdown = &RequestError{Kind: NotReady, Message: "the server is shutting down"}

// failedModel refuses a request because of what became of the model.
func failedModel(why error) error {
	return &RequestError{Kind: NotReady, Message: "the model failed: " + why.Error()}
}

// run computes one sequence from its prompt to its end.
func (e *Engine) run(s *sequence) {
	defer s.stream.cancel()
	stop := context.AfterFunc(e.ctx, s.stream.cancel)
	defer stop()
	s.result.Timings.Queue = time.Since(s.queued)
	reason, err := e.guarded(s)
	if err == nil {
		err = s.finish(reason)
	}
	switch {
	case err == nil:
	case e.ctx.Err() != nil:
		s.fail(errShutdown)
	case errors.Is(err, errWeightsGone):
		e.fail(err)
		s.fail(failedModel(err))
	case s.ctx.Err() != nil: // cancelled, or past its deadline
		s.fail(errCancelled)
	default:
		e.log.Error("sequence failed", "request", s.req.ID, "error", err)
		s.fail(&RequestError{Kind: Internal, Message: "the engine failed on this request"})
	}
	e.log.Info("sequence done", "request", s.req.ID, "prompt_tokens", s.result.PromptTokens, "output_tokens", s.result.OutputTokens,
		"finish", reason, "queue", s.result.Timings.Queue, "prefill", s.result.Timings.Prefill, "decode", s.result.Timings.Decode)
}

var errWeightsGone = errors.New("a weight file cannot be read any more, it was changed or its disk failed: copy the model again and restart")

// guarded is generate. Embeddings are read from mapped files: a page that is gone, because the file was cut or its disk
// failed, must not end the process. Any other panic is a bug and passes.
func (e *Engine) guarded(s *sequence) (reason FinishReason, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface {
			error
			Addr() uintptr // only faults have one, see debug.SetPanicOnFault
		}:
			err = fmt.Errorf("%w (%v)", errWeightsGone, p)
		default:
			panic(p)
		}
	}()
	return e.generate(s)
}

// generate prefills all of the prompt but its last token, which is the first round's root, and then takes a token a round.
func (e *Engine) generate(s *sequence) (FinishReason, error) {
	start := time.Now()
	s.pages = e.allPages()
	e.dev.ResetState(s.state)
	if err := e.prefill(s); err != nil {
		return "", err
	}
	root, position := s.ids[len(s.ids)-1], len(s.ids)-1
	plan := [1]device.RoundPlan{{State: s.state, Pages: s.pages, Params: s.params, Mask: e.named, Counts: s.counts}}
	var result [1]device.RoundResult
	t := &s.result.Timings
	t.PrefillTokens = len(s.ids)
	first := start
	defer func() { t.Decode = time.Since(first) }()
	for {
		plan[0].Root, plan[0].Position, plan[0].Index = root, position, uint64(s.result.OutputTokens)
		if err := e.dev.Round(s.ctx, plan[:], result[:]); err != nil {
			return "", err
		}
		root, position = result[0].Token, position+1
		if first == start {
			first = time.Now()
			t.Prefill = first.Sub(start)
		} else {
			t.DecodeTokens++
		}
		if e.eos[root] {
			return FinishStop, nil
		}
		if stopped, err := s.accept(root); stopped || err != nil {
			return FinishStop, err
		}
		if s.result.OutputTokens >= s.maxTokens {
			return FinishLength, nil
		}
	}
}

func (e *Engine) prefill(s *sequence) error {
	rows := e.dev.Geometry().MaxRows
	for at, end := 0, len(s.ids)-1; at < end; at += rows {
		chunk := device.Prefill{State: s.state, Pages: s.pages, Position: at, Tokens: s.ids[at:min(at+rows, end)]}
		if err := e.dev.Prefill(s.ctx, []device.Prefill{chunk}); err != nil {
			return err
		}
	}
	return nil
}

// allPages gives the one running sequence every page of the device.
func (e *Engine) allPages() []device.PageID {
	ids := make([]device.PageID, e.dev.Geometry().Pages)
	for i := range ids {
		ids[i] = device.PageID(i)
	}
	return ids
}
