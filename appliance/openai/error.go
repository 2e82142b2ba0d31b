package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"hearth/engine"
)

// Error types of the protocol.
const (
	TypeInvalidRequest = "invalid_request_error"
	TypePermission     = "permission_error"
	TypeNotFound       = "not_found_error"
	TypeRateLimit      = "rate_limit_error"
	TypeUnavailable    = "service_unavailable"
	TypeServer         = "server_error"
)

// StatusClientGone is logged, never sent, for a request whose client closed the connection.
const StatusClientGone = 499

// Error is a refusal as the protocol spells it. Message never repeats prompt text.
type Error struct {
	Status     int // HTTP status
	Type       string
	Code       string // "" is null
	Param      string // path of the field at fault, "" is null
	Message    string
	RetryAfter time.Duration // 0: no Retry-After header
}

func (e *Error) Error() string { return e.Message }

// MarshalJSON gives the body {"error": {"message", "type", "param", "code"}}.
func (e *Error) MarshalJSON() ([]byte, error) {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	body := struct {
		Error inner `json:"error"`
	}{inner{Message: e.Message, Type: e.Type, Param: orNull(e.Param), Code: orNull(e.Code)}}
	return json.Marshal(body)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Invalidf is a 400 that blames the field at path param.
func Invalidf(param, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Type: TypeInvalidRequest, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Unsupported is a 400 for a known field whose value asks for something that is not built.
func Unsupported(param, what string) *Error {
	e := Invalidf(param, "%s is not supported", what)
	e.Code = "unsupported_value"
	return e
}

// retryAfterQueue is how long a client should wait after a full queue or while a model loads.
const retryAfterQueue = 5 * time.Second

// FromError turns whatever the engine returned into an Error. An error that is not a refusal is ours: its text stays in
// the log, the client gets the request id.
func FromError(err error, requestID string) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var refusal *engine.RequestError
	if !errors.As(err, &refusal) || refusal.Kind == engine.Internal {
		return &Error{Status: http.StatusInternalServerError, Type: TypeServer,
			Message: "the server failed to answer this request; its log has the reason under request id " + requestID}
	}
	e := &Error{Status: http.StatusBadRequest, Type: TypeInvalidRequest, Param: refusal.Param, Message: refusal.Message}
	switch refusal.Kind {
	case engine.ContextTooLong:
		e.Code = "context_length_exceeded"
	case engine.QueueFull:
		e.Status, e.Type, e.Code, e.RetryAfter = http.StatusTooManyRequests, TypeRateLimit, "queue_full", retryAfterQueue
	case engine.NotReady:
		e.Status, e.Type, e.Code, e.RetryAfter = http.StatusServiceUnavailable, TypeUnavailable, "model_not_ready", retryAfterQueue
	case engine.Cancelled:
		e.Status, e.Type, e.Code = StatusClientGone, TypeServer, "cancelled"
	}
	return e
}
