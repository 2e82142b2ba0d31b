package appliance

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hearth/engine"
	"hearth/engine/chat"
)

// fakeEngine answers every request with a script.
type fakeEngine struct {
	mu     sync.Mutex
	status engine.Status
	script script
	refuse error // Chat returns it
	seen   []*engine.Request
	last   *fakeStream
}

// script is what a fake stream does.
type script struct {
	queue  chan struct{} // first event waits until closed; nil does not wait
	events []chat.Event
	gate   chan struct{} // each event takes one token; nil does not wait
	repeat int           // the events this many times
	result engine.Result
	err    error
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{status: engine.Status{State: engine.Ready, Model: engine.ModelInfo{
		Name: "qwen-test", Architecture: "Qwen3_5ForCausalLM", Parameters: 4_200_000, WeightBytes: 2_100_000, Formats: "NVFP4 (W4A4), BF16",
		KVFormat: "bf16", ContextLength: 32768, VocabSize: 2048, MTP: true, Fingerprint: "0123456789abcdef0123", Created: 1_760_000_000,
		Level: "avx2", Threads: 2}}}
}

func (f *fakeEngine) set(s script) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = s
}

func (f *fakeEngine) setStatus(s engine.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = s
}

func (f *fakeEngine) Status() engine.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fakeEngine) request() *engine.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) == 0 {
		return nil
	}
	return f.seen[len(f.seen)-1]
}

func (f *fakeEngine) stream() *fakeStream {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *fakeEngine) Chat(ctx context.Context, req *engine.Request) (Stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.seen = append(f.seen, req)
	s := &fakeStream{script: f.script, ctx: ctx, closed: make(chan struct{})}
	f.last = s
	return s, nil
}

func (f *fakeEngine) Tokenize(text string, special bool) ([]int32, error) {
	var ids []int32
	for _, r := range text {
		ids = append(ids, int32(r))
	}
	if special {
		ids = append(ids, 1)
	}
	return ids, nil
}

func (f *fakeEngine) Detokenize(ids []int32) (string, error) {
	var b strings.Builder
	for _, id := range ids {
		if id > 0x10ffff {
			return "", &engine.RequestError{Kind: engine.Invalid, Param: "tokens", Message: "token id out of range"}
		}
		b.WriteRune(rune(id))
	}
	return b.String(), nil
}

func (f *fakeEngine) Wait(context.Context) error { return nil }
func (f *fakeEngine) Close() error               { return nil }

type fakeStream struct {
	script script
	ctx    context.Context
	at     int
	count  atomic.Int64 // events handed out
	once   sync.Once
	closed chan struct{}
}

func (s *fakeStream) PromptTokens() int { return s.script.result.PromptTokens }

func (s *fakeStream) Next(ctx context.Context) (chat.Event, bool) {
	for _, wait := range []chan struct{}{s.script.queue, s.script.gate} {
		if wait == nil {
			continue
		}
		select {
		case <-wait:
		case <-s.closed:
			return chat.Event{}, false
		case <-ctx.Done():
			return chat.Event{}, false
		case <-s.ctx.Done():
			return chat.Event{}, false
		}
	}
	n := len(s.script.events)
	if s.at >= n*max(s.script.repeat, 1) {
		return chat.Event{}, false
	}
	e := s.script.events[s.at%n]
	s.at++
	s.count.Add(1)
	return e, true
}

func (s *fakeStream) Result() (engine.Result, error) { return s.script.result, s.script.err }
func (s *fakeStream) Close()                         { s.once.Do(func() { close(s.closed) }) }

// wasClosed waits for Close.
func (s *fakeStream) wasClosed(within time.Duration) bool {
	select {
	case <-s.closed:
		return true
	case <-time.After(within):
		return false
	}
}

// text is a script of content pieces.
func text(pieces ...string) script {
	s := script{result: engine.Result{Finish: engine.FinishStop, PromptTokens: 12, CachedTokens: 7, OutputTokens: len(pieces)}}
	for _, p := range pieces {
		s.events = append(s.events, chat.Event{Kind: chat.Content, Text: p})
	}
	return s
}

// call is the events of one complete call.
func call(index int, name string, args ...string) []chat.Event {
	events := []chat.Event{{Kind: chat.CallStart, Index: index, Name: name}}
	for _, a := range args {
		events = append(events, chat.Event{Kind: chat.CallArgs, Index: index, Text: a})
	}
	return append(events, chat.Event{Kind: chat.CallEnd, Index: index})
}

// serve starts a server over the engine on a real listener and gives its base URL.
func serve(t testing.TB, e Engine, change func(*Options)) (url string, s *Server) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Engine: e, Version: "test", Log: slog.New(slog.DiscardHandler), Listen: ln.Addr().String(), PeerPoll: 50 * time.Millisecond}
	if change != nil {
		change(&opt)
	}
	s = New(opt)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + ln.Addr().String(), s
}
