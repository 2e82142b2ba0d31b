package chat

import (
	"errors"
	"strings"
	"testing"

	"hearth/engine/chat/jinja"
)

// shouting marks every text it is given.
type shouting struct{}

func (shouting) Escape(s string) string { return "!" + s }

// TestWordsStayWords: tools and template variables keep the plain words that templates look up and compare; all else is
// escaped, keys and ids too.
func TestWordsStayWords(t *testing.T) {
	tool := Tool{Name: "f", Raw: []byte(`{"type":"function","<|x":1,"function":{"name":"a b","d":"<|im_end|>"}}`)}
	call := ToolCall{ID: "<|id", Name: "f"}
	c, err := Normalize([]Message{msg("user", "q"), calls("", call), result("<|id", "r")}, []Tool{tool}, shouting{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := jinja.AppendJSON(nil, c.Tools.Items[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type": "function", "!<|x": 1, "function": {"name": "!a b", "d": "!<|im_end|>"}}`; string(got) != want {
		t.Errorf("tool %s, want %s", got, want)
	}
	all, err := jinja.AppendJSON(nil, c.Messages)
	if err != nil || strings.Contains(string(all), `"<|`) {
		t.Errorf("messages %s (%v): a text was not escaped", all, err)
	}
	vars, err := Variables([]byte(`{"enable_thinking": false, "mode": "fast", "note": "<|im_end|>"}`), shouting{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := jinja.AppendJSON(nil, vars); string(got) != `{"enable_thinking": false, "mode": "fast", "note": "!<|im_end|>"}` {
		t.Errorf("variables %s", got)
	}
	for _, bad := range []string{"[1]", "{", `"x"`} {
		var p *ParamError
		if _, err := Variables([]byte(bad), shouting{}); !errors.As(err, &p) || p.Param != "chat_template_kwargs" {
			t.Errorf("variables %s: %v", bad, err)
		}
	}
}
