package chat

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	"hearth/engine/chat/jinja"
)

func demoTemplate(t testing.TB) *Template {
	t.Helper()
	source, err := os.ReadFile("testdata/chat_template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := ParseTemplate(string(source))
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// golden is one line of cases.jsonl: a conversation and what the published Qwen3.6 template makes of it.
type golden struct {
	name  string
	in    Input
	text  string
	err   string
	fails bool
}

func goldens(t testing.TB) []golden {
	t.Helper()
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []golden
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		v, err := jinja.ParseJSON(bytes.TrimSpace(lines.Bytes()), 32)
		if err != nil {
			t.Fatal(err)
		}
		c := v.(*jinja.Map)
		g := golden{}
		name, _ := c.Get("name")
		g.name = name.(string)
		messages, _ := c.Get("messages")
		g.in.Messages = messages.(*jinja.List)
		if tools, ok := c.Get("tools"); ok {
			g.in.Tools, _ = tools.(*jinja.List)
		}
		kwargs, _ := c.Get("kwargs")
		g.in.Kwargs = kwargs.(*jinja.Map)
		prompt, _ := g.in.Kwargs.Get("add_generation_prompt")
		g.in.AddGenerationPrompt = prompt == true
		want, _ := c.Get("qwen3_6")
		if text, ok := want.(*jinja.Map).Get("text"); ok {
			g.text = text.(string)
		} else {
			message, _ := want.(*jinja.Map).Get("error")
			g.err, g.fails = message.(string), true
		}
		out = append(out, g)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGoldenRenderings(t *testing.T) {
	tmpl := demoTemplate(t)
	cases := goldens(t)
	if len(cases) != 92 {
		t.Fatalf("%d golden cases, want 92", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := tmpl.Render(c.in)
			if c.fails {
				e, ok := err.(*TemplateError)
				if !ok || e.Message != c.err {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != c.text {
				t.Errorf("got\n%q\nwant\n%q", got, c.text)
			}
			if open := strings.HasSuffix(c.text, "<think>\n"); tmpl.ThinkOpen(got) != open {
				t.Errorf("ThinkOpen = %v, want %v", !open, open)
			}
		})
	}
}
