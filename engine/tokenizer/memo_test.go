package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// conversation is a prompt that grows by turns of escaped text, long and short, some of them the same again.
func conversation(rng *rand.Rand, tok *Tokenizer, turns int) (prompts []string) {
	var prompt strings.Builder
	kept := []string{"short", strings.Repeat("a file that comes again <think> ", 20)}
	for range turns {
		text := kept[rng.IntN(len(kept))]
		if rng.IntN(2) == 0 {
			text = randomText(rng, controls, 400)
			kept = append(kept, text)
		}
		prompt.WriteString("<|im_start|>user\n" + tok.Escape(text) + "<|im_end|>\n")
		prompts = append(prompts, prompt.String()+"<|im_start|>assistant\n<think>\n")
	}
	return prompts
}

// TestMemoEqualsEncode: whatever was asked before and whatever the budget, the ids are those of EncodeMarked.
func TestMemoEqualsEncode(t *testing.T) {
	rng := seeded(t)
	toks := []*Tokenizer{demo(), tokenizerWith(t, "<|im_start|>", "ee<", "<|", "<|im_end|>\n<")}
	for _, budget := range []int{0, 1000, 20_000, 1 << 20} {
		m := NewMemo(budget)
		for range 5 {
			for n, prompt := range conversation(rng, toks[0], 20) {
				tok := toks[n%2]
				if got, want := m.Encode([]int32{5}, tok, prompt), tok.EncodeMarked([]int32{5}, prompt); !slices.Equal(got, want) {
					t.Fatalf("budget %d: %q: %v, want %v", budget, prompt, got, want)
				}
				if got, want := m.EncodeIn("other", nil, tok, prompt), tok.EncodeMarked(nil, prompt); !slices.Equal(got, want) {
					t.Fatalf("budget %d: %q: %v, want %v", budget, prompt, got, want)
				}
				checkMemo(t, m)
			}
		}
		switch s := m.Stats(); {
		case budget <= 1000 && s.Entries > budget/memoEntryBytes:
			t.Errorf("budget %d: %+v", budget, s)
		case budget >= 20_000 && (s.HitBytes == 0 || s.MissBytes == 0), budget == 20_000 && s.Evicted == 0:
			t.Errorf("budget %d: %+v", budget, s)
		}
	}
}

// checkMemo counts what is held.
func checkMemo(t *testing.T, m *Memo) {
	t.Helper()
	used := 0
	for e := m.recent.Front(); e != nil; e = e.Next() {
		used += e.Value.(*memoEntry).bytes()
	}
	if used != m.usedBytes || used > m.budgetBytes || m.recent.Len() != len(m.entries) {
		t.Fatalf("holds %d bytes in %d and %d entries, counts %d, may %d",
			used, m.recent.Len(), len(m.entries), m.usedBytes, m.budgetBytes)
	}
}

func TestMemoForgetsOldest(t *testing.T) {
	tok := demo()
	segment := func(n int) string { return strings.Repeat(string(rune('a'+n)), 1000) }
	m := NewMemo(3 * (1000 + 4000 + memoEntryBytes)) // a segment of one byte per token at most
	for n := range 3 {
		m.Encode(nil, tok, segment(n))
	}
	for n := 3; n < 20; n++ {
		m.Encode(nil, tok, segment(0)) // in use
		m.Encode(nil, tok, segment(n))
	}
	checkMemo(t, m)
	if _, ok := m.find(memoKey{tok, "", segment(0)}); !ok {
		t.Error("the segment in use is gone")
	}
	if _, ok := m.find(memoKey{tok, "", segment(3)}); ok {
		t.Error("the oldest segment is still there")
	}
	if _, ok := m.find(memoKey{tok, "other", segment(0)}); ok {
		t.Error("a namespace finds what another sent")
	}
}

// TestMemoSavesTime: the second time a prompt of agent size comes, it costs a fraction.
func TestMemoSavesTime(t *testing.T) {
	rng := seeded(t)
	tok, m := demo(), NewMemo(8<<20)
	var prompt strings.Builder
	for range 20 {
		prompt.WriteString("<|im_start|>user\n" + tok.Escape(randomText(rng, controls, 4000)) + "<|im_end|>\n")
	}
	text := prompt.String()
	elapsed := func(encode func()) time.Duration {
		best := time.Hour
		for range 5 {
			start := time.Now()
			encode()
			best = min(best, time.Since(start))
		}
		return best
	}
	var plain, memo []int32
	cold := elapsed(func() { plain = tok.EncodeMarked(plain[:0], text) })
	memo = m.Encode(memo, tok, text)
	warm := elapsed(func() { memo = m.Encode(memo[:0], tok, text) })
	t.Logf("%d bytes, %d tokens: %v cold, %v warm", len(text), len(plain), cold, warm)
	if !slices.Equal(plain, memo) || warm > cold/3 {
		t.Errorf("%v cold, %v warm", cold, warm)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	tok, m := tokenizerWith(t, "<|im_start|>", "<|im_end|>"), NewMemo(50_000)
	cases := readCases(t, "demo_cases.jsonl")
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for n := range cases {
				c := cases[(n+g*100)%len(cases)]
				want := tok.EncodePlain(nil, c.Text)
				if got := m.Encode(nil, tok, tok.Escape(c.Text)); !slices.Equal(got, want) {
					t.Errorf("%q: %v, want %v", c.Text, got, want)
				}
				if got := tok.Encode(nil, tok.Decode(want, false)); c.Group == "ascii" && !slices.Equal(got, want) {
					t.Errorf("%q: %v, want %v", c.Text, got, want)
				}
			}
		})
	}
	group.Wait()
}
