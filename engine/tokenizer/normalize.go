package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// safeRun is a number of code points that can never hold the 31 combining marks in a row at which x/text inserts a joiner
// (the Stream-Safe Text Format, which no tokenizer applies): a code point decomposes to at most three marks.
const safeRun = 8

// nfc returns s in Normalization Form C.
func nfc(s string) string {
	for i := 0; ; i++ {
		if i == len(s) {
			return s // nothing from U+0300 on
		}
		if s[i] >= 0xCC {
			break
		}
	}
	if norm.NFC.IsNormalString(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+len(s)/8)
	short := 0 // s[short:start] are runs that x/text may have
	for start := 0; start < len(s); {
		end, runes := combiningRun(s[start:])
		end += start
		if runes > safeRun {
			dst = norm.NFC.AppendString(dst, s[short:start])
			dst = appendComposed(dst, s[start:end])
			short = end
		}
		start = end
	}
	return string(norm.NFC.AppendString(dst, s[short:]))
}

// combiningRun returns the length of s up to the next code point that nothing before it can combine with.
func combiningRun(s string) (size, runes int) {
	for size < len(s) {
		if runes > 0 {
			if s[size] < utf8.RuneSelf || norm.NFC.PropertiesString(s[size:]).BoundaryBefore() {
				break
			}
		}
		_, n := utf8.DecodeRuneInString(s[size:])
		size += n
		runes++
	}
	return size, runes
}

// appendComposed appends the composition of one run of any length: decompose, order, compose (Unicode 15, section 3.11), one
// code point and one pair at a time.
func appendComposed(dst []byte, run string) []byte {
	type point struct {
		r   rune
		ccc uint8 // canonical combining class
	}
	var points []point
	for _, r := range run {
		for _, d := range norm.NFD.String(string(r)) {
			points = append(points, point{d, norm.NFD.PropertiesString(string(d)).CCC()})
		}
	}
	for i := 0; i < len(points); i++ {
		j := i
		for j < len(points) && points[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(points[i:j], func(a, b point) int { return int(a.ccc) - int(b.ccc) })
		i = max(i, j)
	}
	starter, kept := -1, points[:0] // points that stay, a prefix of those looked at
	for _, p := range points {
		if starter >= 0 {
			last := kept[len(kept)-1]
			adjacent := starter == len(kept)-1
			if adjacent || last.ccc != 0 && last.ccc < p.ccc {
				if c, ok := composePair(kept[starter].r, p.r); ok {
					kept[starter].r = c
					continue
				}
			}
		}
		kept = append(kept, p)
		if p.ccc == 0 {
			starter = len(kept) - 1
		}
	}
	for _, p := range kept {
		dst = utf8.AppendRune(dst, p.r)
	}
	return dst
}

// composePair returns the primary composite of two code points.
func composePair(a, b rune) (rune, bool) {
	s := norm.NFC.String(string(a) + string(b))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s)
}
