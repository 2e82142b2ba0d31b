package appliance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"hearth/engine"
	"hearth/engine/chat"
)

const hello = `{"model":"qwen-test","messages":[{"role":"user","content":"hi"}]}`

// reply is an answer with its body read.
type reply struct {
	*http.Response
	body string
}

func do(t *testing.T, method, url, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res, string(b)}
}

func decode(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	return v
}

// wantError checks status and an OpenAI error body, and returns its error object.
func wantError(t *testing.T, r reply, status int, typ, code, param string) map[string]any {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", r.StatusCode, status, r.body)
	}
	if r.Header.Get("x-request-id") == "" {
		t.Error("no x-request-id")
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	e, _ := decode(t, r.body)["error"].(map[string]any)
	if e == nil {
		t.Fatalf("no error object in %s", r.body)
	}
	str := func(key string) string { s, _ := e[key].(string); return s }
	if str("type") != typ || str("code") != code || str("param") != param || str("message") == "" {
		t.Errorf("got %v, want type %q code %q param %q", e, typ, code, param)
	}
	if keys := slices.Sorted(maps.Keys(e)); !slices.Equal(keys, []string{"code", "message", "param", "type"}) {
		t.Errorf("keys %v", keys)
	}
	return e
}

func TestAnswer(t *testing.T) {
	e := newFakeEngine()
	url, _ := serve(t, e, nil)
	e.set(script{
		events: slices.Concat(
			[]chat.Event{{Kind: chat.Reasoning, Text: "think "}, {Kind: chat.Reasoning, Text: "hard"}, {Kind: chat.Content, Text: "I look <b>&amp; see"}},
			call(0, "bash", `{"command":`, `"ls"`, `}`), call(1, "read", `{}`)),
		result: engine.Result{Finish: engine.FinishToolCalls, PromptTokens: 20, CachedTokens: 19, OutputTokens: 9, ReasoningTokens: 2,
			Timings: engine.Timings{Queue: time.Millisecond, Prefill: 10 * time.Millisecond, Decode: 100 * time.Millisecond, PrefillTokens: 1, DecodeTokens: 9, Seed: 42}},
	})
	r := do(t, "POST", url+"/v1/chat/completions", hello, "x-request-id", "mine-1")
	if r.StatusCode != 200 || r.Header.Get("x-request-id") != "mine-1" || r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s", r.StatusCode, r.Header, r.body)
	}
	v := decode(t, r.body)
	if v["object"] != "chat.completion" || v["model"] != "qwen-test" || v["system_fingerprint"] != "hearth-test-0123456789ab" {
		t.Errorf("head: %v", v)
	}
	c := v["choices"].([]any)[0].(map[string]any)
	m := c["message"].(map[string]any)
	if c["finish_reason"] != "tool_calls" || m["role"] != "assistant" || m["content"] != "I look <b>&amp; see" || m["reasoning_content"] != "think hard" {
		t.Errorf("choice: %v", c)
	}
	calls := m["tool_calls"].([]any)
	first := calls[0].(map[string]any)
	fn := first["function"].(map[string]any)
	if len(calls) != 2 || fn["name"] != "bash" || fn["arguments"] != `{"command":"ls"}` || first["type"] != "function" {
		t.Errorf("calls: %v", calls)
	}
	if id := first["id"].(string); len(id) != len("call_")+24 || !strings.HasPrefix(id, "call_") || id == calls[1].(map[string]any)["id"] {
		t.Errorf("call id %q", id)
	}
	usage := fmt.Sprint(v["usage"])
	if usage != "map[completion_tokens:9 completion_tokens_details:map[reasoning_tokens:2] prompt_tokens:20 prompt_tokens_details:map[cached_tokens:19] total_tokens:29]" {
		t.Error(usage)
	}
	if tm := v["timings"].(map[string]any); tm["seed"] != 42.0 || tm["decode_tokens_per_second"] != 90.0 || tm["prefill_ms"] != 10.0 {
		t.Error(tm)
	}
	if !strings.Contains(r.body, "<b>&amp; see") {
		t.Error("HTML escapes in the body")
	}
	if e.request().ID != "mine-1" || !e.stream().wasClosed(time.Second) {
		t.Error("the engine did not get the id, or the stream was not closed")
	}
}

