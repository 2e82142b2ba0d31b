package appliance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hearth/engine"
	"hearth/engine/chat"
)

const streamed = `{"model":"qwen-test","stream":true,"messages":[{"role":"user","content":"hi"}]}`

// events reads a stream the way strict clients do: blank-line separated, one data line of JSON each.
func events(t *testing.T, body string) (chunks []map[string]any, done bool) {
	t.Helper()
	if !strings.HasSuffix(body, "\n\n") || strings.Contains(body, "\r") {
		t.Errorf("framing: %q", body)
	}
	for _, e := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if strings.HasPrefix(e, ":") {
			continue
		}
		data, ok := strings.CutPrefix(e, "data: ")
		if !ok || strings.Contains(data, "\n") || done {
			t.Fatalf("event %q", e)
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		chunks = append(chunks, decode(t, data))
	}
	return chunks, done
}

// deltas drops everything of the chunks but the choice's delta, as JSON.
func deltas(t *testing.T, chunks []map[string]any) (list []string) {
	t.Helper()
	for _, c := range chunks {
		choices, _ := c["choices"].([]any)
		if len(choices) == 0 {
			continue
		}
		choice := choices[0].(map[string]any)
		b, _ := json.Marshal(choice["delta"])
		list = append(list, strings.ReplaceAll(string(b), `\u003c`, "<")+fmt.Sprint(choice["finish_reason"]))
	}
	return list
}

// C24, C26, C27, C29: the shape of a stream.
func TestStream(t *testing.T) {
	e := newFakeEngine()
	e.set(script{
		events: slices.Concat([]chat.Event{{Kind: chat.Reasoning, Text: "hm"}, {Kind: chat.Content, Text: "é<"}, {Kind: chat.Content, Text: "b"}},
			call(0, "bash", `{"command":`, `"ls"}`), call(1, "read", "{}")),
		result: engine.Result{Finish: engine.FinishToolCalls, PromptTokens: 20, CachedTokens: 19, OutputTokens: 9, ReasoningTokens: 1},
	})
	url, _ := serve(t, e, nil)
	for _, usage := range []bool{false, true} {
		body := streamed
		if usage {
			body = strings.Replace(body, "{", `{"stream_options":{"include_usage":true},`, 1)
		}
		r := do(t, "POST", url+"/v1/chat/completions", body, "Accept-Encoding", "gzip", "Accept", "text/event-stream")
		for key, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Encoding": ""} {
			if got := r.Header.Get(key); got != want {
				t.Errorf("%s: %q", key, got)
			}
		}
		chunks, done := events(t, r.body)
		if !done {
			t.Error("no [DONE]")
		}
		ids := []string{}
		for _, c := range chunks {
			if c["id"] != chunks[0]["id"] || c["created"] != chunks[0]["created"] || c["model"] != "qwen-test" || c["object"] != "chat.completion.chunk" || c["system_fingerprint"] == "" {
				t.Errorf("head of %v", c)
			}
			for _, choice := range c["choices"].([]any) {
				calls, _ := choice.(map[string]any)["delta"].(map[string]any)["tool_calls"].([]any)
				for _, call := range calls {
					if id, ok := call.(map[string]any)["id"].(string); ok {
						ids = append(ids, id)
					}
				}
			}
		}
		if len(ids) != 2 || ids[0] == ids[1] {
			t.Fatalf("call ids %v", ids)
		}
		want := []string{
			`{"content":"","role":"assistant"}<nil>`,
			`{"reasoning_content":"hm"}<nil>`,
			`{"content":"é<"}<nil>`,
			`{"content":"b"}<nil>`,
			`{"tool_calls":[{"function":{"arguments":"","name":"bash"},"id":"` + ids[0] + `","index":0,"type":"function"}]}<nil>`,
			`{"tool_calls":[{"function":{"arguments":"{\"command\":"},"index":0}]}<nil>`,
			`{"tool_calls":[{"function":{"arguments":"\"ls\"}"},"index":0}]}<nil>`,
			`{"tool_calls":[{"function":{"arguments":"","name":"read"},"id":"` + ids[1] + `","index":1,"type":"function"}]}<nil>`,
			`{"tool_calls":[{"function":{"arguments":"{}"},"index":1}]}<nil>`,
			`{}tool_calls`,
		}
		if got := deltas(t, chunks); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		withUsage := 0
		for _, c := range chunks {
			if c["usage"] != nil {
				withUsage++
			}
		}
		last := chunks[len(chunks)-1]
		if usage && (withUsage != 1 || len(last["choices"].([]any)) != 0 || last["usage"].(map[string]any)["prompt_tokens"] != 20.0) {
			t.Errorf("usage chunk %v, %d with usage", last, withUsage)
		}
		if !usage && withUsage != 0 {
			t.Error("usage without being asked")
		}
		if !e.stream().wasClosed(time.Second) {
			t.Error("the stream was not closed")
		}
	}
}

