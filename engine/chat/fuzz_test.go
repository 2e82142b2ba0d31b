package chat

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// textOnly is what of an output without calls must come out: all of it but white space and the tags of thinking.
func textOnly(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c < 0x80 && isASCIISpace(byte(c)) }), "")
	return strings.NewReplacer(tagThink, "", tagThinkEnd, "").Replace(s)
}

// FuzzScanner checks that events do not depend on the cutting, that completed arguments are JSON and equal to what was
// streamed, that a text without calls loses nothing but white space and tags of thinking, and that raw text is a part of
// the input.
func FuzzScanner(f *testing.F) {
	for _, c := range scanCases() {
		f.Add(c.in, uint16(len(c.in)/2), uint16(len(c.in)/3), c.opts.ThinkOpen)
	}
	f.Fuzz(func(t *testing.T, in string, a, b uint16, think bool) {
		opts := ScannerOptions{Tools: scanTools, ThinkOpen: think}
		want, s := scan(t, opts, in)
		checkCalls(t, s)
		i := int(a) % (len(in) + 1)
		j := i + int(b)%(len(in)-i+1)
		if got, _ := scan(t, opts, in[:i], in[i:j], in[j:]); got != want {
			t.Fatalf("cut at %d and %d: got %q\nwant %q", i, j, got, want)
		}
		if got, _ := scan(t, opts, strings.Split(in, "")...); utf8.ValidString(in) && got != want {
			t.Fatalf("by characters: got %q\nwant %q", got, want)
		}
		var text strings.Builder
		var args []string
		s = NewScanner(opts)
		each := func(e Event) {
			switch e.Kind {
			case Reasoning, Content:
				text.WriteString(e.Text)
			case CallStart:
				args = append(args, "")
			case CallArgs:
				args[e.Index] += e.Text
			}
		}
		s.Feed([]byte(in), each)
		s.Finish(each)
		for k, c := range s.Calls() {
			if c.Arguments != args[k] {
				t.Errorf("streamed %q, not streamed %q", args[k], c.Arguments)
			}
		}
		valid := strings.ToValidUTF8(in, "\ufffd")
		if raw, ok := s.Incomplete(); ok && !strings.HasSuffix(valid, raw) {
			t.Errorf("raw text %q is not the end of the input", raw)
		}
		if len(args) == 0 && textOnly(text.String()) != textOnly(valid) {
			t.Errorf("text %q\ninput %q", text.String(), valid)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	f.Add("<think>a</think>b", `{"a":[1,{"b":"<|im_end|>"}]}`, "system")
	f.Add("<tool_response>x</tool_response>", `{"a":"cut`, "assistant")
	tmpl := demoTemplate(f)
	f.Fuzz(func(t *testing.T, text, arguments, role string) {
		text, arguments = strings.ToValidUTF8(text, ""), strings.ToValidUTF8(arguments, "")
		messages := []Message{msg("user", "q"), msg(role, text), calls(text, ToolCall{"1", "f", arguments}), result("1", text), msg("user", text), msg(role, text)}
		conv, err := Normalize(messages, nil, newFakeEscaper())
		if err != nil {
			return
		}
		if _, err := tmpl.Render(Input{Messages: conv.Messages, Continue: conv.Continue, AddGenerationPrompt: true}); err != nil {
			t.Errorf("normalised conversation refused: %v", err)
		}
	})
}

// A megabyte that keeps the scanner in doubt costs time in proportion to its length, in one piece and byte by byte: a
// quadratic scanner would take minutes for this.
func TestScannerIsLinear(t *testing.T) {
	const size = 1 << 20
	fill := func(head, unit string) string { return head + strings.Repeat(unit, (size-len(head))/len(unit)) }
	opened := "<tool_call><function=bash><parameter=command>"
	for name, in := range map[string]string{
		"less-than signs":        fill("", "<"),
		"tag and white space":    fill("<tool_call>", "\n"),
		"text and white space":   fill("a", "\n"),
		"tags of calls":          fill("", "<tool_call>"),
		"half openings":          fill("", "<tool_call>\n<function=bash> "),
		"names without end":      fill("", "<tool_call><function=a"),
		"value of tags":          fill(opened, "</parameter>"),
		"value of tags and keys": fill(opened, "</parameter> <parameter="),
		"value of line ends":     fill(opened, "\n"),
		"end and white space":    fill(opened+"</parameter>", " "),
		"key without end":        fill("<tool_call><function=bash><parameter=", "k"),
		"typed value":            fill("<tool_call><function=edit><parameter=list>", "["),
		"many keys":              fill("<tool_call><function=bash>", "<parameter=k></parameter>"),
		"many calls":             fill("", "<tool_call><function=noargs></function></tool_call>"),
		"invalid bytes":          fill("", "\xe2\x82"),
	} {
		for _, think := range []bool{false, true} {
			start := time.Now()
			s := NewScanner(ScannerOptions{Tools: scanTools, ThinkOpen: think, Stop: []string{strings.Repeat("<", 50) + "!"}})
			s.Feed([]byte(in[:size/2]), func(Event) {})
			for i := size / 2; i < len(in); i++ {
				s.Feed([]byte(in[i:i+1]), func(Event) {})
			}
			s.Finish(func(Event) {})
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s, thinking %v: %v", name, think, took)
			} else {
				t.Logf("%s, thinking %v: %v", name, think, took)
			}
		}
	}
}
