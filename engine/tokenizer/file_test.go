package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// demoWith is the demo's file with one top-level value replaced.
func demoWith(t testing.TB, key, value string) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/demo-tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var f map[string]json.RawMessage
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	f[key] = json.RawMessage(value)
	if file, err = json.Marshal(f); err != nil {
		t.Fatal(err)
	}
	return file
}

// small is a tokenizer.json of the 256 bytes and a few merges, value by value.
func small() map[string]string {
	var vocab []string
	for b, r := range byteRunes {
		quoted, _ := json.Marshal(string(r))
		vocab = append(vocab, fmt.Sprintf("%s: %d", quoted, b))
	}
	vocab = append(vocab, `"ab": 256, "abc": 257, "bc": 258, "Ġa": 259`)
	return map[string]string{
		"type": `"BPE"`, "dropout": "null", "continuing_subword_prefix": `""`, "end_of_word_suffix": "null", "byte_fallback": "false",
		"ignore_merges": "false", "vocab": "{" + strings.Join(vocab, ",") + "}", "merges": `["a b", "ab c", ["Ġ", "a"]]`,
		"added_tokens": `[{"id": 260, "content": "<x>", "special": true}]`, "normalizer": "null", "post_processor": "null",
		"pre_tokenizer": `{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}`, "decoder": `{"type": "ByteLevel"}`,
	}
}

func assemble(parts map[string]string) []byte {
	var model, top []string
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		pair := fmt.Sprintf("%q: %s", key, parts[key])
		switch key {
		case "added_tokens", "normalizer", "post_processor", "pre_tokenizer", "decoder":
			top = append(top, pair)
		default:
			model = append(model, pair)
		}
	}
	return []byte(`{"model": {` + strings.Join(model, ",") + `},` + strings.Join(top, ",") + `}`)
}

func TestParseSmall(t *testing.T) {
	for _, c := range []struct {
		key, value string
		text       string
		want       []int32
	}{
		{"dropout", "0.0", "abc bc a<x>", []int32{257, 32, 98, 99, 259, 260}}, // bc has no merge
		{"ignore_merges", "true", "bc", []int32{258}},                         // one piece, and a token
		{"merges", `["b c", ["a", "b"]]`, "abc", []int32{97, 258}},
		{"merges", `[]`, "abc", []int32{97, 98, 99}},
		{"normalizer", `{"type": "NFC"}`, "e\u0301", []int32{0xC3, 0xA9}},
		{"normalizer", "null", "e\u0301", []int32{'e', 0xCC, 0x81}},
		{"added_tokens", "[]", "<x>", []int32{'<', 'x', '>'}},
		{"added_tokens", `[{"id": 257, "content": "abc"}]`, "xabc", []int32{'x', 257}}, // of the vocabulary, and added
		{"added_tokens", `[{"id": 300, "content": "a"}]`, "", nil},
		{"pre_tokenizer", `{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}`, "ab ac", []int32{256, 259, 99}},
		{"pre_tokenizer", `{"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Isolated"},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]}`, "abc", []int32{97, 98, 99}},
	} {
		parts := small()
		parts[c.key] = c.value
		tok, err := Parse(assemble(parts))
		if c.want == nil {
			if err == nil {
				t.Errorf("%s %s is accepted", c.key, c.value)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.key, c.value, err)
			continue
		}
		if got := tok.Encode(nil, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: Encode(%q) = %v, want %v", c.key, c.value, c.text, got, c.want)
		}
	}
}