// The content of an answer: null only with calls and no text; an unfinished call is text (C10, C28).
func TestAnswerContent(t *testing.T) {
	e := newFakeEngine()
	url, _ := serve(t, e, nil)
	for _, tt := range []struct {
		name    string
		script  script
		content any
		calls   int
		finish  string
	}{
		{"no token at all", script{result: engine.Result{Finish: engine.FinishStop}}, "", 0, "stop"},
		{"a call alone", script{events: call(0, "f", "{}"), result: engine.Result{Finish: engine.FinishToolCalls}}, nil, 1, "tool_calls"},
		{"a call, engine says stop", script{events: call(0, "f", "{}"), result: engine.Result{Finish: engine.FinishStop}}, nil, 1, "tool_calls"},
		{"the budget ends inside a call",
			script{events: []chat.Event{{Kind: chat.CallStart, Name: "f"}, {Kind: chat.CallArgs, Text: `{"a":"b`}},
				result: engine.Result{Finish: engine.FinishLength, IncompleteCall: "<tool_call>\n<function=f>\n<parameter=a>\nb"}},
			"<tool_call>\n<function=f>\n<parameter=a>\nb", 0, "length"},
		{"the budget ends after a call", script{events: call(0, "f", "{}"), result: engine.Result{Finish: engine.FinishLength}}, nil, 1, "length"},
		{"reasoning only", script{events: []chat.Event{{Kind: chat.Reasoning, Text: "hm"}}, result: engine.Result{Finish: engine.FinishLength}}, "", 0, "length"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e.set(tt.script)
			c := decode(t, do(t, "POST", url+"/v1/chat/completions", hello).body)["choices"].([]any)[0].(map[string]any)
			m := c["message"].(map[string]any)
			content, has := m["content"]
			calls, _ := m["tool_calls"].([]any)
			if !has || content != tt.content || len(calls) != tt.calls || c["finish_reason"] != tt.finish {
				t.Errorf("got %v", c)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	e := newFakeEngine()
	e.set(text("ok"))
	url, _ := serve(t, e, func(o *Options) { o.Aliases = []string{"fast"} })
	chatURL := url + "/v1/chat/completions"
	const invalid = "invalid_request_error"

	for _, alias := range []string{"fast", "qwen-test", ""} {
		if r := do(t, "POST", chatURL, strings.Replace(hello, "qwen-test", alias, 1)); r.StatusCode != 200 {
			t.Errorf("model %q: %s", alias, r.body)
		}
	}
	if r := do(t, "POST", chatURL+"/?beta=true", hello); r.StatusCode != 200 {
		t.Errorf("a query and a trailing slash: %s", r.body)
	}
	r := do(t, "POST", chatURL, strings.Replace(hello, "qwen-test", "gpt-9", 1))
	if e := wantError(t, r, 404, invalid, "model_not_found", "model"); !strings.Contains(e["message"].(string), "qwen-test, fast") {
		t.Error("the message does not list the names:", e)
	}
	for path, hint := range map[string]string{"/chat/completions": "/v1/chat/completions", "/models": "/v1/models",
		"/v1/v1/chat/completions": "use /v1/chat/completions", "/nothing": "under /v1"} {
		if e := wantError(t, do(t, "POST", url+path, "{}"), 404, "not_found_error", "not_found", ""); !strings.Contains(e["message"].(string), hint) {
			t.Errorf("%s: %v", path, e)
		}
	}
	r = do(t, "GET", chatURL, "")
	wantError(t, r, 405, invalid, "method_not_allowed", "")
	if r.Header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("Allow %q", r.Header.Get("Allow"))
	}
	if r = do(t, "DELETE", url+"/v1/models/qwen-test", ""); r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Error(r.StatusCode, r.Header)
	}
	if r = do(t, "OPTIONS", chatURL, ""); r.StatusCode != 204 || r.Header.Get("Allow") != "POST, OPTIONS" {
		t.Error(r.StatusCode, r.Header)
	}
	wantError(t, do(t, "POST", chatURL, "{"), 400, invalid, "", "")
	wantError(t, do(t, "POST", chatURL, ""), 400, invalid, "", "")
	wantError(t, do(t, "POST", chatURL, hello, "Content-Encoding", "br"), 415, invalid, "", "")
	wantError(t, do(t, "POST", chatURL, hello, "Content-Encoding", "gzip"), 400, invalid, "", "")
	wantError(t, do(t, "POST", chatURL, hello, "Content-Encoding", "zstd"), 400, invalid, "", "")
	wantError(t, do(t, "POST", chatURL, hello, "X-Long", strings.Repeat("x", 40<<10)), 431, invalid, "header_too_large", "")
	wantError(t, do(t, "GET", url+"/v1/models/other", ""), 404, invalid, "model_not_found", "model")

	for _, tt := range []struct {
		err          error
		status       int
		typ, code    string
		param        string
		retry, leaks bool
	}{
		{&engine.RequestError{Kind: engine.ContextTooLong, Param: "messages", Message: "40000 tokens, the context has 32768"}, 400, invalid, "context_length_exceeded", "messages", false, true},
		{&engine.RequestError{Kind: engine.Invalid, Param: "messages[1].role", Message: "no"}, 400, invalid, "", "messages[1].role", false, true},
		{&engine.RequestError{Kind: engine.QueueFull, Message: "64 requests wait"}, 429, "rate_limit_error", "queue_full", "", true, true},
		{&engine.RequestError{Kind: engine.NotReady, Message: "loading"}, 503, "service_unavailable", "model_not_ready", "", true, true},
		{&engine.RequestError{Kind: engine.Internal, Message: "secret"}, 500, "server_error", "", "", false, false},
		{fmt.Errorf("secret"), 500, "server_error", "", "", false, false},
	} {
		e.mu.Lock()
		e.refuse = tt.err
		e.mu.Unlock()
		for _, body := range []string{hello, strings.Replace(hello, "{", `{"stream":true,`, 1)} { // C80: before any event
			r := do(t, "POST", chatURL, body)
			got := wantError(t, r, tt.status, tt.typ, tt.code, tt.param)
			if (r.Header.Get("Retry-After") != "") != tt.retry {
				t.Errorf("%v: Retry-After %q", tt.err, r.Header.Get("Retry-After"))
			}
			if strings.Contains(got["message"].(string), tt.err.Error()) != tt.leaks {
				t.Errorf("message %v for %v", got["message"], tt.err)
			}
		}
	}
}

func TestNotReady(t *testing.T) {
	e := newFakeEngine()
	url, s := serve(t, e, nil)
	info := e.Status().Model
	for _, tt := range []struct {
		status engine.Status
		code   string
		retry  string
		want   string
	}{
		{engine.Status{State: engine.Starting, Model: info}, "model_loading", "5", `"status":"starting"`},
		{engine.Status{State: engine.Loading, Stage: "reading weights", Progress: 0.25, Model: info}, "model_loading", "5", `"stage":"reading weights","progress":0.25`},
		{engine.Status{State: engine.Failed, Err: fmt.Errorf("model.safetensors: cut short"), Model: info}, "model_failed", "", `"error":"model.safetensors: cut short"`},
	} {
		e.setStatus(tt.status)
		for _, path := range []string{"/v1/chat/completions", "/tokenize", "/detokenize"} {
			body := map[string]string{"/tokenize": `{"prompt":"a"}`, "/detokenize": `{"tokens":[]}`}[path]
			if body == "" {
				body = hello
			}
			r := do(t, "POST", url+path, body)
			wantError(t, r, 503, "service_unavailable", tt.code, "")
			if r.Header.Get("Retry-After") != tt.retry {
				t.Errorf("%s: Retry-After %q", tt.code, r.Header.Get("Retry-After"))
			}
		}
		if r := do(t, "GET", url+"/health", ""); r.StatusCode != 503 || !strings.Contains(r.body, tt.want) {
			t.Errorf("health %d %s", r.StatusCode, r.body)
		}
	}
	e.setStatus(engine.Status{State: engine.Ready, Model: info, Running: 1, Waiting: 2})
	if r := do(t, "GET", url+"/health", ""); r.StatusCode != 200 || !strings.Contains(r.body, `"running":1,"waiting":2`) {
		t.Error(r.body)
	}
	s.draining.Store(true)
	wantError(t, do(t, "POST", url+"/v1/chat/completions", hello), 503, "service_unavailable", "shutting_down", "")
	if r := do(t, "GET", url+"/health", ""); r.StatusCode != 503 || !strings.Contains(r.body, "draining") {
		t.Error(r.body)
	}
}

func TestModels(t *testing.T) {
	e := newFakeEngine()
	e.status.Model.Name = "Qwen/Qwen3.5-0.8B"
	url, _ := serve(t, e, func(o *Options) { o.Aliases = []string{"fast"} })
	v := decode(t, do(t, "GET", url+"/v1/models/", "").body)
	data := v["data"].([]any)
	first := data[0].(map[string]any)
	if v["object"] != "list" || len(data) != 2 || first["id"] != "Qwen/Qwen3.5-0.8B" || first["max_model_len"] != 32768.0 || first["created"] != 1.76e9 {
		t.Error(v)
	}
	for _, name := range []string{"Qwen/Qwen3.5-0.8B", "Qwen%2FQwen3.5-0.8B", "fast"} {
		if r := do(t, "GET", url+"/v1/models/"+name, ""); r.StatusCode != 200 || !strings.Contains(r.body, `"object":"model"`) {
			t.Error(name, r.StatusCode, r.body)
		}
	}
	if r := do(t, "HEAD", url+"/v1/models", ""); r.StatusCode != 200 || r.body != "" {
		t.Error("HEAD", r.StatusCode, r.body)
	}
}

func TestTokenize(t *testing.T) {
	url, _ := serve(t, newFakeEngine(), nil)
	if r := do(t, "POST", url+"/tokenize", `{"prompt":"aé","special":true}`); r.body != `{"count":3,"max_model_len":32768,"tokens":[97,233,1]}` {
		t.Error(r.body)
	}
	if r := do(t, "POST", url+"/tokenize", `{"content":""}`); r.body != `{"count":0,"max_model_len":32768,"tokens":[]}` {
		t.Error(r.body)
	}
	if r := do(t, "POST", url+"/detokenize", `{"tokens":[97,233]}`); r.body != `{"prompt":"aé"}` {
		t.Error(r.body)
	}
	wantError(t, do(t, "POST", url+"/tokenize", `{}`), 400, "invalid_request_error", "", "prompt")
	wantError(t, do(t, "POST", url+"/tokenize", `{"prompt":3}`), 400, "invalid_request_error", "", "prompt")
	wantError(t, do(t, "POST", url+"/tokenize", `{"messages":[]}`), 400, "invalid_request_error", "unsupported_value", "messages")
	wantError(t, do(t, "POST", url+"/detokenize", `{"tokens":[1,"2"]}`), 400, "invalid_request_error", "", "tokens[1]")
	wantError(t, do(t, "POST", url+"/detokenize", `{"tokens":[2000000000]}`), 400, "invalid_request_error", "", "tokens")
}

func TestCompressedBodies(t *testing.T) {
	e := newFakeEngine()
	e.set(text("ok"))
	url, _ := serve(t, e, nil)
	url += "/v1/chat/completions"
	pack := map[string]func([]byte) string{
		"gzip": func(b []byte) string {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			w.Write(b)
			w.Close()
			return out.String()
		},
		"zstd": func(b []byte) string {
			w, _ := zstd.NewWriter(nil, zstd.WithWindowSize(1<<20))
			return string(w.EncodeAll(b, nil))
		},
	}
	bomb := append([]byte(`{"messages":[{"role":"user","content":"`), bytes.Repeat([]byte(" "), 33<<20)...)
	for encoding, packed := range pack {
		if r := do(t, "POST", url, packed([]byte(hello)), "Content-Encoding", encoding); r.StatusCode != 200 {
			t.Error(encoding, r.body)
		}
		wantError(t, do(t, "POST", url, packed(bomb), "Content-Encoding", encoding), 413, "invalid_request_error", "request_too_large", "")
	}
	wantError(t, do(t, "POST", url, string(bomb)), 413, "invalid_request_error", "request_too_large", "")

	res, err := http.Post(url, "application/json", io.MultiReader(bytes.NewReader(bomb))) // chunked: its length is not known
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 413 {
		t.Error("chunked:", res.Status)
	}
}

// panicking is an engine with a bug.
type panicking struct{ *fakeEngine }

func (panicking) Tokenize(string, bool) ([]int32, error) { panic("a bug") }

func (p panicking) Chat(ctx context.Context, req *engine.Request) (Stream, error) {
	s, err := p.fakeEngine.Chat(ctx, req)
	return panickingStream{s}, err
}

type panickingStream struct{ Stream }

func (panickingStream) Next(context.Context) (chat.Event, bool) { panic("a bug") }

// A bug in a handler costs one request, not the server, and tells the client nothing.
func TestPanic(t *testing.T) {
	url, _ := serve(t, panicking{newFakeEngine()}, nil)
	wantError(t, do(t, "POST", url+"/v1/chat/completions", hello), 500, "server_error", "", "")
	if r := do(t, "POST", url+"/v1/chat/completions", streamed); !strings.Contains(r.body, `"type":"server_error"`) || strings.Contains(r.body, "bug") || strings.Contains(r.body, "DONE") {
		t.Error(r.body)
	}
	if e := wantError(t, do(t, "POST", url+"/tokenize", `{"prompt":"x"}`), 500, "server_error", "", ""); strings.Contains(e["message"].(string), "bug") {
		t.Error(e)
	}
	if r := do(t, "GET", url+"/health", ""); r.StatusCode != 200 {
		t.Error(r.StatusCode)
	}
}

func TestGuards(t *testing.T) {
	e := newFakeEngine()
	e.set(text("ok"))
	url, _ := serve(t, e, func(o *Options) {
		o.AllowHosts = []string{"thor.example"}
		o.AllowOrigins = []string{"https://ui.example"}
	})
	port := url[strings.LastIndex(url, ":"):]
	for host, status := range map[string]int{"localhost" + port: 200, "127.0.0.1" + port: 200, "[::1]" + port: 200, "192.168.1.5": 200,
		"thor.example" + port: 200, "THOR.example.": 200, "evil.example": 403, "evil.example" + port: 403, "127.0.0.1.evil.example": 403, "localhost.evil": 403} {
		r := do(t, "POST", url+"/v1/chat/completions", hello, "Host", host)
		if r.StatusCode != status {
			t.Errorf("Host %s: %d", host, r.StatusCode)
		}
		if status == 403 {
			wantError(t, r, 403, "permission_error", "host_not_allowed", "")
		}
	}
	for origin, status := range map[string]int{url: 200, "https://ui.example": 200, "https://evil.example": 403, "null": 403, "http://localhost:1": 403} {
		r := do(t, "POST", url+"/v1/chat/completions", hello, "Origin", origin)
		if r.StatusCode != status {
			t.Errorf("Origin %s: %d", origin, r.StatusCode)
		}
	}
	r := do(t, "OPTIONS", url+"/v1/chat/completions", "", "Origin", "https://ui.example", "Access-Control-Request-Method", "POST")
	if r.StatusCode != 204 || r.Header.Get("Access-Control-Allow-Origin") != "https://ui.example" || !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "authorization") {
		t.Error(r.StatusCode, r.Header)
	}
}

