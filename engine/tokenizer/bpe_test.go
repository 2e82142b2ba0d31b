package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// naive merges as the definition reads: find the lowest rank, leftmost, join, again.
func naive(m *merges, piece string) (ids []int32) {
	for i := range len(piece) {
		ids = append(ids, m.byteID[piece[i]])
	}
	for {
		low, at := noRank, 0
		for k := range len(ids) - 1 {
			if r := m.rank(ids[k], ids[k+1]); r < low {
				low, at = r, k
			}
		}
		if low == noRank {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, m.joined[low])
	}
}

func TestMerging(t *testing.T) {
	rng := seeded(t)
	tok := demo()
	words := []string{"a", "e", "i", "t", "n", "s", "er", "the", " ", "  ", "tion", "é", "中", "\n", "=", "-", "--", "import", "\xff"}
	for n := range 3000 {
		s := randomText(rng, words, 1+n/20)
		if s == "" {
			continue
		}
		want := naive(tok.merges, s)
		if len(s) <= shortPieceBytes {
			if got := tok.merges.encodeShort(nil, s); !slices.Equal(got, want) {
				t.Fatalf("short %q: %v, want %v", s, got, want)
			}
		}
		if got := tok.merges.encodeLong(nil, s); !slices.Equal(got, want) {
			t.Fatalf("long %q: %v, want %v", s, got, want)
		}
	}
}

// TestWholeTokens checks that a piece found in the vocabulary is what merging would have given.
func TestWholeTokens(t *testing.T) {
	tok, whole := demo(), 0
	for id := range int32(tok.Size()) {
		if tok.IsAdded(id) {
			continue
		}
		piece := string(tok.vocab.bytes(id))
		if got, want := tok.appendPiece(nil, piece), naive(tok.merges, piece); !slices.Equal(got, want) {
			t.Errorf("piece %q: %v, want %v", piece, got, want)
		} else if len(want) == 1 {
			whole++
		}
	}
	if whole < 4000 {
		t.Errorf("only %d of %d tokens merge to themselves", whole, tok.Size())
	}
}

// TestLongPieces compares the time per byte of a piece of a million bytes with that of one a hundred times shorter.
func TestLongPieces(t *testing.T) {
	tok := demo()
	for name, unit := range map[string]string{"letter": "a", "space": " ", "words": "internationalization", "CJK": "中文"} {
		perByte := func(n, rounds int) time.Duration {
			s := strings.Repeat(unit, n/len(unit))
			best := time.Hour
			for range rounds {
				start := time.Now()
				ids := tok.Encode(nil, s)
				best = min(best, time.Since(start))
				if got := tok.Decode(ids, false); got != s {
					t.Fatalf("%s: %d bytes do not come back", name, len(s))
				}
			}
			return best * 1000 / time.Duration(len(s)) // per thousand bytes
		}
		short, long := perByte(10_000, 10), perByte(1_000_000, 1)
		t.Logf("%s: %v per kB at 10 kB, %v at 1 MB", name, short, long)
		if long > 25*short+20*time.Microsecond { // quadratic would be a factor of 100
			t.Errorf("%s: %v per kB at 10 kB, but %v at 1 MB", name, short, long)
		}
	}
}
