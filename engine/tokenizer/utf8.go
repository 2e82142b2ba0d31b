package tokenizer

import "unicode/utf8"

const replacement = "\uFFFD"

// sequence looks at the start of b, which is not empty. It returns the length of a valid UTF-8 sequence (valid true), or of
// the maximal subpart of an ill-formed one: the longest start of some valid sequence, at least one byte (Unicode 15, section
// 3.9, table 3-7). more says that b ends before the subpart could be completed or refuted.
func sequence(b []byte) (n int, valid, more bool) {
	lead := b[0]
	if lead < utf8.RuneSelf {
		return 1, true, false
	}
	low, high, size := byte(0x80), byte(0xBF), 0
	switch {
	case lead >= 0xC2 && lead <= 0xDF:
		size = 2
	case lead >= 0xE0 && lead <= 0xEF:
		size = 3
		if lead == 0xE0 {
			low = 0xA0 // overlong below
		} else if lead == 0xED {
			high = 0x9F // surrogates above
		}
	case lead >= 0xF0 && lead <= 0xF4:
		size = 4
		if lead == 0xF0 {
			low = 0x90
		} else if lead == 0xF4 {
			high = 0x8F
		}
	default:
		return 1, false, false
	}
	for n = 1; n < size; n++ {
		if n == len(b) {
			return n, false, true
		}
		if b[n] < low || b[n] > high {
			return n, false, false
		}
		low, high = 0x80, 0xBF
	}
	return size, true, false
}

// appendValid appends b to dst with U+FFFD for every maximal subpart that is not UTF-8.
func appendValid(dst, b []byte) []byte {
	for len(b) > 0 {
		n, valid, _ := sequence(b)
		if valid {
			dst = append(dst, b[:n]...)
		} else {
			dst = append(dst, replacement...)
		}
		b = b[n:]
	}
	return dst
}

// validText returns s, or s with U+FFFD for every maximal subpart that is not UTF-8.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string(appendValid(make([]byte, 0, len(s)+16), []byte(s)))
}
