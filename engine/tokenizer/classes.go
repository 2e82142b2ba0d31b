package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// class of a code point, as the split expression tells them apart.
type class uint8

const (
	other   class = iota // none of the below
	letter               // \p{L}
	mark                 // \p{M}
	number               // \p{N}
	space                // \s but for CR and LF
	newline              // CR, LF
)

const classPage = 128

// classTable gives the class of every code point, in pages; equal pages are kept once.
type classTable struct {
	ascii [256]class // bytes from 0x80 on are no code points: the callers decode those
	page  [(unicode.MaxRune + 1) / classPage]uint16
	pages [][classPage]class
}

// wordMarks has \p{M} as a class of its own, for expressions that count marks as parts of words (Qwen3.5); plainMarks has
// them among the others (Qwen2, Qwen3).
var wordMarks, plainMarks = newClassTable(mark), newClassTable(other)

func newClassTable(marks class) *classTable {
	flat := make([]class, unicode.MaxRune+1)
	fill := func(c class, ranges *unicode.RangeTable) {
		for _, r := range ranges.R16 {
			for p := rune(r.Lo); p <= rune(r.Hi); p += rune(r.Stride) {
				flat[p] = c
			}
		}
		for _, r := range ranges.R32 {
			for p := rune(r.Lo); p <= rune(r.Hi); p += rune(r.Stride) {
				flat[p] = c
			}
		}
	}
	fill(letter, unicode.L)
	fill(marks, unicode.M)
	fill(number, unicode.N)
	fill(space, unicode.White_Space)
	flat['\r'], flat['\n'] = newline, newline

	t := &classTable{}
	copy(t.ascii[:utf8.RuneSelf], flat)
	seen := map[[classPage]class]uint16{}
	for n := range t.page {
		page := [classPage]class(flat[n*classPage:])
		at, ok := seen[page]
		if !ok {
			at = uint16(len(t.pages))
			t.pages = append(t.pages, page)
			seen[page] = at
		}
		t.page[n] = at
	}
	return t
}

// at returns the class and the size of the code point at s[i], which must exist.
func (t *classTable) at(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return t.ascii[b], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return t.pages[t.page[r/classPage]][r%classPage], n
}
