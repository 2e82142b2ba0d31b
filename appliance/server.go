package appliance

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"hearth/appliance/openai"
	"hearth/engine"
)

// Options of a Server. The zero value of a field means its default.
type Options struct {
	Engine  Engine
	Version string
	Log     *slog.Logger // default slog.Default()

	Listen       string   // the address as configured; decides which Host names are ours
	AllowHosts   []string // more Host names to answer to
	AllowOrigins []string // web origins that may call from a browser: https://example.org, or * for any
	Aliases      []string // more names of the model
	AnyModel     bool     // every model name means the loaded one

	KeepAlive    time.Duration // default keepAliveInterval
	PeerPoll     time.Duration // default peerPollInterval
	StreamBuffer int           // bytes, default streamBufferBytes
	Drain        time.Duration // default drainTimeout

	PreparationWait time.Duration // default preparationWait
}

// Server is the HTTP endpoint.
type Server struct {
	opt  Options
	log  *slog.Logger
	app  *fiber.App
	hits routes

	base     context.Context // parent of every request; cancelled with errStopping after the drain
	stop     context.CancelCauseFunc
	draining atomic.Bool

	large   preparation
	unknown unknownFields
	started time.Time
}

// errStopping is why requests end that outlive the drain.
var errStopping = errors.New("the server is shutting down")

// New builds a server; it does not listen yet.
func New(opt Options) *Server {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.KeepAlive == 0 {
		opt.KeepAlive = keepAliveInterval
	}
	if opt.PeerPoll == 0 {
		opt.PeerPoll = peerPollInterval
	}
	if opt.StreamBuffer == 0 {
		opt.StreamBuffer = streamBufferBytes
	}
	if opt.Drain == 0 {
		opt.Drain = drainTimeout
	}
	if opt.PreparationWait == 0 {
		opt.PreparationWait = preparationWait
	}
	s := &Server{large: newPreparation(), opt: opt, log: opt.Log, started: time.Now()}
	s.base, s.stop = context.WithCancelCause(context.Background())
	s.unknown.log = s.log
	s.app = fiber.New(fiber.Config{
		AppName:                      "hearth",
		BodyLimit:                    openai.MaxBodyBytes,
		Concurrency:                  maxConnections,
		ReadBufferSize:               maxHeaderBytes,
		ReadTimeout:                  readTimeout,
		IdleTimeout:                  idleTimeout,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true,
		ErrorHandler:                 s.failed,
	})
	s.route()
	return s
}

// Serve answers requests on ln until Shutdown.
func (s *Server) Serve(ln net.Listener) error {
	return s.app.Listener(boundedListener{ln})
}

// Shutdown stops accepting, lets running requests finish within the drain, then ends them with an error in the stream.
// When ctx ends it does not wait for the drain.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	drained := time.AfterFunc(s.opt.Drain, func() {
		s.log.Warn("ending requests that outlived the drain", "drain", s.opt.Drain)
		s.stop(errStopping)
	})
	defer drained.Stop()
	defer context.AfterFunc(ctx, func() { s.stop(errStopping) })()
	bounded, cancel := context.WithTimeout(context.Background(), s.opt.Drain+closeTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closeTimeout, cancel) })()
	err := s.app.ShutdownWithContext(bounded)
	s.stop(errStopping)
	return err
}

// fingerprint identifies what produced an answer: this build and the weights.
func (s *Server) fingerprint(info engine.ModelInfo) string {
	weights := info.Fingerprint
	if len(weights) > 12 {
		weights = weights[:12]
	}
	if weights == "" {
		weights = "unknown"
	}
	return "hearth-" + s.opt.Version + "-" + weights
}

// unknownFields counts request fields that were ignored and logs each name once.
type unknownFields struct {
	mu    sync.Mutex
	count map[string]int
	log   *slog.Logger
}

func (u *unknownFields) note(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == nil {
		u.count = map[string]int{}
	}
	if _, seen := u.count[name]; !seen {
		if len(u.count) >= maxUnknownNames {
			u.count["…"]++
			return
		}
		u.log.Info("ignoring a request field that is not known here", "field", name)
	}
	u.count[name]++
}
