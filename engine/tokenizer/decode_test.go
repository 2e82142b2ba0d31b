package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// randomIDs favours single bytes from 0x80 on and added tokens, and has ids without a token.
func randomIDs(rng *rand.Rand, tok *Tokenizer, n int) []int32 {
	ids := make([]int32, rng.IntN(n+1))
	for k := range ids {
		switch rng.IntN(4) {
		case 0:
			ids[k] = tok.merges.byteID[0x80+rng.IntN(0x80)]
		case 1:
			ids[k] = tok.merges.byteID[[]int{0xE4, 0xB8, 0xAD, 0xF0, 0x9F, 0x98, 0x80, 0xC3, 0xA9}[rng.IntN(9)]]
		case 2:
			ids[k] = int32(tok.Size()) - 16 + rng.Int32N(20)
		default:
			ids[k] = rng.Int32N(int32(tok.Size()))
		}
	}
	return ids
}

// checkDetokenizer compares token by token with all at once.
func checkDetokenizer(t testing.TB, tok *Tokenizer, ids []int32, skipSpecial bool) {
	t.Helper()
	want := tok.Decode(ids, skipSpecial)
	d := tok.Detokenizer(skipSpecial)
	var got []byte
	for n, id := range ids {
		draft := d // goes elsewhere, and must leave no trace
		draft.Add(id)
		draft.Add(tok.merges.byteID[0x80])
		draft.Flush()
		part := d.Add(id)
		if !utf8.Valid(part) {
			t.Fatalf("ids %v: Add number %d gives %q", ids, n, part)
		}
		got = append(got, part...)
		if again := d; string(got)+string(again.Flush()) != tok.Decode(ids[:n+1], skipSpecial) {
			t.Fatalf("ids %v: after %d: %q", ids, n, got)
		}
	}
	got = append(got, d.Flush()...)
	if string(got) != want || d.Flush() != nil {
		t.Fatalf("ids %v: %q, want %q", ids, got, want)
	}
}

func TestDetokenizer(t *testing.T) {
	rng := seeded(t)
	tok := demo()
	for n := range 20000 {
		checkDetokenizer(t, tok, randomIDs(rng, tok, 12), n%2 == 0)
	}
	for _, c := range readCases(t, "demo_cases.jsonl") {
		if len(c.IDs) < 200 {
			checkDetokenizer(t, tok, c.IDs, false)
			checkDetokenizer(t, tok, c.IDs, true)
		}
	}
}

// TestDetokenizerHolds spells out when bytes come.
func TestDetokenizerHolds(t *testing.T) {
	tok := demo()
	d := tok.Detokenizer(true)
	for n, step := range []struct {
		byte int
		want string
	}{
		{0xF0, ""}, {0x9F, ""}, {0x98, ""}, {0x80, "😀"}, // four bytes
		{0xE2, ""}, {0x82, ""}, {'x', "\uFFFDx"}, // one subpart
		{0xED, ""}, {0xA0, "\uFFFD\uFFFD"}, // no surrogates: both are refuted at once
		{0xC0, "\uFFFD"}, {0xC3, ""}, {0xC3, "\uFFFD"}, {0xA9, "é"},
	} {
		if got := string(d.Add(tok.merges.byteID[step.byte])); got != step.want {
			t.Errorf("step %d: byte 0x%x gives %q, want %q", n, step.byte, got, step.want)
		}
	}
	d.Add(tok.merges.byteID[0xE4])
	special, _ := tok.ID("<|im_end|>")
	if got := string(d.Add(special)) + string(d.Add(tok.merges.byteID[0xB8])) + string(d.Add(tok.merges.byteID[0xAD])); got != "中" {
		t.Errorf("over a hidden token: %q", got)
	}
	token, _ := tok.Token(special)
	if string(token) != "<|im_end|>" || cap(token) != len(token) {
		t.Errorf("Token gives %q with capacity %d", token, cap(token))
	}
}

func TestMaximalSubparts(t *testing.T) {
	for in, want := range map[string]string{
		"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41":         "��\uFFFD\uFFFDA", // Unicode 15, table 3-11
		"\xf0\x80\x80\x41":                             "\uFFFD\uFFFD\uFFFDA",
		"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41":         strings.Repeat("\uFFFD", 8) + "A",              // table 3-9
		"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42":         strings.Repeat("\uFFFD", 5) + "A\uFFFD\uFFFDB", // table 3-10
		"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41":         strings.Repeat("\uFFFD", 8) + "A",              // table 3-8
		"\xf4\x8f\xbf\xbf\xe0\xa0\x80\xed\x9f\xbf\xc2": "\U0010ffff\u0800\ud7ff\uFFFD",
	} {
		if got := validText(in); got != want {
			t.Errorf("%x reads %q, want %q", in, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	tok := demo()
	if tok.Size() != 4096 {
		t.Errorf("size %d, want 4096", tok.Size())
	}
	for id := range int32(tok.Size()) {
		bytes, ok := tok.Token(id)
		if back, found := tok.ID(string(bytes)); !ok || !found || back != id {
			t.Errorf("id %d is %q, which is %d", id, bytes, back)
		}
		if got, want := [2]bool{tok.IsAdded(id), tok.IsSpecial(id)}, [2]bool{id >= 4083, id >= 4083 && id <= 4089}; got != want {
			t.Errorf("id %d added, special: %v, want %v", id, got, want)
		}
	}
	for _, id := range []int32{-1, -1 << 31, 4096, 1<<31 - 1} {
		if _, ok := tok.Token(id); ok || tok.IsAdded(id) || tok.IsSpecial(id) || tok.Decode([]int32{id}, false) != "" {
			t.Errorf("id %d is a token", id)
		}
	}
	if id, ok := tok.ID("no such token"); ok {
		t.Errorf("found %d", id)
	}
	if got := tok.Encode([]int32{7}, "a"); !slices.Equal(got, []int32{7, 64}) {
		t.Errorf("Encode does not append: %v", got)
	}
}
