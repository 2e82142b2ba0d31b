package appliance

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"hearth/appliance/openai"
	"hearth/console"
)

// routes remembers which methods a path has, for Allow.
type routes map[string][]string

// route installs all handlers. What is not listed here is answered by notFound.
func (s *Server) route() {
	s.hits = routes{}
	s.app.Use(s.identify, s.recoverPanic, s.guardHost, s.guardOrigin)
	s.handle(fiber.MethodPost, "/v1/chat/completions", s.chatCompletions)
	s.handle(fiber.MethodGet, "/v1/models", s.listModels)
	s.handle(fiber.MethodGet, "/v1/models/+", s.showModel)
	s.handle(fiber.MethodGet, "/health", s.health)
	s.handle(fiber.MethodPost, "/tokenize", s.tokenize)
	s.handle(fiber.MethodPost, "/detokenize", s.detokenize)
	for path, h := range console.Handlers(consoleSource{s}) {
		s.handle(fiber.MethodGet, path, h)
	}
	for path, methods := range s.hits {
		s.app.All(path, otherMethod(strings.Join(methods, ", ")))
	}
	s.app.Use(s.notFound)
}

func (s *Server) handle(method, path string, h fiber.Handler) {
	methods := []string{method}
	if method == fiber.MethodGet {
		methods = append(methods, fiber.MethodHead)
	}
	s.hits[path] = append(s.hits[path], append(methods, fiber.MethodOptions)...)
	s.app.Add(method, path, h)
	if method == fiber.MethodGet {
		s.app.Add(fiber.MethodHead, path, h)
	}
}

// otherMethod answers OPTIONS, and refuses what the path does not do.
func otherMethod(allow string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderAllow, allow)
		if c.Method() == fiber.MethodOptions {
			return c.SendStatus(http.StatusNoContent)
		}
		return &openai.Error{Status: http.StatusMethodNotAllowed, Type: openai.TypeInvalidRequest, Code: "method_not_allowed",
			Message: "this path takes " + allow}
	}
}

// notFound refuses an unknown path, with a hint where the client's base URL lacks or doubles /v1.
func (s *Server) notFound(c *fiber.Ctx) error {
	path := strings.TrimSuffix(c.Path(), "/")
	message := "nothing is served at this path; under /v1 there are chat/completions and models, at / a page for people"
	for strings.HasPrefix(path, "/v1/v1/") {
		path = path[len("/v1"):]
	}
	if !strings.HasPrefix(path, "/v1/") {
		path = "/v1" + path
	}
	if _, ok := s.hits[path]; ok || strings.HasPrefix(path, "/v1/models/") {
		message = "use " + path[:min(len(path), 64)] + ": the base URL of a client ends in /v1, once"
	}
	return &openai.Error{Status: http.StatusNotFound, Type: openai.TypeNotFound, Code: "not_found", Message: message}
}

// keyRequestID is where identify leaves the request's id.
const keyRequestID = "request-id"

func requestID(c *fiber.Ctx) string {
	id, _ := c.Locals(keyRequestID).(string)
	return id
}

// identify names the request and logs its end. A stream is logged again, with its counts, when it ends.
func (s *Server) identify(c *fiber.Ctx) error {
	id := ensureRequestID(c)
	begin := time.Now()
	err := c.Next()
	if err != nil {
		if err := s.failed(c, err); err != nil {
			return err
		}
	}
	s.log.Debug("handled", "request", id, "method", c.Method(), "path", c.Path(), "status", c.Response().StatusCode(),
		"duration", time.Since(begin))
	return nil
}

// ensureRequestID takes the client's id if it is sane, else draws one, and puts it on the answer.
func ensureRequestID(c *fiber.Ctx) string {
	id := strings.Clone(c.Get(fiber.HeaderXRequestID))
	printable := !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
	if id == "" || len(id) > maxRequestIDBytes || !printable {
		var raw [12]byte
		rand.Read(raw[:]) // never fails
		id = "req_" + hex.EncodeToString(raw[:])
	}
	c.Locals(keyRequestID, id)
	c.Set(fiber.HeaderXRequestID, id)
	return id
}

func (s *Server) recoverPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a handler panicked", "request", requestID(c), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.Next()
}

// failed is where every error becomes an answer, also those that fiber and fasthttp raise before a handler runs.
func (s *Server) failed(c *fiber.Ctx, err error) error {
	id := requestID(c)
	if id == "" {
		id = ensureRequestID(c)
	}
	refusal := s.refusal(err, id)
	if conn, ok := c.Context().Conn().(*clientConn); ok && errors.As(err, new(*fiber.Error)) {
		conn.linger()
	}
	if refusal.Status >= http.StatusInternalServerError && refusal.Type == openai.TypeServer {
		s.log.Error("a request failed", "request", id, "path", c.Path(), "error", err)
	} else {
		attrs := []any{"request", id, "path", c.Path(), "status", refusal.Status, "reason", refusal.Message}
		if refusal.Param != "" {
			attrs = append(attrs, "param", refusal.Param)
		}
		s.log.Info("refused", attrs...)
	}
	if refusal.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(refusal.RetryAfter.Seconds())))
	}
	if refusal.Status == openai.StatusClientGone {
		c.Context().SetConnectionClose() // nobody reads the rest
	}
	return sendJSON(c, refusal.Status, refusal)
}

// refusal classifies an error.
func (s *Server) refusal(err error, id string) *openai.Error {
	var transport *fiber.Error
	if !errors.As(err, &transport) {
		return openai.FromError(err, id)
	}
	switch transport.Code {
	case http.StatusRequestEntityTooLarge:
		return bodyTooLarge()
	case http.StatusRequestHeaderFieldsTooLarge:
		return &openai.Error{Status: transport.Code, Type: openai.TypeInvalidRequest, Code: "header_too_large",
			Message: fmt.Sprintf("the request line and headers are larger than %d bytes", maxHeaderBytes)}
	case http.StatusRequestTimeout, http.StatusBadGateway: // what fiber calls other failures to read a request
		return &openai.Error{Status: http.StatusRequestTimeout, Type: openai.TypeInvalidRequest, Code: "request_timeout",
			Message: fmt.Sprintf("the request did not arrive within %s", readTimeout)}
	}
	if transport.Code >= 500 {
		return openai.FromError(err, id)
	}
	return &openai.Error{Status: transport.Code, Type: openai.TypeInvalidRequest, Message: "the request is not valid HTTP"}
}

func sendJSON(c *fiber.Ctx, status int, v any) error {
	b, err := openai.Marshal(v)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(status).Send(b)
}

// modelNames are the loaded model's own name and its aliases, each once.
func (s *Server) modelNames() []string {
	var names []string
	if name := s.opt.Engine.Status().Model.Name; name != "" {
		names = append(names, name)
	}
	for _, alias := range s.opt.Aliases {
		if !slices.Contains(names, alias) {
			names = append(names, alias)
		}
	}
	return names
}

// checkModel refuses a name that is not the model's. No name means the loaded model.
func (s *Server) checkModel(name string) error {
	if name == "" || s.opt.AnyModel || slices.Contains(s.modelNames(), name) {
		return nil
	}
	return s.unknownModel(name)
}

func (s *Server) unknownModel(name string) *openai.Error {
	return &openai.Error{Status: http.StatusNotFound, Type: openai.TypeInvalidRequest, Code: "model_not_found", Param: "model",
		Message: fmt.Sprintf("the model %.64q is not loaded here; there is: %s", name, strings.Join(s.modelNames(), ", "))}
}
