package appliance

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"hearth/appliance/openai"
	"hearth/engine/chat"
)

// errSlowReader is why a stream ends whose client reads too slowly.
var errSlowReader = errors.New("the client reads too slowly")

// sendStream answers with server-sent events. The handler returns at once; fasthttp then runs the writer on a goroutine
// of its own.
func (s *Server) sendStream(c *fiber.Ctx, x *exchange) {
	c.Status(http.StatusOK)
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set("X-Accel-Buffering", "no")
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.release(x)
		defer s.caught(x)
		s.writeStream(w, x)
	})
}

// caught is deferred by the goroutines of a stream: a panic would end the process. It ends the exchange instead.
func (s *Server) caught(x *exchange) {
	if p := recover(); p != nil {
		s.log.Error("a stream panicked", "request", x.id, "panic", p, "stack", string(debug.Stack()))
		x.cancel(fmt.Errorf("panic: %v", p))
	}
}

// writeStream sends events as they come, pings when they do not, and at the end why the answer ended.
func (s *Server) writeStream(w *bufio.Writer, x *exchange) {
	chunks := openai.NewChunks(x.head)
	send := func(b []byte) bool {
		w.Write(b) // Flush has its error
		if w.Flush() != nil {
			x.cancel(errClientGone)
			return false
		}
		return true
	}
	backlog := newBacklog(s.opt.StreamBuffer)
	go func() {
		defer backlog.end()
		defer s.caught(x)
		for {
			event, more := x.stream.Next(x.ctx)
			if !more {
				return
			}
			if !backlog.push(event) {
				s.slowReader(x)
				return
			}
		}
	}()
	if send(chunks.Role()) {
		s.pump(send, chunks, backlog, x)
	}
	backlog.wait()
	result, err := x.stream.Result()
	if cause := x.interrupted(); cause != nil {
		err = x.reason(cause)
	}
	s.logEnd(x, result, err)
	if err != nil {
		send(chunks.Failure(openai.FromError(err, x.id)))
		return
	}
	send(chunks.Finish(result))
	if x.usage {
		send(chunks.Usage(result))
	}
	send([]byte(openai.Done))
}

// pump moves events from the backlog to the client until the last one or the first failure.
func (s *Server) pump(send func([]byte) bool, chunks *openai.Chunks, backlog *backlog, x *exchange) {
	silence := time.NewTicker(s.opt.KeepAlive)
	defer silence.Stop()
	for {
		select {
		case <-silence.C:
			if !send([]byte(openai.Ping)) {
				return
			}
			continue
		case <-x.ctx.Done():
			return
		case <-backlog.news:
		}
		events, over := backlog.take()
		for _, event := range events {
			if b := chunks.Event(event); b != nil && !send(b) {
				return
			}
		}
		if over {
			return
		}
		silence.Reset(s.opt.KeepAlive)
	}
}

// slowReader cancels the exchange and drops its connection: the writer may be stuck in it.
func (s *Server) slowReader(x *exchange) {
	s.log.Warn("cancelling a stream whose client reads too slowly", "request", x.id, "buffer_bytes", s.opt.StreamBuffer)
	x.cancel(errSlowReader)
	if conn, ok := x.conn.(*clientConn); ok {
		conn.abort()
	}
}

// backlog holds events that the client has not taken yet, up to a limit in bytes.
type backlog struct {
	limitBytes int
	news       chan struct{} // holds one token while there is something to take
	finished   chan struct{}

	mu     sync.Mutex
	events []pending
	bytes  int
	over   bool
}

// pending is an event whose text may still grow.
type pending struct {
	chat.Event
	text []byte
}

// eventBytes is counted for each event besides its text.
const eventBytes = 64

func newBacklog(limitBytes int) *backlog {
	return &backlog{limitBytes: limitBytes, news: make(chan struct{}, 1), finished: make(chan struct{})}
}

// push adds an event; it is false when that would pass the limit. With many waiting, neighbours of one kind are joined.
func (b *backlog) push(e chat.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := len(e.Text) + len(e.Name)
	last := len(b.events) - 1
	joined := last+1 >= coalesceEvents && e.Continues(b.events[last].Event)
	if !joined {
		size += eventBytes
	}
	if b.bytes+size > b.limitBytes && last >= 0 {
		return false
	}
	b.bytes += size
	if joined {
		b.events[last].text = append(b.events[last].text, e.Text...)
	} else {
		b.events = append(b.events, pending{e, []byte(e.Text)})
	}
	b.wake()
	return true
}

func (b *backlog) wake() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// end is called once, after the last push.
func (b *backlog) end() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.wake()
	close(b.finished)
}

// wait returns after end.
func (b *backlog) wait() { <-b.finished }

// take empties the backlog; over says that nothing will follow.
func (b *backlog) take() (events []chat.Event, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.events {
		p.Text = string(p.text)
		events = append(events, p.Event)
	}
	b.events, b.bytes = nil, 0
	return events, b.over
}
