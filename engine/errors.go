package engine

import "fmt"

// RequestError is a request the engine refuses. Kind decides the status code of the surface in front.
type RequestError struct {
	Kind    ErrorKind
	Param   string // field path in the request, or ""
	Message string
}

// ErrorKind classifies a refusal.
type ErrorKind uint8

const (
	Invalid        ErrorKind = iota // 400
	ContextTooLong                  // 400 context_length_exceeded
	QueueFull                       // 429
	NotReady                        // 503
	Cancelled                       // the caller went away
	Internal                        // 500: our fault
)

func (e *RequestError) Error() string { return e.Message }

func invalidf(param, format string, args ...any) error {
	return &RequestError{Kind: Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}
