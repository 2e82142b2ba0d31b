package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// overheadLimit is what HTTP, template and tokenizer may add to a warm turn of ten thousand tokens.
const overheadLimit = 15 * time.Millisecond

// conversation is an agent's: a system prompt, then questions, calls with their results, and answers, of about ten thousand
// tokens in all. Another turn appends to it and changes nothing before.
func conversation(turns int) []body {
	messages := []body{says("system", "You are a coding agent. "+strings.Repeat("Read files before you change them. ", 30))}
	for i := range turns {
		id := fmt.Sprintf("call_%d", i)
		messages = append(messages, says("user", fmt.Sprintf("Look at file number %d and say what it does.", i)),
			body{"role": "assistant", "content": "", "reasoning_content": "I should read it.", "tool_calls": []body{{"id": id, "type": "function",
				"function": body{"name": "bash", "arguments": fmt.Sprintf(`{"command":"cat file%d.py"}`, i)}}}},
			body{"role": "tool", "tool_call_id": id, "content": source(i)},
			says("assistant", fmt.Sprintf("It reads files; this is file %d.", i)))
	}
	return append(messages, says("user", "And now?"))
}

// source is a file in which no two functions are alike.
func source(file int) string {
	var b strings.Builder
	for i := range 15 {
		fmt.Fprintf(&b, "def read_%d_%x(path, limit=%d):\n    with open(path) as f:\n        return f.read(limit + %d)\n", file, i*i*7919, file*i*31, i*977)
	}
	return b.String()
}

// turn asks for one token of a conversation. wait is the client's time less what the engine computed or waited.
func (s server) turn(t testing.TB, turns int) (a answer, wait time.Duration) {
	t.Helper()
	b := body{"messages": conversation(turns), "tools": []body{function("bash", "Run a command", "command")}, "temperature": 0, "max_tokens": 1}
	begin := time.Now()
	a = s.must(t, b)
	computed := time.Duration((a.Timings.Queue + a.Timings.Prefill + a.Timings.Decode) * float64(time.Millisecond))
	return a, time.Since(begin) - computed
}

// TestOverhead sends a conversation, then the same with one more turn: what is not the model's work stays small.
func TestOverhead(t *testing.T) {
	s := serve(t, settings())
	const turns = 14 // and one more: 62 messages
	cold, first := s.turn(t, turns)
	best, render, tokens := time.Hour, 0.0, 0
	for i := range 3 { // other work on the machine disturbs single measurements
		a, wait := s.turn(t, turns+1+i)
		if i == 0 {
			tokens = a.Usage.PromptTokens
		}
		if wait < best {
			best, render = wait, a.Timings.Render
		}
	}
	t.Logf("%d tokens cold: %v of overhead, %.2f ms of it template and tokenizer; one more turn, %d tokens: %v, %.2f ms",
		cold.Usage.PromptTokens, first.Round(10*time.Microsecond), cold.Timings.Render, tokens, best.Round(10*time.Microsecond), render)
	if tokens < 9000 || tokens > 12000 {
		t.Errorf("%d tokens are no turn of ten thousand", tokens)
	}
	if best > overheadLimit {
		t.Errorf("overhead of a warm turn is %v, want at most %v", best, overheadLimit)
	}
}

// BenchmarkOverhead reports the overhead of warm turns, without the model's work.
func BenchmarkOverhead(b *testing.B) {
	s := serve(b, settings())
	s.turn(b, 14)
	var wait time.Duration
	var render float64
	for b.Loop() {
		a, w := s.turn(b, 15)
		wait += w
		render += a.Timings.Render
	}
	b.ReportMetric(float64(wait.Microseconds())/1000/float64(b.N), "overhead-ms/turn")
	b.ReportMetric(render/float64(b.N), "render-ms/turn")
}