// TestRawVocabulary: an entry outside the byte alphabet stands for itself when decoded, and no text becomes it.
func TestRawVocabulary(t *testing.T) {
	parts := small()
	parts["vocab"] = strings.TrimSuffix(parts["vocab"], "}") + `, "中 a": 270}`
	tok, err := Parse(assemble(parts))
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Decode([]int32{270}, false); got != "中 a" || tok.IsAdded(270) {
		t.Errorf("decodes to %q", got)
	}
	if got := tok.Encode(nil, "中 a"); !slices.Equal(got, []int32{0xE4, 0xB8, 0xAD, 259}) {
		t.Errorf("ids %v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	sequence := func(stages string) string { return `{"type": "Sequence", "pretokenizers": [` + stages + `]}` }
	bytes := `{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}`
	split := `{"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Isolated", "invert": false}`
	vocab := func(entries string) string { return strings.TrimSuffix(small()["vocab"], "}") + "," + entries + "}" }
	added := func(fields string) string { return `[{"id": 260, "content": "<x>"` + fields + `}]` }
	for _, c := range []struct{ key, value, want string }{
		{"type", `"WordPiece"`, `model.type "WordPiece"`},
		{"type", `"Unigram"`, `model.type "Unigram"`},
		{"dropout", `0.1`, "model.dropout 0.1"},
		{"continuing_subword_prefix", `"##"`, `model.continuing_subword_prefix "##"`},
		{"end_of_word_suffix", `"</w>"`, "model.end_of_word_suffix"},
		{"byte_fallback", `true`, "model.byte_fallback"},
		{"normalizer", `{"type": "NFKC"}`, `normalizer: type "NFKC"`},
		{"normalizer", `{"type": "Sequence", "normalizers": []}`, `normalizer: type "Sequence"`},
		{"normalizer", `[]`, "normalizer"},
		{"post_processor", `{"type": "TemplateProcessing"}`, `post_processor: type "TemplateProcessing"`},
		{"decoder", `{"type": "WordPiece"}`, `decoder: type "WordPiece"`},
		{"decoder", `null`, "decoder: is missing"},
		{"pre_tokenizer", `null`, "pre_tokenizer: is missing"},
		{"pre_tokenizer", `{"type": "Metaspace"}`, `"Metaspace"`},
		{"pre_tokenizer", `{"type": "ByteLevel", "use_regex": false}`, "add_prefix_space"},
		{"pre_tokenizer", split, "no ByteLevel"},
		{"pre_tokenizer", sequence(""), "no ByteLevel"},
		{"pre_tokenizer", sequence(bytes + "," + split), "stage 1"},
		{"pre_tokenizer", sequence(split + "," + split + "," + bytes), "second split"},
		{"pre_tokenizer", sequence(strings.Repeat(split+",", 40) + bytes), "more than 16 stages"},
		{"pre_tokenizer", sequence(strings.Replace(split, "Regex", "String", 1) + "," + bytes), "kind Regex"},
		{"pre_tokenizer", sequence(strings.Replace(split, "Isolated", "Removed", 1) + "," + bytes), `behavior "Removed"`},
		{"pre_tokenizer", sequence(strings.Replace(split, "false", "true", 1) + "," + bytes), "invert"},
		{"pre_tokenizer", sequence(strings.Replace(split, `"a"`, `"(a"`, 1) + "," + bytes), `"(a"`},
		{"vocab", `{}`, "is not in the vocabulary"},
		{"vocab", `null`, "want an object"},
		{"vocab", `[1]`, "want an object"},
		{"vocab", vocab(`"zz": -1`), "id -1"},
		{"vocab", vocab(`"zz": 1048576`), "id 1048576"},
		{"vocab", vocab(`"zz": 99999999999999999999`), "want an integer"},
		{"vocab", vocab(`"zz": 1.5`), "want an integer"},
		{"vocab", vocab(`"zz": 1e2`), "want an integer"},
		{"vocab", vocab(`"zz": "1"`), "want an integer"},
		{"vocab", vocab(`"zz": null`), "want an integer"},
		{"vocab", vocab(`"zz": 97`), `id 97 is given to "a" and "zz"`},
		{"vocab", vocab(`"zz": 300, "zz": 301`), `"zz" has two ids, 300 and 301`},
		{"vocab", vocab(`"z z": 300, "z z": 301`), `"z z" appears twice`},
		{"vocab", vocab(`"": 300`), "0 bytes"},
		{"vocab", vocab(`"` + strings.Repeat("z", 5000) + `": 300`), "5000 bytes"},
		{"vocab", strings.Replace(small()["vocab"], `"q":`, `"qq":`, 1), `lacks byte 0x71 ('q')`},
		{"merges", `{}`, "want an array"},
		{"merges", `["a b c"]`, "merge 0"},
		{"merges", `["ab"]`, "merge 0"},
		{"merges", `[["a", "b"], ["a"]]`, "merge 1: has 1 parts"},
		{"merges", `[["a", "b", "c"]]`, "merge 0: has 3 parts"},
		{"merges", `[["a", 1]]`, "want a string"},
		{"merges", `[7]`, "want a string"},
		{"merges", `["a b", "a b"]`, "merge 1"},
		{"merges", `["a q"]`, `"aq" is not in the vocabulary`},
		{"merges", `["a 中"]`, `"中" is not in the vocabulary`},
		{"added_tokens", `{}`, "want an array"},
		{"added_tokens", `[1]`, "added_tokens"},
		{"added_tokens", `[{"content": "<y>"}]`, "no id"},
		{"added_tokens", `[{"id": -1, "content": "<y>"}]`, "id -1"},
		{"added_tokens", `[{"id": 4294967296, "content": "<y>"}]`, "id 4294967296"},
		{"added_tokens", `[{"id": 300, "content": ""}]`, "0 bytes"},
		{"added_tokens", `[{"id": 97, "content": "<y>"}]`, `id 97 is given to "a" and "<y>"`},
		{"added_tokens", `[{"id": 300, "content": "ab"}]`, `"ab" has id 300 here and 256`},
		{"added_tokens", `[{"id": 300, "content": "<y>"}, {"id": 301, "content": "<y>"}]`, `"<y>" appears twice`},
		{"added_tokens", `[{"id": 300, "content": "<y>"}, {"id": 300, "content": "<z>"}]`, "id 300 is given"},
		{"added_tokens", `[{"id": 300, "content": " y"}]`, "white space"},
		{"added_tokens", `[{"id": 300, "content": "y\u001c"}]`, "white space"},
		{"added_tokens", `[{"id": 300, "content": "😀"}]`, "U+1F600"},
		{"added_tokens", `[{"id": 300, "content": "` + strings.Repeat("y", 600) + `"}]`, "600 bytes"},
		{"added_tokens", added(`, "single_word": true`), "single_word"},
		{"added_tokens", added(`, "lstrip": true`), "lstrip"},
		{"added_tokens", added(`, "rstrip": true`), "rstrip"},
		{"added_tokens", added(`, "normalized": true`), "normalized"},
		{"added_tokens", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "depth"},
	} {
		parts := small()
		parts[c.key] = c.value
		tok, err := Parse(assemble(parts))
		if err == nil || tok != nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400 {
			t.Errorf("%s %.80s: error %v, want %q in it", c.key, c.value, err, c.want)
		}
	}
	for _, file := range []string{"", "null", "{}", "[]", "7", `{"model": {}}`, `{"model": []}`, string(assemble(small()))[:2000]} {
		if tok, err := Parse([]byte(file)); err == nil || tok != nil {
			t.Errorf("%.40q is accepted", file)
		}
	}
	if _, err := Parse(make([]byte, maxFileBytes+1)); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a huge file: %v", err)
	}
}

// TestParseMany counts limits out.
func TestParseMany(t *testing.T) {
	var list []string
	for n := range maxAddedTokens + 1 {
		list = append(list, fmt.Sprintf(`{"id": %d, "content": "<%d>"}`, 300+n, n))
	}
	parts := small()
	parts["added_tokens"] = "[" + strings.Join(list[1:], ",") + "]"
	if _, err := Parse(assemble(parts)); err != nil {
		t.Error(err)
	}
	parts["added_tokens"] = "[" + strings.Join(list, ",") + "]"
	if _, err := Parse(assemble(parts)); err == nil || !strings.Contains(err.Error(), "more than 8192 tokens") {
		t.Errorf("too many added tokens: %v", err)
	}
	list = list[:0]
	for n := range 600 {
		list = append(list, fmt.Sprintf(`{"id": %d, "content": "<%0500d>"}`, 300+n, n))
	}
	parts["added_tokens"] = "[" + strings.Join(list, ",") + "]"
	if _, err := Parse(assemble(parts)); err == nil || !strings.Contains(err.Error(), "bytes of text") {
		t.Errorf("too long added tokens: %v", err)
	}
}

// TestParseMemory: a small file with the largest id may cost what an empty table of that size costs, no more.
func TestParseMemory(t *testing.T) {
	parts := small()
	parts["added_tokens"] = fmt.Sprintf(`[{"id": %d, "content": "<x>"}]`, maxTokens-1)
	file := assemble(parts)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tok, err := Parse(file)
	runtime.ReadMemStats(&after)
	if err != nil || tok.Size() != maxTokens {
		t.Fatalf("size %d, %v", tok.Size(), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d bytes allocated for a file of %d", used, len(file))
	}
	if _, ok := tok.Token(maxTokens - 2); ok {
		t.Error("an id between has a token")
	}
}

func TestParseWithConfig(t *testing.T) {
	file := assemble(small())
	config := func(body string) []byte { return []byte(`{"added_tokens_decoder": {` + body + `}, "other": 1}`) }
	tok, err := ParseWithConfig(file, config(`"260": {"content": "<x>", "special": true}, "270": {"content": "<y>", "special": false}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode(nil, "<y><x>"); !slices.Equal(got, []int32{270, 260}) || tok.IsSpecial(270) || !tok.IsAdded(270) {
		t.Errorf("ids %v", got)
	}
	for body, want := range map[string]string{
		`"261": {"content": "<x>"}`:                 `"<x>" has id 261 here and 260`,
		`"260": {"content": "<y>"}`:                 "id 260 is given",
		`"x": {"content": "<y>"}`:                   "want an integer",
		`"270": {"content": "<y>", "lstrip": true}`: "lstrip",
		`"270": 7`: "added_tokens_decoder",
	} {
		if _, err := ParseWithConfig(file, config(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", body, err, want)
		}
	}
	for _, body := range []string{"{}", `{"added_tokens_decoder": null}`} {
		if _, err := ParseWithConfig(file, []byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := ParseWithConfig(file, []byte("{")); err == nil {
		t.Error("a broken file is accepted")
	}
}
