package appliance

import (
	"context"
	"strings"
	"testing"
	"time"

	"hearth/engine"
)

// blocking is an engine that takes its time over every prompt.
type blocking struct {
	*fakeEngine
	entered, proceed chan struct{}
}

func (b blocking) Chat(ctx context.Context, req *engine.Request) (Stream, error) {
	b.entered <- struct{}{}
	<-b.proceed
	return b.fakeEngine.Chat(ctx, req)
}

// Large bodies are prepared a few at a time: more wait, and are refused after a while; small ones and the next large one pass.
func TestLargeBodies(t *testing.T) {
	fake := newFakeEngine()
	fake.set(text("ok"))
	b := blocking{fake, make(chan struct{}, 16), make(chan struct{})}
	url, _ := serve(t, b, func(o *Options) { o.PreparationWait = 50 * time.Millisecond })
	large := strings.Replace(hello, "hi", strings.Repeat("x", largeBodyBytes), 1)
	done := make(chan int, 16)
	post := func(body string) {
		go func() { done <- do(t, "POST", url+"/v1/chat/completions", body).StatusCode }()
	}
	for range maxPreparations {
		post(large)
		<-b.entered
	}
	refusal := do(t, "POST", url+"/v1/chat/completions", large)
	wantError(t, refusal, 429, "rate_limit_error", "queue_full", "")
	if refusal.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantError(t, do(t, "POST", url+"/tokenize", large), 429, "rate_limit_error", "queue_full", "")
	post(hello)
	<-b.entered
	close(b.proceed)
	for range maxPreparations + 1 {
		if status := <-done; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	post(large)
	<-b.entered
	if status := <-done; status != 200 {
		t.Errorf("status %d after the others ended", status)
	}
}
