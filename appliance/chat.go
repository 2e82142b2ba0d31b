package appliance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"hearth/appliance/openai"
	"hearth/engine"
)

// exchange is one chat completion between its client and the engine. It holds nothing that fasthttp owns but the
// connection.
type exchange struct {
	id     string
	begin  time.Time
	conn   net.Conn
	head   openai.Head
	ctx    context.Context // ends when the client goes, the reader is too slow, or the server stops
	cancel context.CancelCauseFunc
	stream Stream
	usage  bool // stream_options.include_usage
}

// chatCompletions answers POST /v1/chat/completions. Every refusal happens before the first byte of a stream.
func (s *Server) chatCompletions(c *fiber.Ctx) error {
	begin := time.Now()
	leave, err := s.enter(c)
	if err != nil {
		return err
	}
	defer leave()
	body, err := requestBody(c)
	if err != nil {
		return err
	}
	req, err := openai.DecodeChat(body, s.unknown.note)
	if err != nil {
		return err
	}
	status, err := s.ready()
	if err != nil {
		return err
	}
	if err := s.checkModel(req.Model); err != nil {
		return err
	}
	x := &exchange{id: requestID(c), begin: begin, conn: c.Context().Conn(), usage: req.IncludeUsage,
		head: openai.NewHead(status.Model.Name, s.fingerprint(status.Model), begin)}
	req.ID = x.id
	x.ctx, x.cancel = context.WithCancelCause(s.base)
	go watchPeer(x.ctx, x.conn, s.opt.PeerPoll, x.cancel)
	streaming := false
	defer func() {
		if !streaming { // also when a panic passes through
			s.release(x)
		}
	}()
	if x.stream, err = s.opt.Engine.Chat(x.ctx, &req.Request); err != nil {
		return x.reason(err)
	}
	leave()
	if req.Stream {
		s.sendStream(c, x)
		streaming = true
		return nil
	}
	return s.sendAnswer(c, x)
}

// release frees what the exchange holds in the engine.
func (s *Server) release(x *exchange) {
	if x.stream != nil {
		x.stream.Close()
	}
	x.cancel(nil)
}

// ready refuses while there is no model to ask.
func (s *Server) ready() (engine.Status, error) {
	status := s.opt.Engine.Status()
	refusal := &openai.Error{Status: http.StatusServiceUnavailable, Type: openai.TypeUnavailable, RetryAfter: 5 * time.Second}
	switch {
	case s.draining.Load():
		refusal.Code, refusal.Message = "shutting_down", errStopping.Error()
	case status.State == engine.Ready:
		return status, nil
	case status.State == engine.Failed:
		refusal.Code, refusal.Message, refusal.RetryAfter = "model_failed", "the model could not be loaded; /health says why", 0
	default:
		refusal.Code, refusal.Message = "model_loading", "the model is still loading; /health shows the progress"
	}
	return status, refusal
}

// reason replaces an error that follows from a cancelled context by what cancelled it.
func (x *exchange) reason(err error) error {
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errStopping):
		return &openai.Error{Status: http.StatusServiceUnavailable, Type: openai.TypeUnavailable, Code: "shutting_down",
			Message: errStopping.Error(), RetryAfter: 5 * time.Second}
	case errors.Is(cause, errClientGone), errors.Is(cause, errSlowReader):
		return &openai.Error{Status: openai.StatusClientGone, Type: openai.TypeServer, Code: "cancelled", Message: cause.Error()}
	}
	return err
}

// sendAnswer waits for the whole answer.
func (s *Server) sendAnswer(c *fiber.Ctx, x *exchange) error {
	var answer openai.Answer
	for {
		event, more := x.stream.Next(x.ctx)
		if !more {
			break
		}
		answer.Add(event)
	}
	result, err := x.stream.Result()
	if err == nil {
		err = x.interrupted()
	}
	if err != nil {
		err = x.reason(err)
		s.logEnd(x, result, err)
		return err
	}
	s.logEnd(x, result, nil)
	return sendJSON(c, http.StatusOK, answer.Completion(x.head, result))
}

// interrupted is why the exchange was cancelled, or nil.
func (x *exchange) interrupted() error {
	if x.ctx.Err() == nil {
		return nil
	}
	return context.Cause(x.ctx)
}

func (s *Server) logEnd(x *exchange, r engine.Result, err error) {
	attrs := []any{"request", x.id, "duration", time.Since(x.begin).Round(time.Millisecond),
		"prompt_tokens", x.stream.PromptTokens(), "cached_tokens", r.CachedTokens, "output_tokens", r.OutputTokens}
	switch {
	case err == nil:
		s.log.Info("answered", append(attrs, "finish", r.Finish)...)
	case openai.FromError(err, x.id).Status == openai.StatusClientGone:
		s.log.Info("cancelled", append(attrs, "reason", err)...)
	default:
		s.log.Warn("broke off", append(attrs, "error", err)...)
	}
}