// C25: the same pieces joined give the answer without stream.
func TestStreamEqualsAnswer(t *testing.T) {
	e := newFakeEngine()
	e.set(script{events: slices.Concat([]chat.Event{{Kind: chat.Content, Text: "a"}, {Kind: chat.Content, Text: " b\n"}},
		call(0, "f", `{"x":"\u00e9`, `<&>\n`, `","n":1.50}`))})
	url, _ := serve(t, e, nil)
	chunks, _ := events(t, do(t, "POST", url+"/v1/chat/completions", streamed).body)
	var content, args string
	for _, c := range chunks {
		d := c["choices"].([]any)[0].(map[string]any)["delta"].(map[string]any)
		s, _ := d["content"].(string)
		content += s
		if calls, ok := d["tool_calls"].([]any); ok {
			args += calls[0].(map[string]any)["function"].(map[string]any)["arguments"].(string)
		}
	}
	m := decode(t, do(t, "POST", url+"/v1/chat/completions", hello).body)["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)
	fn := m["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)
	if m["content"] != content || fn["arguments"] != args || args != `{"x":"\u00e9<&>\n","n":1.50}` {
		t.Errorf("%q %q, %v", content, args, m)
	}
}

// C28: an answer without a token. C10: an unfinished call stays open.
func TestStreamEnds(t *testing.T) {
	e := newFakeEngine()
	url, _ := serve(t, e, nil)
	e.set(script{result: engine.Result{Finish: engine.FinishStop}})
	chunks, done := events(t, do(t, "POST", url+"/v1/chat/completions", streamed).body)
	if got := deltas(t, chunks); !done || !slices.Equal(got, []string{`{"content":"","role":"assistant"}<nil>`, `{}stop`}) {
		t.Error(got)
	}
	e.set(script{events: []chat.Event{{Kind: chat.CallStart, Name: "f"}, {Kind: chat.CallArgs, Text: `{"a":"b`}},
		result: engine.Result{Finish: engine.FinishLength, IncompleteCall: "<tool_call>"}})
	chunks, _ = events(t, do(t, "POST", url+"/v1/chat/completions", streamed).body)
	if got := deltas(t, chunks); len(got) != 4 || got[3] != `{}length` {
		t.Error(got)
	}
}

func TestStreamFails(t *testing.T) {
	e := newFakeEngine()
	url, _ := serve(t, e, nil)
	e.set(script{events: []chat.Event{{Kind: chat.Content, Text: "a"}}, err: errors.New("secret")})
	chunks, done := events(t, do(t, "POST", url+"/v1/chat/completions", streamed, "x-request-id", "r7").body)
	last, _ := chunks[len(chunks)-1]["error"].(map[string]any)
	if done || last["type"] != "server_error" || !strings.Contains(last["message"].(string), "r7") || strings.Contains(last["message"].(string), "secret") {
		t.Error(chunks, done)
	}
}

// open starts a streamed request and returns a reader of its events.
func open(t *testing.T, url, body string) (*bufio.Reader, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(body))
	res, err := http.DefaultTransport.(*http.Transport).Clone().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	return bufio.NewReader(res.Body), cancel
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%v after %q", err, s)
	}
	return s
}

