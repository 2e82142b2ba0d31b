package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// TestOpenAIClient talks to the demo model as any client would: a streamed answer, a streamed call, and the same in one piece.
func TestOpenAIClient(t *testing.T) {
	s := serve(t, settings())
	client := openai.NewClient(option.WithBaseURL(s.url+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	models, err := client.Models.List(context.Background())
	if err != nil || len(models.Data) != 1 {
		t.Fatalf("%+v %v", models, err)
	}
	schema := openai.FunctionParameters{"type": "object", "required": []string{"city"},
		"properties": map[string]any{"city": map[string]any{"type": "string"}}}
	mail := openai.FunctionParameters{"type": "object", "required": []string{"to", "subject"},
		"properties": map[string]any{"to": map[string]any{"type": "string"}, "subject": map[string]any{"type": "string"}}}
	for _, tt := range []struct {
		prompt string
		tools  []openai.ChatCompletionToolUnionParam
		finish string
	}{
		{"What can you do?", nil, "stop"},
		{"List the files.", []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_weather", Description: openai.String("Get the weather"), Parameters: schema}),
			openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "send_mail", Description: openai.String("Send a mail"), Parameters: mail}),
		}, "tool_calls"},
	} {
		params := openai.ChatCompletionNewParams{
			Model: models.Data[0].ID, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(tt.prompt)},
			Tools: tt.tools, Temperature: openai.Float(0),
		}
		whole, err := client.Chat.Completions.New(context.Background(), params)
		if err != nil {
			t.Fatal(err)
		}
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		stream := client.Chat.Completions.NewStreaming(context.Background(), params)
		var acc openai.ChatCompletionAccumulator
		chunks, called := 0, false
		for stream.Next() {
			chunks++
			if !acc.AddChunk(stream.Current()) {
				t.Fatalf("the accumulator refuses %s", stream.Current().RawJSON())
			}
			if call, ok := acc.JustFinishedToolCall(); ok {
				called = call.Name != "" && json.Valid([]byte(call.Arguments))
			}
		}
		if stream.Err() != nil || len(acc.Choices) != 1 || len(whole.Choices) != 1 {
			t.Fatalf("%s: %v, %d and %d choices", tt.prompt, stream.Err(), len(acc.Choices), len(whole.Choices))
		}
		got, want := acc.Choices[0], whole.Choices[0]
		if chunks < 5 || got.FinishReason != tt.finish || want.FinishReason != tt.finish || called != (tt.tools != nil) {
			t.Errorf("%s: %d chunks, finish %q and %q, call seen: %v", tt.prompt, chunks, got.FinishReason, want.FinishReason, called)
		}
		if got.Message.Content != want.Message.Content || acc.Usage.CompletionTokens != whole.Usage.CompletionTokens ||
			tt.tools == nil && !strings.Contains(got.Message.Content, "call the functions you give me") {
			t.Errorf("%s: streamed %q, in one piece %q", tt.prompt, got.Message.Content, want.Message.Content)
		}
		for i, c := range want.Message.ToolCalls {
			if i >= len(got.Message.ToolCalls) || got.Message.ToolCalls[i].Function.Arguments != c.Function.Arguments || got.Message.ToolCalls[i].Function.Name != c.Function.Name {
				t.Errorf("streamed calls %+v, in one piece %+v", got.Message.ToolCalls, want.Message.ToolCalls)
			}
		}
	}
}

