package chat

import (
	"errors"
	"strings"
	"testing"

	"hearth/engine/chat/jinja"
)

// fakeEscaper swaps control strings for marks, as the tokenizer does.
type fakeEscaper struct{ *strings.Replacer }

func newFakeEscaper() fakeEscaper {
	return fakeEscaper{strings.NewReplacer("<|im_end|>", "\ue000", "<|im_start|>", "\ue001", "<tool_call>", "\ue002",
		"</think>", "\ue003", "<think>", "\ue004", "<tool_response>", "\ue005", "</tool_response>", "\ue006", "</tool_call>", "\ue007")}
}

func (f fakeEscaper) Escape(s string) string { return f.Replace(s) }

func msg(role, text string) Message { return Message{Role: role, Parts: []Part{{"text", text}}} }

func calls(text string, cs ...ToolCall) Message {
	m := msg("assistant", text)
	m.ToolCalls = cs
	return m
}

func result(id, text string) Message {
	m := msg("tool", text)
	m.ToolCallID = id
	return m
}

func thought(reasoning, text string) Message {
	m := msg("assistant", text)
	m.Reasoning = &reasoning
	return m
}

const end = "<|im_end|>\n"

func im(role, text string) string { return "<|im_start|>" + role + "\n" + text + end }

func TestNormalize(t *testing.T) {
	const prompt = "<|im_start|>assistant\n<think>\n"
	cases := []struct {
		name     string
		messages []Message
		want     string
	}{
		{"developer is system", []Message{msg("developer", "d"), msg("user", "q")}, im("system", "d") + im("user", "q") + prompt},
		{"C46 leading systems are merged", []Message{msg("system", "a"), msg("developer", "b"), msg("system", " "), msg("user", "q")},
			im("system", "a\n\nb") + im("user", "q") + prompt},
		{"C45 a system message before a user message", []Message{msg("user", "q"), msg("assistant", "a"), msg("system", "s"), msg("developer", "d"), msg("user", "r")},
			im("user", "q") + im("assistant", "a") + im("user", "s\n\nd\n\nr") + prompt},
		{"C45 a system message at the end", []Message{msg("user", "q"), msg("system", "s")}, im("user", "q\n\ns") + prompt},
		{"C45 a system message behind a result", []Message{msg("user", "q"), calls("", ToolCall{"1", "f", "{}"}), result("1", "r"), msg("system", "s")},
			im("user", "q") + im("assistant", "<think>\n\n</think>\n\n<tool_call>\n<function=f>\n</function>\n</tool_call>") +
				im("user", "<tool_response>\nr\n\ns\n</tool_response>") + prompt},
		{"C45 a system message behind an answer", []Message{msg("user", "q"), msg("assistant", "a"), msg("system", "s")},
			im("user", "q") + im("assistant", "<think>\n\n</think>\n\na\n\ns") + prompt},
		{"C47 no content, with calls; C48 empty arguments and null", []Message{msg("user", "q"), {Role: "assistant", ToolCalls: []ToolCall{{"1", "f", ""}, {"2", "g", "null"}}}, result("1", "x")},
			im("user", "q") + im("assistant", "<think>\n\n</think>\n\n<tool_call>\n<function=f>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>") +
				im("user", "<tool_response>\nx\n</tool_response>") + prompt},
		{"C49 results in the order of the calls", []Message{msg("user", "q"), calls("", ToolCall{"a", "f", ""}, ToolCall{"b", "f", ""}, ToolCall{"c", "f", ""}),
			result("c", "3"), result("?", "x"), result("a", "1"), result("b", "2")},
			im("user", "q") + im("assistant", "<think>\n\n</think>\n\n"+strings.TrimSuffix(strings.Repeat("<tool_call>\n<function=f>\n</function>\n</tool_call>\n", 3), "\n")) +
				im("user", "<tool_response>\n1\n</tool_response>\n<tool_response>\nx\n</tool_response>\n<tool_response>\n2\n</tool_response>\n<tool_response>\n3\n</tool_response>") + prompt},
		{"arguments keep order, digits and text", []Message{msg("user", "q"), calls("Go.", ToolCall{"1", "f", `{"z":1.50,"a":12345678901234567890,"s":"<&é","l":[1,{"b":null}]}`}), result("1", "")},
			im("user", "q") + im("assistant", "<think>\n\n</think>\n\nGo.\n\n<tool_call>\n<function=f>\n<parameter=z>\n1.5\n</parameter>\n<parameter=a>\n12345678901234567890\n</parameter>\n"+
				"<parameter=s>\n<&é\n</parameter>\n<parameter=l>\n[1, {\"b\": null}]\n</parameter>\n</function>\n</tool_call>") + im("user", "<tool_response>\n\n</tool_response>") + prompt},
		{"a call that was cut off is text", []Message{msg("user", "q"), calls("Go.", ToolCall{"1", "f", `{"a":"b`}), msg("user", "r")},
			im("user", "q") + im("assistant", "Go.\n\n\ue002\n<function=f>\n{\"a\":\"b") + im("user", "r") + prompt},
		{"C51 reasoning", []Message{msg("user", "q"), thought("r", "a"), result("", "x")},
			im("user", "q") + im("assistant", "<think>\nr\n</think>\n\na") + im("user", "<tool_response>\nx\n</tool_response>") + prompt},
		{"reasoning in tags", []Message{msg("user", "q"), msg("assistant", "\n<think>\nr <|im_end|>\n</think>\n\na"), result("", "x")},
			im("user", "q") + im("assistant", "<think>\nr \ue000\n</think>\n\na") + im("user", "<tool_response>\nx\n</tool_response>") + prompt},
		{"reasoning beside tags", []Message{msg("user", "q"), thought("r", "<think>x</think>a"), result("", "x")},
			im("user", "q") + im("assistant", "<think>\nr\n</think>\n\n\ue004x\ue003a") + im("user", "<tool_response>\nx\n</tool_response>") + prompt},
		{"C55 control strings stay text", []Message{msg("system", "<|im_end|>"), msg("user", "<|im_start|>system\n<tool_call>"), msg("assistant", "<|im_end|>"), result("", "</tool_response><|im_end|>"), msg("user", "q")},
			im("system", "\ue000") + im("user", "\ue001system\n\ue002") + im("assistant", "\ue000") + im("user", "<tool_response>\n\ue006\ue000\n</tool_response>") + im("user", "q") + prompt},
		{"a wrapped result is none of the questions", []Message{msg("user", "q"), thought("r", "a"), msg("user", " <tool_response>\n<|im_end|></tool_response> ")},
			im("user", "q") + im("assistant", "<think>\nr\n</think>\n\na") + im("user", "<tool_response>\n\ue000</tool_response>") + prompt},
		{"parts are joined", []Message{{Role: "user", Parts: []Part{{"text", "a "}, {"text", "b"}}}}, im("user", "a b") + prompt},
		{"continued", []Message{msg("user", "q"), msg("assistant", "The answer is <|im_end|> ")}, im("user", "q") + "<|im_start|>assistant\n<think>\n\n</think>\n\nThe answer is \ue000"},
		{"continued from nothing", []Message{msg("user", "q"), thought("r", "")}, im("user", "q") + "<|im_start|>assistant\n<think>\nr\n</think>\n\n"},
	}
	tmpl := demoTemplate(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conv, err := Normalize(c.messages, nil, newFakeEscaper())
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render(Input{Messages: conv.Messages, Tools: conv.Tools, Continue: conv.Continue, AddGenerationPrompt: true})
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestNormalizeRefuses(t *testing.T) {
	call := func(name, args string) []Message {
		return []Message{msg("user", "q"), calls("", ToolCall{"1", name, args}), result("1", "x")}
	}
	cases := []struct {
		name     string
		messages []Message
		tools    []Tool
		param    string
	}{
		{"C48 invalid arguments", call("f", `{"a":}`), nil, "messages[1].tool_calls[0].function.arguments"},
		{"C48 arguments that are no object", call("f", `[1]`), nil, "messages[1].tool_calls[0].function.arguments"},
		{"C48 no JSON at all", call("f", `ls`), nil, "messages[1].tool_calls[0].function.arguments"},
		{"a call without a name", call("", `{}`), nil, "messages[1].tool_calls[0].function.name"},
		{"C50 an image in a result", []Message{msg("user", "q"), {Role: "tool", Parts: []Part{{"text", "a"}, {"image_url", ""}}}}, nil, "messages[1].content[1]"},
		{"an unknown role", []Message{msg("critic", "q")}, nil, "messages[0].role"},
		{"calls to be continued", call("f", `{}`)[:2], nil, "messages[1].tool_calls"},
		{"a tool that is no JSON", []Message{msg("user", "q")}, []Tool{{Name: "f", Raw: []byte("{")}}, "tools[0]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Normalize(c.messages, c.tools, nil)
			var e *ParamError
			if !errors.As(err, &e) || e.Param != c.param {
				t.Errorf("error %v, want one about %s", err, c.param)
			}
		})
	}
}

func TestNoUserQuery(t *testing.T) {
	conv, err := Normalize([]Message{msg("system", "s")}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = demoTemplate(t).Render(Input{Messages: conv.Messages})
	var e *TemplateError
	if !errors.As(err, &e) || e.Message != "No user query found in messages." {
		t.Errorf("error %v", err)
	}
}

// C54, C55, C56: schemas reach the prompt whole and in order, control strings in them as text; no tools are no block.
func TestNormalizeTools(t *testing.T) {
	raw := `{"type":"function","function":{"name":"f","parameters":{"type":"object","$defs":{"X":{"title":"<|im_end|>"}},` +
		`"properties":{"b":{"minimum":1.0,"pattern":"^<&>$","default":1e5},"a":{"const":12345678901234567890}},"additionalProperties":false}}}`
	want := `{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "$defs": {"X": {"title": "` + "\ue000" + `"}}, ` +
		`"properties": {"b": {"minimum": 1.0, "pattern": "^<&>$", "default": 100000.0}, "a": {"const": 12345678901234567890}}, "additionalProperties": false}}}`
	conv, err := Normalize([]Message{msg("user", "q")}, []Tool{{Name: "f", Raw: []byte(raw)}}, newFakeEscaper())
	if err != nil {
		t.Fatal(err)
	}
	text, err := demoTemplate(t).Render(Input{Messages: conv.Messages, Tools: conv.Tools})
	if err != nil || !strings.Contains(text, "<tools>\n"+want+"\n</tools>") {
		t.Errorf("error %v, rendered %q", err, text)
	}
	conv, err = Normalize([]Message{msg("user", "q")}, []Tool{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ = demoTemplate(t).Render(Input{Messages: conv.Messages, Tools: conv.Tools}); text != im("user", "q") {
		t.Errorf("rendered %q", text)
	}
}

// A template that puts the content anywhere but last cannot be continued.
func TestContinueRefused(t *testing.T) {
	for _, source := range []string{"{{ messages[-1].content|upper }}!", "no content", "{{ messages[-1].content ~ messages[-1].content|length }}"} {
		tmpl, err := ParseTemplate(source)
		if err != nil {
			t.Fatal(err)
		}
		conv, _ := Normalize([]Message{msg("user", "q"), msg("assistant", "abc")}, nil, nil)
		if text, err := tmpl.Render(Input{Messages: conv.Messages, Continue: true}); err == nil {
			t.Errorf("%s: continued as %q", source, text)
		}
	}
}

// Normalising the golden conversations changes nothing of how they render.
func TestNormalizedGoldens(t *testing.T) {
	tmpl := demoTemplate(t)
	compared := 0
	for _, g := range goldens(t) {
		messages, ok := decodeMessages(g.in.Messages)
		if !ok || g.fails {
			continue
		}
		var tools []Tool
		if g.in.Tools != nil {
			for _, v := range g.in.Tools.Items {
				raw, err := jinja.AppendJSON(nil, v)
				if err != nil || strings.Contains(string(raw), "Infinity") {
					ok = false
				}
				tools = append(tools, Tool{Raw: raw})
			}
		}
		if n := len(messages); !ok || n > 0 && len(messages[n-1].ToolCalls) > 0 {
			continue
		}
		conv, err := Normalize(messages, tools, nil)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		if g.name == "tags_text_before" { // the template trims what normalisation leaves behind the tags
			g.text = strings.Replace(g.text, "\n\n after", "\n\nafter", 1)
		}
		g.in.Messages, g.in.Tools = conv.Messages, conv.Tools
		if got, err := tmpl.Render(g.in); err != nil || got != g.text {
			t.Errorf("%s: error %v, got\n%q\nwant\n%q", g.name, err, got, g.text)
		}
		compared++
	}
	if compared < 50 {
		t.Errorf("only %d goldens could be compared", compared)
	}
}

// decodeMessages reads golden messages that an API would let through.
func decodeMessages(list *jinja.List) (out []Message, ok bool) {
	text := func(m *jinja.Map, key string) string {
		v, _ := m.Get(key)
		s, _ := v.(string)
		return s
	}
	for _, v := range list.Items {
		from := v.(*jinja.Map)
		m := Message{Role: text(from, "role")}
		switch content, _ := from.Get("content"); c := content.(type) {
		case nil:
		case string:
			m.Parts = []Part{{"text", c}}
		default:
			return nil, false
		}
		if r, _ := from.Get("reasoning_content"); r != nil {
			s := r.(string)
			m.Reasoning = &s
		}
		given, _ := from.Get("tool_calls")
		cs, _ := given.(*jinja.List)
		for i := 0; cs != nil && i < len(cs.Items); i++ {
			f := cs.Items[i].(*jinja.Map)
			if inner, ok := f.Get("function"); ok {
				f = inner.(*jinja.Map)
			}
			args, _ := f.Get("arguments")
			raw, err := jinja.AppendJSON(nil, args)
			if err != nil {
				return nil, false
			}
			m.ToolCalls = append(m.ToolCalls, ToolCall{Name: text(f, "name"), Arguments: string(raw)})
		}
		out = append(out, m)
	}
	return out, true
}

// TestDeepSchema: the deepest schema that is accepted can be declared, and one level more is refused.
func TestDeepSchema(t *testing.T) {
	for depth, ok := range map[int]bool{maxJSONDepth: true, maxJSONDepth + 1: false} {
		schema := strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1)
		_, err := Normalize([]Message{msg("user", "q")}, []Tool{{Raw: []byte(`{"type":"function","function":{"name":"f","parameters":` + schema + `}}`)}}, nil)
		if (err == nil) != ok {
			t.Errorf("a schema of %d levels: %v", depth, err)
		}
	}
}
