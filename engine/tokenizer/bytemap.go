package tokenizer

// byteRunes is the GPT-2 byte alphabet: printable Latin-1 stands for itself, the other 68 bytes, ascending, for U+0100 on.
var byteRunes = func() (runes [256]rune) {
	next := rune(0x100)
	for b := range runes {
		if b >= 33 && b <= 126 || b >= 161 && b <= 172 || b >= 174 {
			runes[b] = rune(b)
		} else {
			runes[b] = next
			next++
		}
	}
	return runes
}()

// runeBytes inverts byteRunes; -1 marks a code point outside the alphabet.
var runeBytes = func() (bytes [0x144]int16) {
	for r := range bytes {
		bytes[r] = -1
	}
	for b, r := range byteRunes {
		bytes[r] = int16(b)
	}
	return bytes
}()

// appendMapped appends the bytes that key, a string over the byte alphabet, stands for. It reports false, with dst as it was,
// when key has a code point outside the alphabet.
func appendMapped(dst []byte, key string) ([]byte, bool) {
	n := len(dst)
	for _, r := range key {
		if int(r) >= len(runeBytes) || runeBytes[r] < 0 {
			return dst[:n], false
		}
		dst = append(dst, byte(runeBytes[r]))
	}
	return dst, true
}
