package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"hearth/engine/chat"
)

const tinyDir = "testdata/golden/tiny-b-nvfp4" // random weights: its words mean nothing, and never end by themselves soon

func open(t *testing.T, o Options) *Engine {
	t.Helper()
	if o.Dir == "" {
		o.Dir = tinyDir
	}
	o.Name, o.Threads = "tiny", 2
	e := Open(context.Background(), o)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := e.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	return e
}

func ask(question string, max int) *Request {
	seed, temperature := uint64(7), float32(1)
	return &Request{
		Messages:  []chat.Message{{Role: "user", Parts: []chat.Part{{Type: "text", Text: question}}}},
		MaxTokens: max, // and not less: the end tokens are banned
		Sampling:  Sampling{Seed: &seed, Temperature: &temperature, LogitBias: map[int]float32{487: -100, 489: -100}},
	}
}

// answer reads a stream to its end.
func answer(t *testing.T, e *Engine, req *Request) (string, Result) {
	t.Helper()
	s, err := e.Chat(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var text strings.Builder
	for {
		ev, more := s.Next(context.Background())
		if !more {
			break
		}
		fmt.Fprintf(&text, "%d:%s", ev.Kind, ev.Text)
	}
	res, err := s.Result()
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), res
}

// words drops the borders between events, which depend on how fast the reader was.
func words(s string) string {
	for _, kind := range []string{"0:", "1:"} {
		s = strings.ReplaceAll(s, kind, "")
	}
	return s
}

