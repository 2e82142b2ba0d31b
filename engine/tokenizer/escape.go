package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// The swap. A code point c that must not start (or continue) an added token is written as U+100000+c, in the private use
// area of plane 16. Code points of plane 16 that were in the text already are preceded by quote. So every escaped text reads
// back to the text it was, whatever it holds, and so does any concatenation of escaped and other texts, as long as the others
// (templates) have nothing of plane 16 in them.
const (
	swapBase   = 0x100000
	quote      = 0x10FFFD // the last private code point
	maxSwapped = quote - swapBase - 1
	planeByte  = 0xF4 // UTF-8 of plane 16 starts with it, and of nothing else
)

func swapped(r rune) rune { return swapBase + r }

// Escape marks what in s could be read as an added token once s stands in a rendered template. EncodeMarked undoes the marks
// and keeps what they mark text. The first code point of every occurrence of an added token is swapped, and, because
// templates put other text right beside s (perhaps after trimming it), so is the start of one at the end of s, and the first
// code point of s where it could complete one. White space is never swapped, so trimming an escaped text and escaping a
// trimmed one differ at most in such marks, never in what they read back to. Bytes that are no UTF-8 become U+FFFD.
//
// What a template compares or looks up (roles, keys that it reads by name) must not be escaped: "name" could stand inside
// <|repo_name|>, so it is marked.
func (t *Tokenizer) Escape(s string) string {
	s = validText(s)
	marks := t.added.risks(s)
	if len(marks) == 0 && strings.IndexByte(s, planeByte) < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 4*len(marks) + 16)
	for i := 0; i < len(s); {
		next := len(s)
		if len(marks) > 0 {
			next = marks[0]
		}
		if i == next {
			r, n := utf8.DecodeRuneInString(s[i:])
			out.WriteRune(swapped(r))
			marks = marks[1:]
			i += n
			continue
		}
		if n := strings.IndexByte(s[i:next], planeByte); n >= 0 {
			next = i + n + utf8.UTFMax
			out.WriteString(s[i : i+n])
			out.WriteRune(quote)
			out.WriteString(s[i+n : next])
		} else {
			out.WriteString(s[i:next])
		}
		i = next
	}
	return out.String()
}

// risks returns the positions in s to swap, ascending.
func (a *added) risks(s string) (marks []int) {
	left := len(s) - len(strings.TrimLeftFunc(s, isStripped))
	right := len(strings.TrimRightFunc(s, isStripped))
	if left >= right {
		return nil // nothing but white space
	}
	if a.completes(s[left:right]) {
		marks = append(marks, left)
	}
	for i := a.candidate(s, left); i >= 0 && i < right; i = a.candidate(s, i+1) {
		if i == left && len(marks) > 0 {
			continue
		}
		if a.startsAt(s[:right], i) {
			marks = append(marks, i)
		}
	}
	return marks
}

// startsAt reports whether s[i:] starts with a token, or is the start of one.
func (a *added) startsAt(s string, i int) bool {
	node := a.first[s[i]]
	for i++; node != 0; i++ {
		if a.nodes[node].id >= 0 || i == len(s) {
			return true
		}
		node = a.step(node, s[i])
	}
	return false
}

// completes reports whether text before s, which is trimmed, could make a token with its start: s starts with the tail of a
// token, or is within one.
func (a *added) completes(s string) bool {
	for _, tail := range a.tails[s[0]] {
		if strings.HasPrefix(s, tail) || strings.HasPrefix(tail, s) {
			return true
		}
	}
	return false
}

// unescape reads an escaped text, or several put together with others. marks are the positions, ascending, of what was
// swapped or quoted.
func unescape(s string) (clean string, marks []int) {
	at := strings.IndexByte(s, planeByte)
	if at < 0 {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	for ; at >= 0; at = strings.IndexByte(s, planeByte) {
		out = append(out, s[:at]...)
		s = s[at:]
		r, n := utf8.DecodeRuneInString(s)
		if r == quote && len(s) > n && s[n] == planeByte {
			s = s[n:]
			r, n = utf8.DecodeRuneInString(s)
			marks = append(marks, len(out))
		} else if c := r - swapBase; c <= maxSwapped && utf8.ValidRune(c) {
			marks = append(marks, len(out))
			r = c
		}
		out = utf8.AppendRune(out, r)
		s = s[n:]
	}
	return string(append(out, s...)), marks
}
