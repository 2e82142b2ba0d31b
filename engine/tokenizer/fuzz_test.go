package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// FuzzParse: whatever the file, an error or a tokenizer that works.
func FuzzParse(f *testing.F) {
	parts := small()
	f.Add(assemble(parts))
	for key, value := range map[string]string{
		"merges": `[["b", "c"]]`, "added_tokens": `[{"id": 257, "content": "abc"}, {"id": 300, "content": "ab"}]`,
		"pre_tokenizer": `{"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "a|b+"}, "behavior": "Isolated"},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]}`,
		"normalizer": `{"type": "NFC"}`,
	} {
		changed := small()
		changed[key] = value
		f.Add(assemble(changed))
	}
	f.Add([]byte(`{"model": {"vocab": {"a": 0, "\ud800": 1}, "merges": ["a b"]}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		tok, err := Parse(file)
		if err != nil {
			if tok != nil || len(err.Error()) > 4096 {
				t.Fatalf("%v and %v", tok, err)
			}
			return
		}
		const text = "abc <x> é ab\n1"
		ids := tok.Encode(nil, text)
		if got := tok.Decode(ids, false); got != text {
			t.Fatalf("%q comes back as %q", text, got)
		}
		if got := tok.EncodeMarked(nil, tok.Escape(text)); !slices.Equal(got, tok.EncodePlain(nil, text)) {
			t.Fatalf("escaped %q: %v", text, got)
		}
	})
}

// FuzzEncode: ids decode to the NFC of the segments, and equal those of pieces split and merged the slow way.
func FuzzEncode(f *testing.F) {
	for _, c := range readCases(f, "demo_cases.jsonl") {
		if len(c.Text) < 200 {
			f.Add(c.Text)
		}
	}
	tok := demo()
	f.Fuzz(func(t *testing.T, text string) {
		var want []int32
		var decoded strings.Builder
		rest := validText(text)
		for rest != "" {
			id, start, end, found := tok.added.next(rest, 0, nil)
			segment := nfc(rest[:start])
			decoded.WriteString(segment + rest[start:end])
			for segment != "" {
				n := wordMarks.next(segment, 0)
				want = append(want, naive(tok.merges, segment[:n])...)
				segment = segment[n:]
			}
			if found {
				want = append(want, id)
			}
			rest = rest[end:]
		}
		got := tok.Encode(nil, text)
		if !slices.Equal(got, want) {
			t.Fatalf("Encode(%q) = %v, want %v", text, got, want)
		}
		if back := tok.Decode(got, false); back != decoded.String() {
			t.Fatalf("%q comes back as %q, want %q", text, back, decoded.String())
		}
		checkDetokenizer(t, tok, got, true)
	})
}

// FuzzEscape: a text from outside, between two of a template's, stays text.
func FuzzEscape(f *testing.F) {
	f.Add("<|im_start|>user\n", "<|im_end|>", "<|im_end|>\n")
	f.Add("<parameter=", "</think", ">\n")
	f.Add("", " \U0010003C|im_end|>", "\U0010FFFD")
	f.Add("<", "|im_", "end|>")
	tok, memo := demo(), NewMemo(1<<16)
	f.Fuzz(func(t *testing.T, before, text, after string) {
		escaped := tok.Escape(text)
		plain := tok.EncodePlain(nil, text)
		if got := tok.EncodeMarked(nil, escaped); !slices.Equal(got, plain) {
			t.Fatalf("%q escaped %q: %v, want %v", text, escaped, got, plain)
		}
		if strings.IndexByte(before+after, planeByte) >= 0 {
			return // no template
		}
		rendered := validText(before) + escaped + validText(after)
		clean, marks := unescape(rendered)
		if want := validText(before) + validText(text) + validText(after); clean != want {
			t.Fatalf("%q reads back to %q, want %q", rendered, clean, want)
		}
		first := len(validText(before)) + len(validText(text)) - len(strings.TrimLeftFunc(validText(text), isStripped))
		last := len(validText(before)) + len(strings.TrimRightFunc(validText(text), isStripped))
		for at := 0; ; {
			_, start, end, found := tok.added.next(clean, at, marks)
			if !found {
				break
			}
			if start < last && end > first {
				t.Fatalf("%q + text %q + %q: token %q", before, text, after, clean[start:end])
			}
			at = end
		}
		want := tok.EncodeMarked(nil, rendered)
		for range 2 {
			if got := memo.Encode(nil, tok, rendered); !slices.Equal(got, want) {
				t.Fatalf("remembered %q: %v, want %v", rendered, got, want)
			}
		}
	})
}

// FuzzDetokenizer: token by token gives what all at once gives.
func FuzzDetokenizer(f *testing.F) {
	f.Add([]byte{0, 1, 2, 255}, false)
	f.Add([]byte("\xf0\x9f\x98\x80\xff\xc3"), true)
	tok := demo()
	f.Fuzz(func(t *testing.T, picks []byte, skipSpecial bool) {
		if len(picks) > 64 {
			picks = picks[:64]
		}
		var ids []int32
		for n, b := range picks {
			if n%5 == 4 {
				ids = append(ids, int32(tok.Size())-int32(b%32)+4)
			} else {
				ids = append(ids, tok.merges.byteID[b])
			}
		}
		checkDetokenizer(t, tok, ids, skipSpecial)
	})
}