// One connection serves thousands of requests, streamed and not; refusals do not close it.
func TestKeepAliveConnection(t *testing.T) {
	e := newFakeEngine()
	e.set(text("a", "b"))
	url, _ := serve(t, e, nil)
	var dials int
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}}
	bodies := []string{hello, strings.Replace(hello, "{", `{"stream":true,`, 1), `{"messages":[]}`}
	for i := range 2000 {
		res, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(bodies[i%3]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if dials != 1 {
		t.Errorf("%d connections", dials)
	}
}

func TestRequestIDs(t *testing.T) {
	url, _ := serve(t, newFakeEngine(), nil)
	seen := map[string]bool{}
	for _, sent := range []string{"", "", "with space", strings.Repeat("x", 500)} {
		id := do(t, "GET", url+"/health", "", "x-request-id", sent).Header.Get("x-request-id")
		if !strings.HasPrefix(id, "req_") || seen[id] {
			t.Errorf("sent %q, got %q", sent, id)
		}
		seen[id] = true
	}
}

// Expect: 100-continue is answered before the body is sent.
func TestExpectContinue(t *testing.T) {
	e := newFakeEngine()
	e.set(text("ok"))
	url, _ := serve(t, e, nil)
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(hello))
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatal(line, err)
	}
	r.ReadString('\n')
	io.WriteString(c, hello)
	if line, err = r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") {
		t.Fatal(line, err)
	}
}
