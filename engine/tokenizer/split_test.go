package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
)

// alphabet has what the alternatives of the split expressions tell apart.
var alphabet = append(strings.Split(`a b s S t T r R e E v V m M l L d D ſ é ß 中 あ ा ́ ̂ ⃝ ֿ ' ' ’ " . , - _ ( < | > 1 2 9 ٣ Ⅷ ½ 😀 € ﬆ K`, " "),
	" ", " ", "  ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u3000", "\u0085", "\u2028", "\v", "\x1c", "\x00", "\u200d", "'s", "'ll", "'RE", "'ſ")

func randomText(rng *rand.Rand, words []string, n int) string {
	var s strings.Builder
	for range rng.IntN(n + 1) {
		s.WriteString(words[rng.IntN(len(words))])
	}
	return s.String()
}

func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// TestScanEqualsExpression compares the scan by hand with a backtracking engine that runs the expression. This engine does
// not know that ſ is a small s, which the reference engine does: the expression is told so.
func TestScanEqualsExpression(t *testing.T) {
	rng := seeded(t)
	for pattern, classes := range map[string]*classTable{qwen35Pattern: wordMarks, qwen2Pattern: plainMarks} {
		re := regexp2.MustCompile(strings.Replace(pattern, "'s|", "'[sſ]|", 1), regexp2.None)
		pieces := 0
		for range 15000 {
			s := randomText(rng, alphabet, 14)
			var want, got []string
			foreignPieces(re, s, func(piece string) { want = append(want, piece) })
			for i := 0; i < len(s); {
				end := classes.next(s, i)
				got = append(got, s[i:end])
				i = end
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q splits into %q, want %q", s, got, want)
			}
			pieces += len(got)
		}
		if pieces < 15000 {
			t.Errorf("only %d pieces compared", pieces)
		}
	}
}

func TestForeignPieces(t *testing.T) {
	sp, err := newSplitter(`\p{L}+`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	foreignPieces(sp.foreign, "é中 12ab!", func(piece string) { got = append(got, piece) })
	if want := []string{"é中", " 12", "ab", "!"}; !slices.Equal(got, want) {
		t.Errorf("pieces %q, want %q", got, want)
	}
	for _, bad := range []string{"(", "[z-a]", `(?<n`, strings.Repeat("a", maxPatternBytes+1)} {
		if _, err := newSplitter(bad); err == nil {
			t.Errorf("expression %.20q is accepted", bad)
		}
	}
}

// TestForeignTimeout: an expression that backtracks without end stops splitting, and loses no text.
func TestForeignTimeout(t *testing.T) {
	sp, err := newSplitter(`x|(a+)+b`)
	if err != nil || sp.foreign.MatchTimeout != maxTimePerMatch {
		t.Fatalf("%v, timeout %v", err, sp.foreign.MatchTimeout)
	}
	sp.foreign.MatchTimeout = 50 * time.Millisecond
	rest := strings.Repeat("a", 60) + "c"
	var got []string
	foreignPieces(sp.foreign, "xx"+rest, func(piece string) { got = append(got, piece) })
	if want := []string{"x", "x", rest}; !slices.Equal(got, want) {
		t.Errorf("pieces %q, want %q", got, want)
	}
}

// TestClassTables compares every code point with what regexp2 says.
func TestClassTables(t *testing.T) {
	for _, k := range []struct {
		class   class
		pattern string
	}{{letter, `\p{L}`}, {mark, `\p{M}`}, {number, `\p{N}`}, {space, `[^\S\r\n]`}, {newline, `[\r\n]`}} {
		re := regexp2.MustCompile("^"+k.pattern+"$", regexp2.None)
		for r := rune(0); r < 0x30000; r++ {
			if r >= 0xD800 && r <= 0xDFFF {
				continue
			}
			s := string(r)
			c, _ := wordMarks.at(s, 0)
			if plain, _ := plainMarks.at(s, 0); plain != c && (c != mark || plain != other) {
				t.Fatalf("%U has class %d without marks, %d with", r, plain, c)
			}
			if r > 0x3000 && r%7 != 0 {
				continue // enough of the large blocks
			}
			if is, _ := re.MatchString(s); is != (c == k.class) {
				t.Fatalf("%U has class %d, but %s matches: %v", r, c, k.pattern, is)
			}
		}
	}
}

func ExampleTokenizer_Encode() {
	t := demo()
	ids := t.Encode(nil, "<|im_start|>user\nIt's 42.")
	for _, id := range ids {
		bytes, _ := t.Token(id)
		fmt.Printf("%q ", bytes)
	}
	// Output: "<|im_start|>" "user" "\n" "It" "'s" " " "4" "2" "."
}
