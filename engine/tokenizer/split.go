package tokenizer

import (
	"fmt"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// The split expressions that are scanned by hand. They differ in \p{M}: since Qwen3.5 combining marks belong to words.
const (
	qwen35Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	// gpt2Pattern is what a ByteLevel pre-tokenizer with use_regex stands for.
	gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// splitter cuts a segment into pieces.
type splitter struct {
	classes *classTable     // of a pattern scanned by hand, or
	foreign *regexp2.Regexp // of any other, or neither: a segment is one piece
}

// newSplitter picks the scanner for a pattern.
func newSplitter(pattern string) (sp splitter, err error) {
	switch pattern {
	case qwen35Pattern:
		return splitter{classes: wordMarks}, nil
	case qwen2Pattern:
		return splitter{classes: plainMarks}, nil
	}
	if len(pattern) > maxPatternBytes {
		return splitter{}, fmt.Errorf("the expression has %d bytes, above the limit of %d", len(pattern), maxPatternBytes)
	}
	defer func() {
		if r := recover(); r != nil { // a stranger's parser, fed by a stranger
			sp, err = splitter{}, fmt.Errorf("expression %q: %v", pattern, r)
		}
	}()
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return splitter{}, fmt.Errorf("expression %q: %w", pattern, err)
	}
	re.MatchTimeout = maxTimePerMatch
	return splitter{foreign: re}, nil
}

// next returns where the piece that starts at s[i] ends. The alternatives of the pattern are tried in order, so the first
// that matches wins; s is valid UTF-8 and i < len(s).
func (t *classTable) next(s string, i int) int {
	c, n := t.at(s, i)
	after := i + n
	switch c {
	case letter:
		return t.wordEnd(s, after)
	case number:
		return after
	case newline:
		return t.spaceEnd(s, i)
	}
	if s[i] == '\'' {
		if n := contraction(s[i+1:]); n > 0 {
			return after + n
		}
	}
	following := newline // of the next code point; at the end any class that starts nothing
	if after < len(s) {
		var size int
		following, size = t.at(s, after)
		if following == letter || following == mark {
			return t.wordEnd(s, after+size)
		}
	}
	switch {
	case c == mark:
		return after
	case c == other, s[i] == ' ' && following == other:
		return t.othersEnd(s, after)
	}
	return t.spaceEnd(s, i)
}

// contraction returns the length of what follows an apostrophe in (?i:'s|'t|'re|'ve|'m|'ll|'d), or 0.
func contraction(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] | 0x20 {
	case 's', 't', 'm', 'd':
		return 1
	case 'r', 'v':
		if len(s) > 1 && s[1]|0x20 == 'e' {
			return 2
		}
	case 'l':
		if len(s) > 1 && s[1]|0x20 == 'l' {
			return 2
		}
	}
	if len(s) > 1 && s[:2] == "ſ" { // folds to s
		return 2
	}
	return 0
}

// wordEnd skips [\p{L}\p{M}]*.
func (t *classTable) wordEnd(s string, i int) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf {
			if t.ascii[b] != letter {
				return i
			}
			i++
			continue
		}
		c, n := t.at(s, i)
		if c != letter && c != mark {
			return i
		}
		i += n
	}
	return i
}

// othersEnd skips [^\s\p{L}\p{M}\p{N}]*[\r\n]*.
func (t *classTable) othersEnd(s string, i int) int {
	for i < len(s) {
		c, n := t.at(s, i)
		if c != other {
			break
		}
		i += n
	}
	for i < len(s) && (s[i] == '\r' || s[i] == '\n') {
		i++
	}
	return i
}

// spaceEnd matches \s*[\r\n]+|\s+(?!\S)|\s+ at white space: up to the last line end of the run; without one all of the run
// but the last code point, which may lead a word; all of it at the end of the segment.
func (t *classTable) spaceEnd(s string, start int) int {
	lineEnd, last, i := -1, start, start
	for i < len(s) {
		c, n := t.at(s, i)
		if c == newline {
			lineEnd = i + 1
		} else if c != space {
			break
		}
		last = i
		i += n
	}
	switch {
	case lineEnd >= 0:
		return lineEnd
	case i == len(s) || last == start:
		return i
	}
	return last
}

// foreignPieces calls each with every piece of s: the matches and what lies between them. A match that takes longer than
// maxTimePerMatch ends the search, and the rest is one piece.
func foreignPieces(re *regexp2.Regexp, s string, each func(piece string)) {
	done, at, runes := 0, 0, 0 // bytes emitted; byte and rune position of the walk from rune to byte offsets
	seek := func(rune int) int {
		for ; runes < rune && at < len(s); runes++ {
			_, n := utf8.DecodeRuneInString(s[at:])
			at += n
		}
		return at
	}
	m, err := re.FindStringMatch(s)
	for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
		start := seek(m.Index)
		end := seek(m.Index + m.Length)
		if start > done {
			each(s[done:start])
		}
		if end > start {
			each(s[start:end])
		}
		done = end
	}
	if done < len(s) {
		each(s[done:])
	}
}
