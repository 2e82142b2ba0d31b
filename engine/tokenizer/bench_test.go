package tokenizer

import (
	"go/build"
	"os"
	"path/filepath"

	"strings"
	"testing"
)

// benchTexts are a megabyte of Go source, of English and of a mixture of scripts, or what there is of them here.
func benchTexts(b *testing.B) map[string]string {
	b.Helper()
	join := func(glob string) string {
		var s strings.Builder
		names, _ := filepath.Glob(glob)
		for _, name := range names {
			file, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			if s.Len()+len(file) < 1<<20 {
				s.Write(file)
			}
		}
		return s.String()
	}
	var mixed strings.Builder
	for mixed.Len() < 1<<18 {
		for _, c := range readCases(b, "demo_cases.jsonl") {
			if c.Group == "scripts" || c.Group == "code" || c.Group == "long" {
				mixed.WriteString(c.Text)
			}
		}
	}
	texts := map[string]string{"mixed": mixed.String()}
	for name, glob := range map[string]string{"go": "/src/net/http/*.go", "english": "/doc/*.html", "spec": "/doc/*.md"} {
		if s := join(build.Default.GOROOT + glob); s != "" {
			texts[name] = s
		}
	}
	if texts["go"] == "" {
		texts["go"] = join("*.go")
	}
	return texts
}

func benchTokenizers(b *testing.B) map[string]*Tokenizer {
	toks := map[string]*Tokenizer{"demo": demo()}
	if file := qwen(); file != nil {
		tok, err := Parse(file)
		if err != nil {
			b.Fatal(err)
		}
		toks["qwen"] = tok
	}
	return toks
}

func BenchmarkEncode(b *testing.B) {
	texts := benchTexts(b)
	for vocabulary, tok := range benchTokenizers(b) {
		for name, text := range texts {
			b.Run(vocabulary+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				var ids []int32
				for b.Loop() {
					ids = tok.EncodeMarked(ids[:0], text)
				}
				b.ReportMetric(float64(len(text))/float64(len(ids)), "bytes/token")
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for vocabulary, tok := range benchTokenizers(b) {
		text := benchTexts(b)["go"]
		ids := tok.Encode(nil, text)
		b.Run(vocabulary, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Decode(ids, false)
			}
		})
	}
}

func BenchmarkEscape(b *testing.B) {
	text := benchTexts(b)["go"]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		demo().Escape(text)
	}
}

func BenchmarkParse(b *testing.B) {
	file := qwen()
	if file == nil {
		file = demoWith(b, "version", `"1.0"`)
	}
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := Parse(file); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemo encodes a prompt of agent size whose last segment is new.
func BenchmarkMemo(b *testing.B) {
	text := benchTexts(b)["go"]
	for vocabulary, tok := range benchTokenizers(b) {
		b.Run(vocabulary, func(b *testing.B) {
			var prompt strings.Builder
			for n := range 20 {
				prompt.WriteString("<|im_start|>user\n" + tok.Escape(text[5000*n:5000*(n+1)]) + "<|im_end|>\n")
			}
			m := NewMemo(16 << 20)
			b.SetBytes(int64(prompt.Len()))
			var ids []int32
			for n := 0; b.Loop(); n++ {
				ids = m.Encode(ids[:0], tok, prompt.String()+text[n%1000:n%1000+500])
			}
		})
	}
}
