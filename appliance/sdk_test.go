package appliance

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"hearth/engine"
	"hearth/engine/chat"
)

// C24: the SDK's own types and accumulator understand what is sent.
func TestOpenAISDK(t *testing.T) {
	e := newFakeEngine()
	e.set(script{
		events: slices.Concat([]chat.Event{{Kind: chat.Reasoning, Text: "hm"}, {Kind: chat.Content, Text: "I "}, {Kind: chat.Content, Text: "look"}},
			call(0, "bash", `{"command":`, `"ls"`, `}`), call(1, "read", `{"path":"a"}`)),
		result: engine.Result{Finish: engine.FinishToolCalls, PromptTokens: 20, CachedTokens: 19, OutputTokens: 9, ReasoningTokens: 1},
	})
	url, _ := serve(t, e, nil)
	client := openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{
		Model:    "qwen-test",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be brief"), openai.UserMessage("list the files")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "bash", Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}}})},
		Temperature: openai.Float(0), Seed: openai.Int(42), MaxCompletionTokens: openai.Int(1024),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	check := func(c openai.ChatCompletion) {
		t.Helper()
		m := c.Choices[0].Message
		if m.Content != "I look" || c.Choices[0].FinishReason != "tool_calls" || len(m.ToolCalls) != 2 || m.Role != "assistant" {
			t.Fatalf("%+v", c)
		}
		if f := m.ToolCalls[0].Function; f.Name != "bash" || f.Arguments != `{"command":"ls"}` || m.ToolCalls[0].ID == m.ToolCalls[1].ID {
			t.Errorf("%+v", m.ToolCalls)
		}
		if c.Usage.PromptTokens != 20 || c.Usage.PromptTokensDetails.CachedTokens != 19 || c.Usage.CompletionTokensDetails.ReasoningTokens != 1 {
			t.Errorf("%+v", c.Usage)
		}
	}
	stream := client.Chat.Completions.NewStreaming(context.Background(), params)
	acc := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("the accumulator refuses %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	check(acc.ChatCompletion)
	if req := e.request(); len(req.Tools) != 1 || req.Tools[0].Name != "bash" || *req.Sampling.Seed != 42 || req.MaxTokens != 1024 {
		t.Errorf("the engine got %+v", req)
	}
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	answer, err := client.Chat.Completions.New(context.Background(), params)
	if err != nil {
		t.Fatal(err)
	}
	check(*answer)

	params.Model = "other"
	var refused *openai.Error
	if _, err = client.Chat.Completions.New(context.Background(), params); !errors.As(err, &refused) || refused.StatusCode != 404 || refused.Code != "model_not_found" || refused.Param != "model" {
		t.Errorf("%v", err)
	}
	if list, err := client.Models.List(context.Background()); err != nil || len(list.Data) != 1 || list.Data[0].ID != "qwen-test" {
		t.Errorf("%v %v", list, err)
	}
}

// No body makes the server fail: it answers 200 or a 4xx with an error object.
func FuzzRequestBody(f *testing.F) {
	e := newFakeEngine()
	e.set(text("ok"))
	url, _ := serve(f, e, nil)
	for _, seed := range []string{hello, streamed, `{`, `{"messages":[{"role":"user","content":[{"type":"text","text":"\ud800"}]}],"stop":["\u0000"]}`} {
		f.Add(seed, "")
	}
	f.Add("\x1f\x8b\x08\x00", "gzip")
	f.Add("\x28\xb5\x2f\xfd\x00", "zstd")
	f.Fuzz(func(t *testing.T, body, encoding string) {
		req, err := http.NewRequest("POST", url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if encoding == "gzip" || encoding == "zstd" {
			req.Header.Set("Content-Encoding", encoding)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 && (res.StatusCode < 400 || res.StatusCode > 499 || !strings.Contains(string(b), `"error":{`)) {
			t.Errorf("%d %v %s", res.StatusCode, err, b)
		}
	})
}
