package chat

import "unicode/utf8"

// runeFilter turns bytes that arrive in any pieces into valid UTF-8. A sequence cut by a piece's end waits for its rest.
// A run of bytes that never become valid is replaced by one U+FFFD when it ends.
type runeFilter struct {
	cut     []byte // the beginning of a sequence
	invalid bool   // inside a run of invalid bytes
}

// append appends what has become certain to out.
func (f *runeFilter) append(out, text []byte) []byte {
	if len(f.cut) > 0 {
		text = append(f.cut, text...)
		f.cut = nil
	}
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] < utf8.RuneSelf {
			n++
		}
		if n == 0 {
			if !utf8.FullRune(text) {
				f.cut = append([]byte(nil), text...)
				return out
			}
			r, size := utf8.DecodeRune(text)
			if r == utf8.RuneError && size == 1 {
				f.invalid = true
				text = text[1:]
				continue
			}
			n = size
		}
		out = append(f.endRun(out), text[:n]...)
		text = text[n:]
	}
	return out
}

func (f *runeFilter) endRun(out []byte) []byte {
	if f.invalid {
		f.invalid = false
		return utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}

// finish appends what is left when no more bytes will come.
func (f *runeFilter) finish(out []byte) []byte {
	f.invalid = f.invalid || len(f.cut) > 0
	f.cut = nil
	return f.endRun(out)
}