// The role chunk is sent at acceptance, events one by one as they come, pings while nothing comes (C39).
func TestStreamTiming(t *testing.T) {
	e := newFakeEngine()
	gate := make(chan struct{})
	s := text("a", "b")
	s.gate = gate
	e.set(s)
	url, _ := serve(t, e, func(o *Options) { o.KeepAlive = 30 * time.Millisecond })
	r, _ := open(t, url, streamed)
	if first := line(t, r); !strings.Contains(first, `"role":"assistant"`) {
		t.Fatal(first)
	}
	line(t, r)
	for range 2 {
		if got := line(t, r) + line(t, r); got != ": ping\n\n" {
			t.Fatalf("%q", got)
		}
	}
	for _, want := range []string{`"content":"a"`, `"content":"b"`} {
		gate <- struct{}{}
		for {
			if got := line(t, r); strings.HasPrefix(got, "data") {
				if !strings.Contains(got, want) {
					t.Fatal(got)
				}
				break
			}
		}
	}
	close(gate)
	rest, _ := io.ReadAll(r)
	if !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("%q", rest)
	}
}

// C40, C41: a client that goes away frees the engine within a second, wherever its request is.
func TestDisconnect(t *testing.T) {
	never := make(chan struct{})
	decoding := text("a")
	decoding.repeat = 1 << 30
	ticks := make(chan struct{})
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case ticks <- struct{}{}:
				time.Sleep(5 * time.Millisecond)
			case <-stop:
				return
			}
		}
	}()
	decoding.gate = ticks
	for _, phase := range []struct {
		name   string
		script script
	}{
		{"queue or prefill", script{queue: never}},
		{"decode", decoding},
	} {
		for _, body := range []string{hello, streamed} {
			for _, reset := range []bool{false, true} {
				name := phase.name + map[bool]string{true: ", streaming", false: ", not streaming"}[body == streamed] +
					map[bool]string{true: ", reset", false: ", closed"}[reset]
				t.Run(name, func(t *testing.T) {
					e := newFakeEngine()
					e.set(phase.script)
					url, _ := serve(t, e, func(o *Options) { o.PeerPoll = 0; o.Drain = 50 * time.Millisecond })
					c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
					for e.stream() == nil {
						time.Sleep(time.Millisecond)
					}
					time.Sleep(20 * time.Millisecond)
					if reset {
						c.(*net.TCPConn).SetLinger(0)
					}
					c.Close()
					if !e.stream().wasClosed(time.Second) {
						t.Error("the engine was not told within 1 s")
					}
				})
			}
		}
	}
}

// C43: a client that gives up and repeats its request leaves nothing behind.
func TestRetries(t *testing.T) {
	e := newFakeEngine()
	waiting := text("ok")
	waiting.queue = make(chan struct{})
	e.set(waiting)
	url, _ := serve(t, e, nil)
	for i := range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
		req, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(hello))
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			t.Error("answered", res.Status)
		}
		cancel()
		if !e.stream().wasClosed(time.Second) {
			t.Errorf("attempt %d is still in the engine", i)
		}
	}
	close(waiting.queue)
	if r := do(t, "POST", url+"/v1/chat/completions", hello); r.StatusCode != 200 || len(e.seen) != 4 {
		t.Error(r.StatusCode, len(e.seen))
	}
}

