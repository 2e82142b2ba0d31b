package chat

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// marking stands in for the tokenizer: it swaps the first byte of tags for a mark that tests can see.
type marking struct{}

func (marking) Escape(s string) string {
	return strings.NewReplacer("<|", "«|", "<tool", "«tool", "</tool", "«/tool", "<think", "«think", "</think", "«/think").Replace(s)
}

func text(s string) []Part { return []Part{{"text", s}} }

func ptr(s string) *string { return &s }

// The short forms of rendered turns.
func im(role, content string) string { return "<|im_start|>" + role + "\n" + content + "<|im_end|>\n" }

const thinkOn = "<|im_start|>assistant\n<think>\n"

func TestNormalize(t *testing.T) {
	tpl := demoTemplate(t)
	user := Message{Role: "user", Parts: text("Q")}
	bash := func(id, args string) ToolCall { return ToolCall{ID: id, Name: "bash", Arguments: args} }
	for _, c := range []struct {
		name   string
		in     []Message
		kwargs string
		want   string
	}{
		{name: "one question", in: []Message{user}, want: im("user", "Q") + thinkOn},
		{name: "developer is system", in: []Message{{Role: "developer", Parts: text("D")}, user}, want: im("system", "D") + im("user", "Q") + thinkOn},
		{name: "C46 leading system messages are merged",
			in:   []Message{{Role: "system", Parts: text("A")}, {Role: "system"}, {Role: "developer", Parts: text("B")}, user},
			want: im("system", "A\n\nB") + im("user", "Q") + thinkOn},
		{name: "C45 a later system message goes to the user message behind it",
			in:   []Message{user, {Role: "assistant", Parts: text("A")}, {Role: "system", Parts: text("S")}, {Role: "user", Parts: text("R")}},
			want: im("user", "Q") + im("assistant", "A") + im("user", "S\n\nR") + thinkOn},
		{name: "C45 a later system message with none behind it",
			in:   []Message{user, {Role: "system", Parts: text("S")}},
			want: im("user", "Q\n\nS") + thinkOn},
		{name: "parts are joined with nothing between", in: []Message{{Role: "user", Parts: []Part{{"text", "a"}, {"text", "b"}}}}, want: im("user", "ab") + thinkOn},
		{name: "C47 C48 calls without content or arguments",
			in:   []Message{user, {Role: "assistant", ToolCalls: []ToolCall{bash("1", ""), bash("2", "null"), bash("3", ` {"b": 1.0, "a": "x"} `)}}, {Role: "tool", Parts: text("ok")}},
			want: im("user", "Q") + im("assistant", "<think>\n\n</think>\n\n<tool_call>\n<function=bash>\n</function>\n</tool_call>\n<tool_call>\n<function=bash>\n</function>\n</tool_call>\n<tool_call>\n<function=bash>\n<parameter=b>\n1.0\n</parameter>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>") + "<|im_start|>user\n<tool_response>\nok\n</tool_response><|im_end|>\n" + thinkOn},
		{name: "C49 results in the order of the calls",
			in: []Message{user, {Role: "assistant", ToolCalls: []ToolCall{bash("1", ""), bash("2", ""), bash("3", "")}},
				{Role: "tool", ToolCallID: "3", Parts: text("three")}, {Role: "tool", ToolCallID: "?", Parts: text("who")}, {Role: "tool", ToolCallID: "1", Parts: text("one")}},
			want: im("user", "Q") + im("assistant", "<think>\n\n</think>\n\n"+strings.Join(slices.Repeat([]string{"<tool_call>\n<function=bash>\n</function>\n</tool_call>"}, 3), "\n")) +
				"<|im_start|>user\n<tool_response>\none\n</tool_response>\n<tool_response>\nwho\n</tool_response>\n<tool_response>\nthree\n</tool_response><|im_end|>\n" + thinkOn},
		{name: "reasoning inside content",
			in:   []Message{user, {Role: "assistant", Parts: text("<think>\nr\n</think>\n\nA")}, {Role: "tool", Parts: text("z")}},
			want: im("user", "Q") + im("assistant", "<think>\nr\n</think>\n\nA") + "<|im_start|>user\n<tool_response>\nz\n</tool_response><|im_end|>\n" + thinkOn},
		{name: "C51 reasoning of its own", in: []Message{user, {Role: "assistant", Reasoning: ptr("r"), Parts: text("A")}, {Role: "tool", Parts: text("z")}},
			want: im("user", "Q") + im("assistant", "<think>\nr\n</think>\n\nA") + "<|im_start|>user\n<tool_response>\nz\n</tool_response><|im_end|>\n" + thinkOn},
		{name: "C55 control text stays text", in: []Message{{Role: "user", Parts: text("a <|im_end|> <tool_call> </think>")}},
			want: im("user", "a «|im_end|> «tool_call> «/think>") + thinkOn},
		{name: "control text in history, arguments and results",
			in: []Message{user, {Role: "assistant", Reasoning: ptr("<|r"), Parts: text("<tool_call>"), ToolCalls: []ToolCall{bash("1", `{"<|k": ["<|v"]}`)}},
				{Role: "tool", Parts: text("</tool_response>")}},
			want: im("user", "Q") + im("assistant", "<think>\n«|r\n</think>\n\n«tool_call>\n\n<tool_call>\n<function=bash>\n<parameter=«|k>\n[\"«|v\"]\n</parameter>\n</function>\n</tool_call>") +
				"<|im_start|>user\n<tool_response>\n«/tool_response>\n</tool_response><|im_end|>\n" + thinkOn},
		{name: "a user message that is a wrapped result is no question",
			in:   []Message{user, {Role: "assistant", Reasoning: ptr("r"), Parts: text("A")}, {Role: "user", Parts: text("<tool_response>\n<|x\n</tool_response>")}},
			want: im("user", "Q") + im("assistant", "<think>\nr\n</think>\n\nA") + im("user", "<tool_response>\n«|x\n</tool_response>") + thinkOn},
		{name: "thinking off", in: []Message{user}, kwargs: `{"enable_thinking": false}`, want: im("user", "Q") + thinkOn + "\n</think>\n\n"},
		{name: "the last message is continued", in: []Message{user, {Role: "assistant", Parts: text("So far ")}},
			want: im("user", "Q") + "<|im_start|>assistant\n<think>\n\n</think>\n\nSo far "},
		{name: "a call that was cut off is text", in: []Message{user, {Role: "assistant", Parts: text("x"), ToolCalls: []ToolCall{bash("1", `{"command": "l`)}}, {Role: "user", Parts: text("R")}},
			want: im("user", "Q") + im("assistant", "x\n\n«tool_call>\n<function=bash>\n{\"command\": \"l") + im("user", "R") + thinkOn},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := Normalize(c.in, nil, []byte(c.kwargs), marking{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := tpl.Render(in)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestNormalizeTools: schemas keep keys, order, numbers and characters; only control text is marked.
func TestNormalizeTools(t *testing.T) {
	raw := `{"type":"function","function":{"name":"get","description":"<b> é <|im_end|>","parameters":{"type":"object","properties":{"z":{"minimum":1.50,"pattern":"^a&b$","title":"T"},"a":{"default":12345678901234567890}},"$defs":{},"additionalProperties":false}}}`
	in, err := Normalize([]Message{{Role: "user", Parts: text("Q")}}, []Tool{{Name: "get", Raw: []byte(raw)}}, nil, marking{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := demoTemplate(t).Render(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type": "function", "function": {"name": "get", "description": "<b> é «|im_end|>", "parameters": {"type": "object", "properties": {"z": {"minimum": 1.5, "pattern": "^a&b$", "title": "T"}, "a": {"default": 12345678901234567890}}, "$defs": {}, "additionalProperties": false}}}`
	if !strings.Contains(got, "<tools>\n"+want+"\n</tools>") {
		t.Errorf("tools are not in\n%s", got)
	}
}

func TestNormalizeRefuses(t *testing.T) {
	user := Message{Role: "user", Parts: text("Q")}
	for _, c := range []struct {
		name  string
		in    []Message
		param string
	}{
		{"role", []Message{{Role: "robot"}}, "messages[0].role"},
		{"C50 image", []Message{user, {Role: "tool", Parts: []Part{{"text", "a"}, {Type: "image_url"}}}}, "messages[1].content[1]"},
		{"C48 invalid arguments", []Message{user, {Role: "assistant", ToolCalls: []ToolCall{{Name: "a", Arguments: "{}"}, {Name: "b", Arguments: `{"a": nope}`}}}, user}, "messages[1].tool_calls[1].function.arguments"},
		{"arguments that are a list", []Message{user, {Role: "assistant", ToolCalls: []ToolCall{{Name: "a", Arguments: "[1]"}}}, user}, "messages[1].tool_calls[0].function.arguments"},
		{"a call without a name", []Message{user, {Role: "assistant", ToolCalls: []ToolCall{{}}}, user}, "messages[1].tool_calls[0].function.name"},
		{"a call to be continued", []Message{user, {Role: "assistant", ToolCalls: []ToolCall{{Name: "a"}}}}, "messages[1].tool_calls"},
	} {
		_, err := Normalize(c.in, nil, nil, marking{})
		var p *ParamError
		if !errors.As(err, &p) || p.Param != c.param {
			t.Errorf("%s: %v, want an error at %s", c.name, err, c.param)
		}
	}
	if _, err := Normalize([]Message{user}, nil, []byte("[1]"), marking{}); err == nil {
		t.Error("a list of template variables was accepted")
	}
	if in, err := Normalize([]Message{{Role: "system", Parts: text("S")}}, nil, nil, marking{}); err != nil {
		t.Error(err)
	} else if _, err := demoTemplate(t).Render(in); err == nil || err.Error() != "No user query found in messages." {
		t.Errorf("no question: %v", err)
	}
}
