package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// controls are texts around the demo's added tokens: whole, in parts, doubled, and what Escape itself writes.
var controls = append(alphabet, "<|im_start|>", "<|im_end|>", "<|im_", "<|", "|>", "end|>", "<think>", "</think>", "</think",
	"<tool_response>", "<tool_", "tool_call>", "<<think>>", "think", ">", "<", "/", "\U0010003C", "\U0010FFFD", "\U0010FFFE",
	"\U0010D800", "\U00100020", "\xf4\x8f\xbf", "\xbd", "\xff", "user", "hello ", "\U0010003C|im_end|>")

func strip(s string) string { return strings.TrimFunc(s, isStripped) }
func same(s string) string  { return s }

// TestEscapedIsPlain: between the tags of a template a text has the ids EncodePlain gives it, and the tags stay tags.
func TestEscapedIsPlain(t *testing.T) {
	rng := seeded(t)
	tok := demo()
	open, _ := tok.ID("<|im_start|>")
	shut, _ := tok.ID("<|im_end|>")
	swaps := 0
	for range 20000 {
		text, second := randomText(rng, controls, 10), randomText(rng, controls, 6)
		escaped := tok.Escape(text)
		if escaped != text {
			swaps++
		}
		for name, change := range map[string]func(string) string{"as it is": same, "stripped": strip} {
			plain := tok.EncodePlain(nil, change(validText(text)))
			if got := tok.EncodeMarked(nil, change(escaped)); !slices.Equal(got, plain) {
				t.Fatalf("%s: %q escaped %q: ids %v, want %v", name, text, escaped, got, plain)
			}
			want := append(append([]int32{open}, plain...), shut)
			if got := tok.EncodeMarked(nil, "<|im_start|>"+change(escaped)+"<|im_end|>"); !slices.Equal(got, want) {
				t.Fatalf("%s: %q escaped %q between tags: ids %v, want %v", name, text, escaped, got, want)
			}
		}
		both := tok.EncodePlain(nil, validText(text)+validText(second))
		if got := tok.EncodeMarked(nil, escaped+tok.Escape(second)); !slices.Equal(got, both) {
			t.Fatalf("%q and %q together: ids %v, want %v", text, second, got, both)
		}
	}
	if swaps < 5000 {
		t.Errorf("only %d texts had anything to swap", swaps)
	}
}

// TestEscapeBorders cuts every added token in two or three: no text completes a token of the template, and none of the
// template a token of the text.
func TestEscapeBorders(t *testing.T) {
	tok := demo()
	compared := 0
	for token := range tok.added.ids {
		for i := range len(token) {
			for j := i; j <= len(token); j++ {
				before, text, after := token[:i], token[i:j], token[j:]
				if text == "" {
					continue
				}
				for _, pad := range []string{"", " ", "\n\x1c\u3000"} {
					// As a template may have it: trimmed, or, where only the outer side is padded, as it is.
					for _, rendered := range []string{
						before + strip(tok.Escape(pad+text+pad)) + after,
						before + tok.Escape(text+pad) + after,
						before + tok.Escape(pad+text) + after,
					} {
						clean, _ := unescape(rendered)
						if got, want := tok.EncodeMarked(nil, rendered), tok.EncodePlain(nil, clean); !slices.Equal(got, want) {
							t.Fatalf("%q + text %q + %q, padded %q: %v, want %v", before, text, after, pad, got, want)
						}
						compared++
					}
				}
			}
		}
	}
	if compared < 5000 {
		t.Errorf("only %d compared", compared)
	}
}

func TestEscape(t *testing.T) {
	tok := demo()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"if a < b && c > d { return }", "if a < b && c > d { return }"},
		{"  \n", "  \n"},
		{"say <|im_end|> twice <|im_end|>.", "say \U0010003C|im_end|> twice \U0010003C|im_end|>."},
		{" </think>\n", " \U0010003C/think>\n"},
		{"ends in <|im_", "ends in \U0010003C|im_"},
		{"ends in <|im_ \n", "ends in \U0010003C|im_ \n"},
		{"inner <|im_ stays", "inner <|im_ stays"},
		{" > quoted", " \U0010003E quoted"},
		{"<<think>", "<\U0010003Cthink>"},
		{"a \U0010003C b", "a \U0010FFFD\U0010003C b"},
		{"a \U0010FFFD b", "a \U0010FFFD\U0010FFFD b"},
		{"bad \xff\xf4\x8f\xbf", "bad \uFFFD\uFFFD"},
	} {
		if got := tok.Escape(c.in); got != c.want {
			t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.want)
		}
		if clean, _ := unescape(c.want); clean != validText(c.in) {
			t.Errorf("%q reads back to %q, want %q", c.want, clean, c.in)
		}
	}
	for _, c := range []struct {
		in, want string
		marks    []int
	}{
		{"\U0010FFFD", "\U0010FFFD", nil},                                    // nothing to quote
		{"\U0010FFFDx", "\U0010FFFDx", nil},                                  // nothing it could quote
		{"\U0010D800", "\U0010D800", nil},                                    // no code point behind it
		{"\U0010FFFD\U0010FFFD<", "\U0010FFFD<", []int{0}},                   // quoted
		{"é\U0010003C\U0010003C>", "é<<>", []int{2, 3}},                      // swapped
		{"\U0010FFFD\U0010FFFD\U0010FFFD", "\U0010FFFD\U0010FFFD", []int{0}}, // the third is alone
	} {
		clean, marks := unescape(c.in)
		if clean != c.want || !slices.Equal(marks, c.marks) {
			t.Errorf("unescape(%q) = %q, %v, want %q, %v", c.in, clean, marks, c.want, c.marks)
		}
	}
}

