package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSpace is str.isspace of one code point: Unicode white space and the four separators U+001C to U+001F.
func isSpace(r rune) bool {
	return r >= 0x1c && r <= 0x1f || unicode.IsSpace(r)
}

// Strip is str.strip(): white space in Python's sense removed at both ends.
func Strip(s string) string {
	return strings.TrimRightFunc(strings.TrimLeftFunc(s, isSpace), isSpace)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// index is s[i] with i counted in code points, negative from the end.
func index(s string, i int64) (string, bool) {
	if i < 0 {
		for range -i - 1 {
			if s == "" {
				return "", false
			}
			_, n := utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-n]
		}
		_, n := utf8.DecodeLastRuneInString(s)
		return s[len(s)-n:], s != ""
	}
	for range i {
		if s == "" {
			return "", false
		}
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
	}
	_, n := utf8.DecodeRuneInString(s)
	return s[:n], s != ""
}

// bounds resolves a slice of a sequence of n as Python does. Absent bounds are nil.
func bounds(n int64, lo, hi *int64, step int64) (from, to int64) {
	first, last := int64(0), n // defaults of an ascending slice
	if step < 0 {
		first, last = n-1, -1
	}
	clamp := func(v int64) int64 {
		if v < 0 {
			v += n
		}
		if step < 0 {
			return min(max(v, -1), n-1)
		}
		return min(max(v, 0), n)
	}
	if lo != nil {
		first = clamp(*lo)
	}
	if hi != nil {
		last = clamp(*hi)
	}
	return first, last
}

// sliceText is s[lo:hi:step] in code points.
func sliceText(s string, lo, hi *int64, step int64) string {
	if isASCII(s) {
		from, to := bounds(int64(len(s)), lo, hi, step)
		if step == 1 {
			return s[from:max(from, to)]
		}
		var out []byte
		for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
			out = append(out, s[i])
		}
		return string(out)
	}
	runes := []rune(s)
	var out []rune
	from, to := bounds(int64(len(runes)), lo, hi, step)
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, runes[i])
	}
	return string(out)
}

// splitLines is str.splitlines(), which knows more line ends than \n.
func splitLines(s string) []string {
	var lines []string
	start := 0
	for i, r := range s {
		if i < start {
			continue // the \n of a \r\n
		}
		switch r {
		case '\n', '\v', '\f', '\r', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			lines = append(lines, s[start:i])
			start = i + utf8.RuneLen(r)
			if r == '\r' && strings.HasPrefix(s[start:], "\n") {
				start++
			}
		}
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

// title is str.title(): each run of letters starts with a capital.
func title(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		was := inside
		inside = unicode.IsLetter(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
}
