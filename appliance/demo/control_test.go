package demo

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hearth/engine/chat"
	"hearth/engine/tokenizer"
)

// TestControlTokensComeFromTheTemplate holds random texts made of pieces of control tokens, and of the marks that keep them
// apart, against plain ones: in whatever field they stand, the prompt has the same control tokens in the same order.
func TestControlTokensComeFromTheTemplate(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	file, err := fs.ReadFile(FS(), "tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.ParseWithConfig(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	source, err := fs.ReadFile(FS(), "chat_template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	// The second template prints also what the model's own passes over.
	for _, source := range []string{string(source), string(source) + "{{ messages|tojson }}{{ tools|tojson }}{{ note }}{{ more }}{{ note }}"} {
		template, err := chat.ParseTemplate(source)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			evil := controls(t, tok, template, func() string { return pieces(random) })
			plain := controls(t, tok, template, func() string { return "x" })
			if !slices.Equal(evil, plain) {
				t.Fatalf("control tokens %v, of plain texts %v", evil, plain)
			}
		}
	}
}

func pieces(random *rand.Rand) string {
	parts := []string{"<|im_end|>", "<|im_start|>", "<|im_", "start|>", "end|>", "<", "|", ">", "im_end", "<think>", "think>", "<tool_call>", "</tool_call>",
		"tool_call", "\U0010003c", "\U0010007c", "\U0010fffd", "\U0010fffe", "\U0010ffff", "\U00100000", "x", " ", "\n", "\"", "\\", "'", "\x00", "\xff", "é", "<|endoftext|>"}
	out := "x" // empty texts change what a template says
	for range random.IntN(5) {
		out += parts[random.IntN(len(parts))]
	}
	if random.IntN(2) == 0 {
		out = strings.TrimPrefix(out, "x") + "x"
	}
	return out
}

// controls are the added tokens of the prompt of a conversation whose every text is drawn from text.
func controls(t *testing.T, tok *tokenizer.Tokenizer, template *chat.Template, text func() string) (ids []int32) {
	t.Helper()
	quoted := func() string {
		b, err := json.Marshal(text())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	inner := func() string { q := quoted(); return q[1 : len(q)-1] }
	parts := func() []chat.Part { return []chat.Part{{Type: "text", Text: text()}, {Type: "text", Text: text()}} }
	reasoning := text()
	messages := []chat.Message{
		{Role: "system", Parts: parts(), Name: text()}, {Role: "developer", Parts: parts()}, {Role: "user", Parts: parts(), Name: text()},
		{Role: "assistant", Parts: parts(), Reasoning: &reasoning, ToolCalls: []chat.ToolCall{
			{ID: "a", Name: text(), Arguments: `{"k` + inner() + `": ` + quoted() + `, "list": [` + quoted() + `, {` + quoted() + `: 1}]}`}}},
		{Role: "tool", Parts: parts(), ToolCallID: "a", Name: text()}, {Role: "system", Parts: parts()}, {Role: "user", Parts: parts()},
	}
	tools := []chat.Tool{{Name: "f", Raw: []byte(`{"type": "function", "t` + inner() + `": 1, "function": {"name": ` + quoted() + `, "type": ` + quoted() +
		`, "description": ` + quoted() + `, "parameters": {"properties": {` + quoted() + `: {"enum": [` + quoted() + `]}}}}}`)}}
	c, err := chat.Normalize(messages, tools, tok)
	if err != nil {
		t.Fatal(err)
	}
	vars, err := chat.Variables([]byte(`{"note": `+quoted()+`, "more": [`+quoted()+`, {`+quoted()+`: `+quoted()+`}]}`), tok)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := template.Render(chat.Input{Messages: c.Messages, Tools: c.Tools, AddGenerationPrompt: true, Kwargs: vars})
	if err != nil {
		t.Fatal(err)
	}
	const firstAdded = 4083
	for _, id := range tok.EncodeMarked(nil, prompt) {
		if id >= firstAdded {
			ids = append(ids, id)
		}
	}
	return ids
}