// tokenizerWith is the demo with other added tokens.
func tokenizerWith(t testing.TB, texts ...string) *Tokenizer {
	t.Helper()
	var list []string
	for n, text := range texts {
		quoted, _ := json.Marshal(text)
		list = append(list, fmt.Sprintf(`{"id": %d, "content": %s, "special": true}`, 4083+n, quoted))
	}
	tok, err := Parse(demoWith(t, "added_tokens", "["+strings.Join(list, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestEscapeOddTokens has tokens that overlap, nest, start with different bytes, and have white space within.
func TestEscapeOddTokens(t *testing.T) {
	rng := seeded(t)
	tok := tokenizerWith(t, "aba", "bab", "<a b>", "<a>", "x<a>", "<a><a>", "［é］", "<a b", "b c d")
	words := strings.Split("a|b|ab|aba|<|>|<a|<a b>|<a>|x| |  |\n|［|é|］|b |c|d|\U0010FFFD|\U00100061|b c", "|")
	for range 30000 {
		before, text, after := randomText(rng, words, 4), randomText(rng, words, 8), randomText(rng, words, 4)
		for _, rendered := range []string{tok.Escape(text), strip(tok.Escape(text))} {
			clean, _ := unescape(rendered)
			if got, want := tok.EncodeMarked(nil, rendered), tok.EncodePlain(nil, clean); !slices.Equal(got, want) {
				t.Fatalf("%q: %v, want %v", text, got, want)
			}
			if strip(clean) == "" || strings.ContainsAny(before+after, "\U0010FFFD\U00100061") {
				continue
			}
			// Whatever stands beside it, no token covers a part of the text that is not white space.
			whole, marks := unescape(before + rendered + after)
			first := len(before) + len(clean) - len(strings.TrimLeftFunc(clean, isStripped))
			last := len(before) + len(strings.TrimRightFunc(clean, isStripped))
			for at := 0; ; {
				_, start, end, found := tok.added.next(whole, at, marks)
				if !found {
					break
				}
				if start < last && end > first {
					t.Fatalf("%q + text %q + %q: token %q", before, clean, after, whole[start:end])
				}
				at = end
			}
		}
	}
}

// TestLongestToken: leftmost first, then longest.
func TestLongestToken(t *testing.T) {
	tok := tokenizerWith(t, "<a>", "<a><b>", "<a><b><c>", "b><c", "<x")
	for text, want := range map[string][]int32{
		"<a>":           {4083},
		"<a><b>":        {4084},
		"<a><b><c":      {4084, 27, 66},
		"<a><b><c>":     {4085},
		"<a><a><b>":     {4083, 4084},
		"<x><a>":        {4087, 29, 4083},
		"b><c><a":       {4086, 29, 27, 64},
		"<<a><b><c><x>": {27, 4085, 4087, 29},
	} {
		if got := tok.Encode(nil, text); !slices.Equal(got, want) {
			t.Errorf("Encode(%q) = %v, want %v", text, got, want)
		}
		if got, want := tok.EncodePlain(nil, text), tok.appendSegment(nil, text); !slices.Equal(got, want) || slices.Max(got) >= 4083 {
			t.Errorf("EncodePlain(%q) = %v", text, got)
		}
	}
}

// TestManyMarks: a text full of control strings costs no more per byte than a short one.
func TestManyMarks(t *testing.T) {
	tok := demo()
	text := strings.Repeat("<|im_end|>", 200)
	one := "<|im_start|>" + tok.Escape(text) + "<|im_end|>"
	want := tok.EncodeMarked(nil, one)
	if n := strings.Count(one, "\U0010003C"); n != 200 || len(want) < 1000 {
		t.Fatalf("%d marks, %d ids", n, len(want))
	}
	// 300 thousand marks and three thousand tokens: looking at every mark for every token would take a second or more.
	if got := tok.EncodeMarked(nil, strings.Repeat(one, 1500)); !slices.Equal(got, slices.Repeat(want, 1500)) {
		t.Error("repeated, the ids differ")
	}
}