// TestSameRequestSameBytes asks the same thing again, after other requests, and beside others.
func TestSameRequestSameBytes(t *testing.T) {
	e := open(t, Options{})
	want, res := answer(t, e, ask("one two three", 40))
	if res.OutputTokens != 40 || res.Finish != FinishLength {
		t.Fatalf("result %+v: want 40 tokens, cut by length", res)
	}
	other, _ := answer(t, e, ask("something else", 20))
	if words(other) == words(want) {
		t.Error("different questions have the same answer")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, _ := answer(t, e, ask("one two three", 40)); words(got) != words(want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	all.Wait()
}

// TestCancelFreesTheEngine leaves streams that wait and one that runs; the next request is served at once.
func TestCancelFreesTheEngine(t *testing.T) {
	e := open(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	running, err := e.Chat(ctx, ask("a", 3000))
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := e.Chat(context.Background(), ask("b", 3000))
	if err != nil {
		t.Fatal(err)
	}
	if _, more := running.Next(context.Background()); !more {
		t.Fatal("no first event")
	}
	start := time.Now()
	waiting.Close()
	waiting.Close()
	cancel()
	if _, res := answer(t, e, ask("c", 5)); res.OutputTokens != 5 {
		t.Errorf("result %+v", res)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("the engine was free after %v", took)
	}
	for name, s := range map[string]*Stream{"running": running, "waiting": waiting} {
		for more := true; more; {
			_, more = s.Next(context.Background())
		}
		var re *RequestError
		if _, err := s.Result(); !errors.As(err, &re) || re.Kind != Cancelled {
			t.Errorf("%s: result %v, want cancelled", name, err)
		}
	}
	if st := e.Status(); st.Waiting != 0 {
		t.Errorf("%d waiting", st.Waiting)
	}
}

func TestQueueFull(t *testing.T) {
	e := open(t, Options{MaxQueue: 1})
	first, err := e.Chat(context.Background(), ask("a", 3000))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	first.Next(context.Background()) // it runs now
	second, err := e.Chat(context.Background(), ask("b", 3000))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	_, err = e.Chat(context.Background(), ask("c", 1))
	var re *RequestError
	if !errors.As(err, &re) || re.Kind != QueueFull || !strings.Contains(re.Message, "1 ") {
		t.Errorf("third request: %v, want a full queue with its limit", err)
	}
}

func TestRefusals(t *testing.T) {
	e := open(t, Options{Context: 64})
	long := ask(strings.Repeat("word ", 400), 1)
	bad := func(change func(*Request)) *Request { r := ask("q", 5); change(r); return r }
	f := func(x float32) *float32 { return &x }
	n := func(x int) *int { return &x }
	for _, c := range []struct {
		name  string
		req   *Request
		kind  ErrorKind
		param string
		says  string
	}{
		{"context", long, ContextTooLong, "messages", "context of 64 tokens"},
		{"no messages", &Request{}, Invalid, "messages", "No messages provided."},
		{"max_tokens", bad(func(r *Request) { r.MaxTokens = -1 }), Invalid, "max_tokens", "-1"},
		{"temperature", bad(func(r *Request) { r.Sampling.Temperature = f(-0.1) }), Invalid, "temperature", "0 to 2"},
		{"top_p", bad(func(r *Request) { r.Sampling.TopP = f(0) }), Invalid, "top_p", "above 0"},
		{"top_k", bad(func(r *Request) { r.Sampling.TopK = n(-1) }), Invalid, "top_k", "0"},
		{"min_p", bad(func(r *Request) { r.Sampling.MinP = f(1.5) }), Invalid, "min_p", "0 to 1"},
		{"repetition_penalty", bad(func(r *Request) { r.Sampling.RepetitionPenalty = f(0) }), Invalid, "repetition_penalty", "above 0"},
		{"presence_penalty", bad(func(r *Request) { r.Sampling.PresencePenalty = f(3) }), Invalid, "presence_penalty", "-2 to 2"},
		{"logit_bias token", bad(func(r *Request) { r.Sampling.LogitBias = map[int]float32{100000: 1} }), Invalid, "logit_bias", "100000"},
		{"logit_bias value", bad(func(r *Request) { r.Sampling.LogitBias = map[int]float32{1: 101} }), Invalid, "logit_bias", "101"},
		{"empty stop", bad(func(r *Request) { r.Stop = []string{"a", ""} }), Invalid, "stop[1]", "0 bytes"},
		{"stops", bad(func(r *Request) { r.Stop = make([]string, 17) }), Invalid, "stop", "17"},
		{"arguments", bad(func(r *Request) {
			r.Messages = append(r.Messages, chat.Message{Role: "assistant", ToolCalls: []chat.ToolCall{{Name: "f", Arguments: "[1]"}}})
		}), Invalid, "messages[1].tool_calls[0].function.arguments", "object"},
	} {
		_, err := e.Chat(context.Background(), c.req)
		var re *RequestError
		if !errors.As(err, &re) || re.Kind != c.kind || re.Param != c.param || !strings.Contains(re.Message, c.says) {
			t.Errorf("%s: %#v, want kind %d, param %q, text with %q", c.name, err, c.kind, c.param, c.says)
		}
	}
	if _, res := answer(t, e, ask("q", 1000)); res.PromptTokens+res.OutputTokens != 64 || res.Finish != FinishLength {
		t.Errorf("a reply that fills the context: %+v", res)
	}
}

// TestSamplingParametersMatter: each parameter changes a sampled answer, or bans what it should.
func TestSamplingParametersMatter(t *testing.T) {
	e := open(t, Options{})
	base, _ := answer(t, e, ask("q", 60))
	f := func(x float32) *float32 { return &x }
	k, seed := 2, uint64(8)
	for name, change := range map[string]func(*Sampling){
		"temperature": func(s *Sampling) { s.Temperature = f(0) },
		"seed":        func(s *Sampling) { s.Seed = &seed },
		"top_k":       func(s *Sampling) { s.TopK = &k },
		"top_p":       func(s *Sampling) { s.TopP = f(0.3) },
		"min_p":       func(s *Sampling) { s.MinP = f(0.5) },
		"presence":    func(s *Sampling) { s.PresencePenalty = f(2) },
		"frequency":   func(s *Sampling) { s.FrequencyPenalty = f(2) },
		"repetition":  func(s *Sampling) { s.RepetitionPenalty = f(1.8) },
		"logit_bias":  func(s *Sampling) { s.LogitBias[65] = 100 },
	} {
		r := ask("q", 60)
		change(&r.Sampling)
		got, res := answer(t, e, r)
		if words(got) == words(base) {
			t.Errorf("%s changes nothing", name)
		}
		if name == "logit_bias" {
			if token := e.tok.Decode([]int32{65}, false); res.OutputTokens != 60 || strings.Count(words(got), token) < 50 {
				t.Errorf("a bias of 100 to %q gave %q", token, got)
			}
		}
	}
}

// TestStopString ends a reply in content, wherever tokens end, and leaves the stop text out.
func TestStopString(t *testing.T) {
	e := open(t, Options{})
	req := func() *Request {
		r := ask("q", 200)
		r.TemplateKwargs = []byte(`{"enable_thinking": false}`)
		return r
	}
	full, _ := answer(t, e, req())
	text := words(full)
	runes := []rune(text)
	if len(runes) < 60 {
		t.Fatalf("an answer of %d characters", len(runes))
	}
	stop := string(runes[30:34])
	r := req()
	r.Stop = []string{stop}
	got, res := answer(t, e, r)
	if want := text[:strings.Index(text, stop)]; words(got) != want || res.Finish != FinishStop || res.OutputTokens >= 200 {
		t.Errorf("stop %q: got %q (%+v), want %q", stop, words(got), res, want)
	}
}

// TestCloseEndsStreams: a shutdown ends running and waiting streams with an error, and refuses newcomers.
func TestCloseEndsStreams(t *testing.T) {
	e := Open(context.Background(), Options{Dir: tinyDir, Name: "tiny"})
	if err := e.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	var streams []*Stream
	for range 3 {
		s, err := e.Chat(context.Background(), ask("q", 3000))
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	streams[0].Next(context.Background())
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for i, s := range streams {
		for more := true; more; {
			_, more = s.Next(context.Background())
		}
		if _, err := s.Result(); err == nil {
			t.Errorf("stream %d ended without an error", i)
		}
	}
	if _, err := e.Chat(context.Background(), ask("q", 1)); err == nil {
		t.Error("a request after Close was accepted")
	}
}

func TestFailedLoad(t *testing.T) {
	e := Open(context.Background(), Options{Dir: t.TempDir(), Name: "nothing"})
	defer e.Close()
	if err := e.Wait(context.Background()); err == nil {
		t.Fatal("an empty folder loaded")
	}
	if s := e.Status(); s.State != Failed || s.Err == nil {
		t.Errorf("status %+v", s)
	}
	_, err := e.Chat(context.Background(), ask("q", 1))
	var re *RequestError
	if !errors.As(err, &re) || re.Kind != NotReady {
		t.Errorf("chat: %v", err)
	}
}

// withTokenizer is the tiny checkpoint with a text of its tokenizer.json replaced.
func withTokenizer(t *testing.T, old, new string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	entries, err := os.ReadDir(tinyDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range entries {
		b, err := os.ReadFile(filepath.Join(tinyDir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name()] = &fstest.MapFile{Data: b}
	}
	tok := files["tokenizer.json"]
	if strings.Count(string(tok.Data), old) != 1 {
		t.Fatalf("tokenizer.json does not have %q once", old)
	}
	tok.Data = []byte(strings.Replace(string(tok.Data), old, new, 1))
	return files
}

// TestForeignTokenizer: a tokenizer with ids that the embeddings have no row for is refused, naming both files.
func TestForeignTokenizer(t *testing.T) {
	const start = `"added_tokens": [`
	files := withTokenizer(t, start, start+`{"id": 99999, "content": "<foreign>", "special": true}, `)
	e := Open(context.Background(), Options{FS: files, Name: "foreign"})
	defer e.Close()
	if err := e.Wait(context.Background()); err == nil || !strings.Contains(err.Error(), "99999") || !strings.Contains(err.Error(), "vocab_size") {
		t.Errorf("got %v, want both numbers", err)
	}
}

// TestRowsWithoutToken: a row of the head below the tokenizer's size that no token has is not chosen, whatever its logit.
func TestRowsWithoutToken(t *testing.T) {
	const start = `"added_tokens": [`
	files := withTokenizer(t, start, start+`{"id": 511, "content": "<far>", "special": true}, `)
	e := Open(context.Background(), Options{FS: files, Name: "tiny", Threads: 2})
	defer e.Close()
	if err := e.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	want, _ := answer(t, e, ask("q", 30))
	biased := ask("q", 30)
	biased.Sampling.LogitBias = map[int]float32{505: 100} // no token
	if got, _ := answer(t, e, biased); words(got) != words(want) {
		t.Errorf("a bias to a row without a token changed %q to %q", words(want), words(got))
	}
}

// TestPanicEndsOneReply: a bug in reading output fails that request, and the next is served.
func TestPanicEndsOneReply(t *testing.T) {
	s := &sequence{stream: newStream(1, func() {}), counts: nil}
	if _, err := s.accept(1); err == nil || !strings.Contains(err.Error(), "reading the output") {
		t.Errorf("accept without a scanner: %v", err)
	}
	if err := s.finish(FinishStop); err == nil {
		t.Error("finish without a scanner succeeded")
	}
}
