package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// freed is how long a client that went away may hold the engine.
const freed = time.Second

// leaver is a request in flight whose client can go away.
type leaver struct {
	events atomic.Int32 // chunks with text seen
	cancel context.CancelFunc
	over   chan struct{}
}

func (s server) start(t testing.TB, b body) *leaver {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &leaver{cancel: cancel, over: make(chan struct{})}
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/chat/completions", b.reader(t))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	go func() {
		defer close(l.over)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		chunk := make([]byte, 4096)
		for {
			n, err := res.Body.Read(chunk)
			if bytes.Contains(chunk[:n], []byte(`content":"`)) && !bytes.Contains(chunk[:n], []byte(`role`)) {
				l.events.Add(1)
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-l.over })
	return l
}

func (l *leaver) leave() { l.cancel(); <-l.over }

func (s server) busy(running, waiting int) func() bool {
	return func() bool {
		st := s.engine.Status()
		return st.Running == running && st.Waiting == waiting
	}
}

// long is a prompt of about n tokens.
func long(n int) string { return strings.Repeat("one two three four five six ", n/10) }

// TestClientGoesAway leaves in every phase of a request, streamed and not: the engine is free within a second and answers the
// next client as ever.
func TestClientGoesAway(t *testing.T) {
	c := settings()
	c.Threads = 1 // slower, so that the phases are longer than the limit
	s := serve(t, c)
	want := s.must(t, user("Hello!")).said()
	before := runtime.NumGoroutine()
	for _, stream := range []bool{false, true} {
		mode := map[bool]string{false: "whole ", true: "streamed "}[stream]
		decode := endless("Hello!", 60000).with(body{"stream": stream})
		prefill := endless(long(50000), 10000).with(body{"stream": stream})

		t.Run(mode+"prefill", func(t *testing.T) {
			l := s.start(t, prefill)
			until(t, 10*time.Second, "the request runs", s.busy(1, 0))
			time.Sleep(50 * time.Millisecond)
			if l.events.Load() > 0 {
				t.Fatal("the prefill is over already")
			}
			l.leave()
			t.Log("free after", until(t, freed, "the engine is free", s.busy(0, 0)))
		})
		t.Run(mode+"decode", func(t *testing.T) {
			l := s.start(t, decode)
			until(t, 10*time.Second, "the request runs", s.busy(1, 0))
			if stream {
				until(t, 10*time.Second, "text arrives", func() bool { return l.events.Load() > 3 })
			} else {
				time.Sleep(100 * time.Millisecond) // its prompt of a few tokens is long done
			}
			if !s.busy(1, 0)() {
				t.Fatal("the answer is complete already")
			}
			l.leave()
			t.Log("free after", until(t, freed, "the engine is free", s.busy(0, 0)))
		})
		t.Run(mode+"queue", func(t *testing.T) {
			first := s.start(t, decode)
			until(t, 10*time.Second, "the first runs", s.busy(1, 0))
			second := s.start(t, decode)
			until(t, 10*time.Second, "the second waits", s.busy(1, 1))
			second.leave()
			t.Log("place free after", until(t, freed, "nobody waits", func() bool { return s.engine.Status().Waiting == 0 }))
			if !s.busy(1, 0)() {
				t.Error("the first was ended too")
			}
			first.leave()
			until(t, freed, "the engine is free", s.busy(0, 0))
		})
		if got := s.must(t, user("Hello!")).said(); got != want {
			t.Errorf("%s: after cancelled requests %+v, before %+v", mode, got, want)
		}
	}
	until(t, 5*time.Second, "goroutines end", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= before
	})
}

// TestFullQueue fills the line and checks that the next request is refused at once, and that those in line are served.
func TestFullQueue(t *testing.T) {
	c := settings()
	c.MaxQueue = 2
	s := serve(t, c)
	holder := s.start(t, endless("Hello!", 60000))
	until(t, 10*time.Second, "one runs", s.busy(1, 0))
	var line sync.WaitGroup
	for i := range 2 {
		line.Go(func() {
			if a, err := s.tryAsk(t, user("What can you do?")); err != nil || a.status != http.StatusOK {
				t.Errorf("waiting request: %d %v", a.status, err)
			}
		})
		until(t, 5*time.Second, "it waits", s.busy(1, i+1))
	}
	for _, stream := range []bool{false, true} {
		begin := time.Now()
		a := s.ask(t, user("Hello!").with(body{"stream": stream}))
		if a.status != http.StatusTooManyRequests || a.retryAfter == "" || a.Error.Code != "queue_full" || !strings.Contains(a.Error.Message, "2") || time.Since(begin) > freed {
			t.Errorf("stream %v: status %d, Retry-After %q, %+v, after %v", stream, a.status, a.retryAfter, a.Error, time.Since(begin))
		}
	}
	if h, code := s.health(t); code != http.StatusOK || h.Running != 1 || h.Waiting != 2 {
		t.Errorf("health: %d %+v", code, h)
	}
	holder.leave()
	line.Wait()
}

// TestQueueIsFair lets a client with one request pass one with many.
func TestQueueIsFair(t *testing.T) {
	s := serve(t, settings())
	holder := s.start(t, endless("Hello!", 60000))
	until(t, 10*time.Second, "one runs", s.busy(1, 0))
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	for i, who := range []string{"many", "many", "many", "many", "one"} {
		all.Go(func() {
			raw, _ := json.Marshal(endless("Hello!", 200).with(body{"cache_salt": who}))
			res, err := http.Post(s.url+"/v1/chat/completions", "application/json", bytes.NewReader(raw))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			io.Copy(io.Discard, res.Body)
			mu.Lock()
			order = append(order, who)
			mu.Unlock()
		})
		until(t, 5*time.Second, "it waits", s.busy(1, i+1))
	}
	holder.leave()
	all.Wait()
	if place := strings.Join(order, " "); !strings.HasPrefix(place, "many one") && !strings.HasPrefix(place, "one") {
		t.Errorf("served in the order %s", place)
	}
}
