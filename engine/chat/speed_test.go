package chat

import (
	"fmt"
	"strings"
	"testing"

	"hearth/engine/chat/jinja"
)

// agentConversation is a system prompt, tools, and rounds of assistant calls and tool results, textBytes each.
func agentConversation(messages, textBytes int) Input {
	obj := func(pairs ...any) *jinja.Map {
		m := jinja.NewMap(len(pairs) / 2)
		for i := 0; i < len(pairs); i += 2 {
			m.Set(pairs[i].(string), pairs[i+1])
		}
		return m
	}
	text := strings.Repeat("if x < 3 && ok { return \"ä\" }\n", textBytes/31+1)[:textBytes]
	list := jinja.NewList(
		obj("role", "system", "content", "You are a coding agent.\n"+text),
		obj("role", "user", "content", "Fix the bug."))
	for i := 0; len(list.Items) < messages; i++ {
		call := obj("type", "function", "function", obj("name", "bash", "arguments", obj("command", fmt.Sprintf("sed -n %dp file.go", i))))
		list.Items = append(list.Items,
			obj("role", "assistant", "content", "", "reasoning_content", "Look at it.", "tool_calls", jinja.NewList(call)),
			obj("role", "tool", "content", text))
	}
	schema, _ := jinja.ParseJSON([]byte(`{"type":"function","function":{"name":"bash","description":"Run a command","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}`), 16)
	return Input{Messages: list, Tools: jinja.NewList(schema), AddGenerationPrompt: true}
}

func BenchmarkRender(b *testing.B) {
	tmpl := demoTemplate(b)
	for _, messages := range []int{58, 200} {
		in := agentConversation(messages, 2*100_000/messages)
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				text, err := tmpl.Render(in)
				if err != nil {
					b.Fatal(err)
				}
				n = len(text)
			}
			b.SetBytes(int64(n))
		})
	}
}
