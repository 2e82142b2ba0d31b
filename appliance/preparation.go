package appliance

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"hearth/appliance/openai"
)

// preparation bounds how many large bodies are decompressed, decoded, rendered and tokenised at once. Each takes some ten
// times its size in memory and seconds of a core, before the engine's own queue sees the request. Small bodies pass.
type preparation chan struct{}

func newPreparation() preparation { return make(preparation, maxPreparations) }

// enter waits for a place, if the body is large or may unpack to one. leave gives it back; it may be called twice.
func (s *Server) enter(c *fiber.Ctx) (leave func(), err error) {
	if len(c.Request().Body()) <= largeBodyBytes && c.Get(fiber.HeaderContentEncoding) == "" {
		return func() {}, nil
	}
	select {
	case s.large <- struct{}{}:
	default:
		patience := time.NewTimer(s.opt.PreparationWait)
		defer patience.Stop()
		select {
		case s.large <- struct{}{}:
		case <-s.base.Done():
			return nil, &openai.Error{Status: http.StatusServiceUnavailable, Type: openai.TypeUnavailable, Code: "shutting_down",
				Message: errStopping.Error(), RetryAfter: 5 * time.Second}
		case <-patience.C:
			return nil, &openai.Error{Status: http.StatusTooManyRequests, Type: openai.TypeRateLimit, Code: "queue_full", RetryAfter: 5 * time.Second,
				Message: fmt.Sprintf("%d requests larger than %d bytes are being read already, the limit: try again later", maxPreparations, largeBodyBytes)}
		}
	}
	return sync.OnceFunc(func() { <-s.large }), nil
}