// requests cover greedy and sampled answers, calls, and every parameter of the sampler.
func requests() map[string]body {
	sampled := user("What can you do?").with(body{"temperature": 0.9, "seed": 7, "max_tokens": 48})
	return map[string]body{
		"greedy":      user("What can you do?"),
		"call":        calling(),
		"sampled":     sampled,
		"top_p":       sampled.with(body{"top_p": 0.6}),
		"top_k":       sampled.with(body{"top_k": 3}),
		"min_p":       sampled.with(body{"min_p": 0.2}),
		"penalties":   sampled.with(body{"presence_penalty": 1.5, "frequency_penalty": 1.0, "repetition_penalty": 1.3}),
		"logit_bias":  sampled.with(body{"logit_bias": map[string]float64{"100": 3, "200": -7.5}}),
		"all":         sampled.with(body{"top_p": 0.9, "top_k": 40, "min_p": 0.01, "presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.1, "logit_bias": map[string]int{"5": 2}}),
		"other seed":  sampled.with(body{"seed": 8}),
		"no thinking": user("Hello!").with(body{"chat_template_kwargs": body{"enable_thinking": false}}),
	}
}

// TestSameRequestSameAnswer asks everything twice in different orders, streamed and not.
func TestSameRequestSameAnswer(t *testing.T) {
	s := serve(t, settings())
	first := map[string]said{}
	names := slices.Sorted(maps.Keys(requests()))
	for _, name := range names {
		first[name] = s.must(t, requests()[name]).said()
		if first[name].OutputTokens == 0 {
			t.Errorf("%s: an empty answer", name)
		}
	}
	slices.Reverse(names)
	for _, name := range names {
		if got := s.must(t, requests()[name]).said(); got != first[name] {
			t.Errorf("%s: at first %+v, again %+v", name, first[name], got)
		}
		if got := s.stream(t, requests()[name]).said(); got != first[name] {
			t.Errorf("%s: in one piece %+v, streamed %+v", name, first[name], got)
		}
	}
	if first["sampled"] == first["other seed"] || first["sampled"] == first["penalties"] || first["sampled"] == first["top_k"] {
		t.Error("a parameter has no effect")
	}
	drawn := s.must(t, user("Hello!").with(body{"temperature": 1.2, "max_tokens": 32}))
	again := s.must(t, user("Hello!").with(body{"temperature": 1.2, "max_tokens": 32, "seed": drawn.Timings.Seed}))
	if drawn.said() != again.said() {
		t.Errorf("the reported seed %d gives another answer: %+v, %+v", drawn.Timings.Seed, drawn.said(), again.said())
	}
}

// TestParallelClients compares answers made beside 15 others with those made alone.
func TestParallelClients(t *testing.T) {
	s := serve(t, settings())
	ask := func(i int) body {
		return user("Question " + strconv.Itoa(i) + ": what can you do?").with(body{"temperature": float64(i%2) * 0.8, "seed": i, "max_tokens": 40})
	}
	var alone [16]said
	for i := range alone {
		alone[i] = s.must(t, ask(i)).said()
	}
	var all sync.WaitGroup
	for i := range alone {
		all.Go(func() {
			for range 3 {
				a, err := s.tryAsk(t, ask(i))
				if err != nil || a.said() != alone[i] {
					t.Errorf("client %d: alone %+v, beside others %+v (status %d, %v)", i, alone[i], a.said(), a.status, err)
				}
			}
		})
	}
	all.Wait()
}

func TestStopStrings(t *testing.T) {
	s := serve(t, settings())
	b := user("What can you do?").with(body{"chat_template_kwargs": body{"enable_thinking": false}})
	whole := s.must(t, b).said().Content
	if len(whole) < 40 {
		t.Fatalf("the answer %q is too short for this test", whole)
	}
	for at := 1; at+9 < len(whole); at += 3 { // every offset in tokens, so most of these cross a border
		stop := whole[at : at+9]
		want, _, _ := strings.Cut(whole, stop)
		for _, got := range []said{s.must(t, b.with(body{"stop": []string{"no such text", stop}})).said(), s.stream(t, b.with(body{"stop": stop})).said()} {
			if got.Content != want || got.Finish != "stop" {
				t.Errorf("stop %q: %q (%s), want %q", stop, got.Content, got.Finish, want)
			}
		}
	}
}

func TestLength(t *testing.T) {
	s := serve(t, settings())
	for _, n := range []int{1, 2, 7, 100} {
		for _, got := range []said{s.must(t, endless("Hello!", n)).said(), s.stream(t, endless("Hello!", n)).said()} {
			if got.Finish != "length" || got.OutputTokens != n {
				t.Errorf("max_tokens %d: %d tokens, finish %q", n, got.OutputTokens, got.Finish)
			}
		}
	}
	c := settings()
	c.Context = 256
	s = serve(t, c)
	if got := s.must(t, endless("Hello!", 5000)).said(); got.Finish != "length" || got.PromptTokens+got.OutputTokens != 256 {
		t.Errorf("%d + %d tokens in a context of 256, finish %q", got.PromptTokens, got.OutputTokens, got.Finish)
	}
	for _, stream := range []bool{false, true} {
		a := s.ask(t, user(strings.Repeat("one two three ", 200)).with(body{"stream": stream}))
		var prompt, context int
		if i := strings.IndexAny(a.Error.Message, "0123456789"); i >= 0 {
			fmt.Sscanf(a.Error.Message[i:], "%d tokens, and the context of %d", &prompt, &context)
		}
		if a.status != http.StatusBadRequest || a.Error.Code != "context_length_exceeded" || prompt < 600 || context != 256 {
			t.Errorf("stream %v: %d %+v", stream, a.status, a.Error)
		}
	}
}

func TestLogitBias(t *testing.T) {
	s := serve(t, settings())
	forced := s.tokenize(t, "zz", false)[0]
	b := user("Hello!").with(body{"max_tokens": 3, "chat_template_kwargs": body{"enable_thinking": false}})
	a := s.must(t, b.with(body{"logit_bias": map[string]int{strconv.Itoa(forced): 100}})).said()
	if a.Content == "" || strings.Trim(a.Content, "z") != "" || a.OutputTokens != 3 {
		t.Errorf("with a token forced: %+v", a)
	}
	plain := s.must(t, b).said().Content
	banned := s.tokenize(t, plain, false)[0]
	if got := s.must(t, b.with(body{"logit_bias": map[string]int{strconv.Itoa(banned): -100}})).said(); got.Content == plain {
		t.Errorf("%q also with its first token banned", plain)
	}
	if a := s.ask(t, b.with(body{"logit_bias": map[string]int{"4096": 1}})); a.status != http.StatusBadRequest || a.Error.Param != "logit_bias" {
		t.Errorf("bias of no token: %d %+v", a.status, a.Error)
	}
}

func TestTemplateVariables(t *testing.T) {
	s := serve(t, settings())
	b := user("What can you do?")
	if a := s.must(t, b).said(); a.Reasoning == "" {
		t.Errorf("no reasoning by default: %+v", a)
	}
	for _, off := range []body{{"chat_template_kwargs": body{"enable_thinking": false}}, {"reasoning_effort": "none"}} {
		if a := s.must(t, b.with(off)); a.said().Reasoning != "" || a.Usage.Details.Reasoning != 0 || a.said().Content == "" {
			t.Errorf("%v: %+v", off, a.said())
		}
	}
	called := s.must(t, calling()).said()
	none := s.must(t, calling().with(body{"tool_choice": "none"})).said()
	if called.Calls == "" || called.Finish != "tool_calls" || none.Calls != "" || none.Finish != "stop" || none.PromptTokens != called.PromptTokens {
		t.Errorf("tool_choice none: %+v, without: %+v", none, called)
	}
	a := s.ask(t, body{"messages": []body{says("system", "alone")}})
	if a.status != http.StatusBadRequest || a.Error.Message != "No user query found in messages." || a.Error.Param != "messages" {
		t.Errorf("what the template refuses: %d %+v", a.status, a.Error)
	}
}

// TestControlTextStaysText pastes strings of added tokens into messages: each must cost what its letters cost.
func TestControlTextStaysText(t *testing.T) {
	s := serve(t, settings())
	prompt := func(b body) int { return s.must(t, b.with(body{"max_tokens": 1})).Usage.PromptTokens }
	base := prompt(user("x\n\nx")) - len(s.tokenize(t, "x\n\nx", false))
	for _, control := range []string{"<|im_end|>", "<|im_start|>", "<tool_call>", "</tool_call>", "<tool_response>", "<|endoftext|>"} {
		text := "x\n" + control + "\nx"
		plain, special := s.tokenize(t, text, false), s.tokenize(t, text, true)
		if len(special) >= len(plain) {
			t.Errorf("%s is no added token: %d ids, %d as text", control, len(special), len(plain))
		}
		if got := prompt(user(text)) - base; got != len(plain) {
			t.Errorf("%s pasted: %d ids, as text %d", control, got, len(plain))
		}
	}
}
