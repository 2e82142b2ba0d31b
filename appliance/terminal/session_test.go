package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// server answers the n-th chat request with the n-th list of deltas, and keeps what it was sent.
type server struct {
	t       *testing.T
	answers [][]string
	hold    bool // after its deltas an answer waits for the client to go
	seen    []request
	loading int // /health answers that say loading
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		if s.loading > 0 {
			s.loading--
			w.WriteHeader(503)
			io.WriteString(w, `{"status":"loading","stage":"reading weights","progress":0.5}`)
			return
		}
		io.WriteString(w, `{"status":"ready","model":"m"}`)
		return
	}
	var req request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		s.t.Error(err)
	}
	n := len(s.seen)
	s.seen = append(s.seen, req)
	if n >= len(s.answers) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"no more answers"}}`)
		return
	}
	finish := "stop"
	for _, d := range s.answers[n] {
		if strings.Contains(d, "tool_calls") {
			finish = "tool_calls"
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":%s,\"finish_reason\":null}]}\n\n: ping\n\n", d)
		w.(http.Flusher).Flush()
	}
	if s.hold {
		<-r.Context().Done()
		return
	}
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":%q}],\"timings\":{\"decode_tokens\":3,\"decode_tokens_per_second\":12.5}}\n\ndata: [DONE]\n\n", finish)
}

func talk(t *testing.T, s *server, input string, interrupt chan struct{}) string {
	t.Helper()
	s.t = t
	ts := httptest.NewServer(s)
	defer ts.Close()
	client := &Client{URL: ts.URL + "/"}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var progress []string
	model, err := client.WaitReady(ctx, func(stage string, part float64) { progress = append(progress, fmt.Sprint(stage, part)) })
	if err != nil || model != "m" {
		t.Fatal(model, err)
	}
	var out bytes.Buffer
	session := Session{Client: client, Model: model, In: strings.NewReader(input), Out: &out, Interrupt: interrupt, Tools: json.RawMessage(`[{"type":"function"}]`)}
	if err := session.Run(ctx, "be brief", "", false); err != nil {
		t.Error(err)
	}
	return strings.Join(progress, ";") + out.String()
}

// Several turns, reasoning, a tool call whose result is asked of the user; history goes back as received.
func TestConversation(t *testing.T) {
	s := &server{loading: 1, answers: [][]string{
		{`{"role":"assistant","content":""}`, `{"reasoning_content":"hm"}`, `{"content":"Hel"}`, `{"content":"lo\u001b[31m"}`},
		{`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"bash","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]}`},
		{`{"content":"two files"}`},
	}}
	out := talk(t, s, "hi\nlist files\na b\n\n/quit\n", nil)
	for _, want := range []string{"reading weights0.5", "hm\nHello[31m\n3 tokens, 12.5/s", `→ bash {"command":"ls"}` + "\n", "result of bash: ", "two files"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if len(s.seen) != 3 {
		t.Fatalf("%d requests", len(s.seen))
	}
	last, _ := json.Marshal(s.seen[2].Messages)
	const want = `[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":"Hello\u001b[31m","reasoning_content":"hm"},{"role":"user","content":"list files"},` +
		`{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},` +
		`{"role":"tool","content":"a b","tool_call_id":"c1"}]`
	if string(last) != want || s.seen[0].Model != "m" || !s.seen[0].Stream || string(s.seen[0].Tools) != `[{"type":"function"}]` {
		t.Errorf("%s\nwant\n%s", last, want)
	}
}

// A refused message is no history; /new forgets.
func TestRefusedAndNew(t *testing.T) {
	s := &server{answers: [][]string{{`{"content":"one"}`}}}
	out := talk(t, s, "a\n/new\nb\nc", nil)
	if !strings.Contains(out, "no more answers (400 Bad Request)") || !strings.Contains(out, "A new conversation") {
		t.Errorf("%q", out)
	}
	if len(s.seen) != 3 || len(s.seen[1].Messages) != 2 || len(s.seen[2].Messages) != 2 {
		t.Errorf("%+v", s.seen)
	}
}

// ^C stops the answer and keeps the conversation.
func TestInterrupt(t *testing.T) {
	interrupt := make(chan struct{})
	go func() {
		time.Sleep(200 * time.Millisecond)
		interrupt <- struct{}{}
	}()
	s := &server{hold: true, answers: [][]string{{`{"content":"begun"}`}}}
	if out := talk(t, s, "a\n", interrupt); !strings.Contains(out, "begun\n(stopped)") {
		t.Errorf("%q", out)
	}
}

func TestNoServer(t *testing.T) {
	_, err := (&Client{URL: "http://127.0.0.1:1"}).WaitReady(context.Background(), func(string, float64) {})
	if err == nil || !strings.Contains(err.Error(), "hearth serve") {
		t.Error(err)
	}
}