// C42: a client that does not read is cancelled at the limit, and others are not slowed.
func TestSlowReader(t *testing.T) {
	e := newFakeEngine()
	flood := text(strings.Repeat("x", 4000))
	flood.repeat = 20_000 // 80 MB
	e.set(flood)
	url, _ := serve(t, e, nil)
	d := net.Dialer{}
	c, err := d.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(streamed), streamed)
	for e.stream() == nil {
		time.Sleep(time.Millisecond)
	}
	slow := e.stream()
	e.set(text("ok"))
	if r := do(t, "POST", url+"/v1/chat/completions", hello); r.StatusCode != 200 {
		t.Error(r.body)
	}
	if !slow.wasClosed(5 * time.Second) {
		t.Fatal("not cancelled")
	}
	if n := slow.count.Load() * 4000; n > 4<<20 {
		t.Errorf("%d bytes were taken for a client that reads nothing", n)
	}
	if _, err := io.Copy(io.Discard, c); err == nil {
		t.Error("the connection ended as if the answer were complete")
	}
}

// A reader that is a little slow gets joined deltas, and every byte.
func TestBacklogJoins(t *testing.T) {
	b := newBacklog(1 << 20)
	var want strings.Builder
	for i := range 1000 {
		piece := fmt.Sprint(i, " ")
		want.WriteString(piece)
		if !b.push(chat.Event{Kind: chat.Content, Text: piece}) {
			t.Fatal("full")
		}
	}
	b.push(chat.Event{Kind: chat.CallStart, Name: "f"})
	b.push(chat.Event{Kind: chat.CallArgs, Text: "{"})
	b.push(chat.Event{Kind: chat.CallArgs, Text: "}"})
	b.push(chat.Event{Kind: chat.CallEnd})
	list, over := b.take()
	var got strings.Builder
	for _, e := range list[:len(list)-3] {
		got.WriteString(e.Text)
	}
	if over || got.String() != want.String() || len(list) != coalesceEvents+3 || list[len(list)-2].Text != "{}" {
		t.Errorf("%d events, over %v", len(list), over)
	}
	small := newBacklog(100)
	if !small.push(chat.Event{Text: strings.Repeat("x", 500)}) || small.push(chat.Event{Text: "y"}) {
		t.Error("limit: one event always fits, a second must not")
	}
}

// C44: two requests at once.
func TestParallelRequests(t *testing.T) {
	e := newFakeEngine()
	e.set(text("a", "b", "c"))
	url, _ := serve(t, e, nil)
	done := make(chan string)
	for i := range 16 {
		go func() {
			res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader([]string{hello, streamed}[i%2]))
			if err != nil {
				done <- err.Error()
				return
			}
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			done <- res.Status + string(b)
		}()
	}
	for range 16 {
		if got := <-done; !strings.HasPrefix(got, "200") {
			t.Error(got)
		}
	}
}

// Shutdown drains: a short answer ends whole, one that outlives the drain ends with a typed error.
func TestShutdown(t *testing.T) {
	for _, tt := range []struct {
		name string
		free bool
		want string
	}{{"finishes", true, "data: [DONE]\n\n"}, {"outlives the drain", false, `"code":"shutting_down"}}` + "\n\n"}} {
		t.Run(tt.name, func(t *testing.T) {
			e := newFakeEngine()
			s := text("a")
			s.queue = make(chan struct{})
			e.set(s)
			url, server := serve(t, e, func(o *Options) { o.Drain = 300 * time.Millisecond })
			r, _ := open(t, url, streamed)
			line(t, r)
			time.AfterFunc(50*time.Millisecond, func() {
				if tt.free {
					close(s.queue)
				}
			})
			begin := time.Now()
			stopped := make(chan error, 1)
			go func() { stopped <- server.Shutdown(context.Background()) }()
			rest, err := io.ReadAll(r)
			if err != nil || !strings.HasSuffix(string(rest), tt.want) {
				t.Errorf("%v %q", err, rest)
			}
			if err := <-stopped; err != nil || time.Since(begin) > 2*time.Second {
				t.Errorf("Shutdown: %v after %s", err, time.Since(begin))
			}
			if _, err := http.Get(url + "/health"); err == nil {
				t.Error("still accepting")
			}
		})
	}
}
