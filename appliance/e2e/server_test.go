// Package e2e tests the appliance from outside, over HTTP and as a process, with the real engine on the embedded demo model.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"hearth/appliance"
	"hearth/appliance/command"
	"hearth/appliance/config"
	"hearth/engine"
)

// asCommand makes this test binary behave as hearth itself, so that processes can be tested without building one.
const asCommand = "E2E_AS_HEARTH"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Unsetenv(asCommand)
		command.Main("e2e")
		return
	}
	os.Exit(m.Run())
}

// settings are the defaults of serve, on any free port.
func settings() config.Serve {
	return config.Serve{Listen: "127.0.0.1:0", Threads: 2, CPU: "auto", KV: "auto", Activations: "auto", MaxQueue: 64, LogLevel: "info"}
}

// server is a running endpoint and the engine behind it.
type server struct {
	url    string
	engine appliance.Engine
}

// serve starts an endpoint and waits until loading is over, well or badly.
func serve(t testing.TB, c config.Serve) server {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	eng, err := appliance.OpenEngine(context.Background(), c, t.TempDir(), log)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := appliance.Listen(c.Listen)
	if err != nil {
		t.Fatal(err)
	}
	s := appliance.New(appliance.Options{Engine: eng, Version: "e2e", Log: log, Listen: ln.Addr().String(), Drain: time.Second})
	go s.Serve(ln)
	t.Cleanup(func() {
		s.Shutdown(context.Background())
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := eng.Wait(ctx); err != nil && eng.Status().State != engine.Failed {
		t.Fatal(err)
	}
	return server{"http://" + ln.Addr().String(), eng}
}

// body of a request. A test changes a few fields of one of the constructors below.
type body map[string]any

func (b body) with(more body) body {
	all := body{}
	for _, m := range []body{b, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func (b body) reader(t testing.TB) io.Reader {
	t.Helper()
	raw, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(raw)
}

func says(role, content string) body { return body{"role": role, "content": content} }

// user asks greedily.
func user(text string) body { return body{"messages": []body{says("user", text)}, "temperature": 0} }

// endless never meets an end token, so it answers with exactly n tokens.
func endless(text string, n int) body {
	return user(text).with(body{"max_tokens": n, "logit_bias": map[string]int{"4083": -100, "4085": -100}})
}

func function(name, about string, fields ...string) body {
	properties := body{}
	for _, f := range fields {
		properties[f] = body{"type": "string"}
	}
	return body{"type": "function", "function": body{"name": name, "description": about,
		"parameters": body{"type": "object", "properties": properties, "required": fields}}}
}

// calling is a request the demo model answers with a call.
func calling() body {
	return user("List the files.").with(body{"tools": []body{function("get_weather", "Get the weather", "city"), function("send_mail", "Send a mail", "to", "subject")}})
}

// answer is what tests look at of an answer or of the joined chunks of one.
type answer struct {
	status     int
	retryAfter string // header
	Error      struct{ Message, Type, Code, Param string }
	Choices    []choice
	Usage      struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Details          struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	Timings struct {
		Queue   float64 `json:"queue_ms"`
		Render  float64 `json:"render_ms"`
		Prefill float64 `json:"prefill_ms"`
		Decode  float64 `json:"decode_ms"`
		Seed    uint64
	}
}

type choice struct {
	Message, Delta message
	FinishReason   string `json:"finish_reason"`
}

type message struct {
	Content   string
	Reasoning string `json:"reasoning_content"`
	Calls     []struct {
		Index    int
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// said is everything of an answer that must be equal when the request is: not ids and times.
type said struct {
	Content, Reasoning, Calls, Finish string
	PromptTokens, OutputTokens        int
}

func (a answer) said() said {
	s := said{PromptTokens: a.Usage.PromptTokens, OutputTokens: a.Usage.CompletionTokens}
	for _, c := range a.Choices {
		m := c.Message
		s.Content, s.Reasoning, s.Finish = m.Content, m.Reasoning, c.FinishReason
		for _, call := range m.Calls {
			s.Calls += call.Function.Name + call.Function.Arguments + ";"
		}
	}
	return s
}

// ask posts a request that does not stream.
func (s server) ask(t testing.TB, b body) answer {
	t.Helper()
	a, err := s.tryAsk(t, b)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s server) tryAsk(t testing.TB, b body) (a answer, err error) {
	res, err := http.Post(s.url+"/v1/chat/completions", "application/json", b.reader(t))
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a.status, a.retryAfter = res.StatusCode, res.Header.Get("Retry-After")
	return a, json.NewDecoder(res.Body).Decode(&a)
}

// must is ask for requests that are answered.
func (s server) must(t testing.TB, b body) answer {
	t.Helper()
	a := s.ask(t, b)
	if a.status != http.StatusOK || len(a.Choices) != 1 {
		t.Fatalf("status %d, error %+v, %d choices", a.status, a.Error, len(a.Choices))
	}
	return a
}

// stream posts a request and joins the chunks.
func (s server) stream(t testing.TB, b body) answer {
	t.Helper()
	res, err := http.Post(s.url+"/v1/chat/completions", "application/json",
		b.with(body{"stream": true, "stream_options": body{"include_usage": true}}).reader(t))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	whole := answer{status: res.StatusCode, Choices: make([]choice, 1)}
	out, done := &whole.Choices[0], false
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case lines.Text() == "":
			continue
		case !ok || done:
			t.Fatalf("not an event, or one after the last: %q", lines.Text())
		case data == "[DONE]":
			done = true
			continue
		}
		var part answer
		if err := json.Unmarshal([]byte(data), &part); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if part.Usage.PromptTokens > 0 {
			whole.Usage = part.Usage
		}
		if part.Timings.Seed > 0 {
			whole.Timings = part.Timings
		}
		for _, c := range part.Choices {
			out.join(c)
		}
	}
	if lines.Err() != nil || !done {
		t.Fatalf("the stream ended early: %v", lines.Err())
	}
	return whole
}

func (c *choice) join(part choice) {
	c.Message.Content += part.Delta.Content
	c.Message.Reasoning += part.Delta.Reasoning
	if part.FinishReason != "" {
		c.FinishReason = part.FinishReason
	}
	for _, call := range part.Delta.Calls {
		if call.Index == len(c.Message.Calls) {
			c.Message.Calls = append(c.Message.Calls, call)
			continue
		}
		c.Message.Calls[call.Index].Function.Arguments += call.Function.Arguments
	}
}

// tokenize returns the ids of a text.
func (s server) tokenize(t testing.TB, text string, special bool) []int {
	t.Helper()
	res, err := http.Post(s.url+"/tokenize", "application/json", body{"prompt": text, "special": special}.reader(t))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct{ Tokens []int }
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", res.Status, err)
	}
	return out.Tokens
}

// health of the endpoint, and the status code it came with.
func (s server) health(t testing.TB) (h appliance.Health, code int) {
	t.Helper()
	res, err := http.Get(s.url + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&h); err != nil {
		t.Fatal(err)
	}
	return h, res.StatusCode
}

// until waits for a condition and reports how long it took.
func until(t testing.TB, limit time.Duration, what string, condition func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !condition() {
		if time.Since(start) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(start)
}
