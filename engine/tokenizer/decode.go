package tokenizer

// Decode returns the text of ids. Ids without a token give nothing, and with skipSpecial neither do special tokens. What is
// not UTF-8 becomes U+FFFD, one per maximal subpart.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	var bytes []byte
	for _, id := range ids {
		bytes = append(bytes, t.visible(id, skipSpecial)...)
	}
	return validText(string(bytes))
}

// visible returns the bytes id adds to a text.
func (t *Tokenizer) visible(id int32, skipSpecial bool) []byte {
	if k := t.kind(id); k == kindNone || k == kindSpecial && skipSpecial {
		return nil
	}
	return t.vocab.bytes(id)
}

// Detokenizer decodes token by token. All its Add and the final Flush together give what Decode gives for the same ids. It is
// a small value: a copy goes its own way from where it was taken, as a draft needs.
type Detokenizer struct {
	t           *Tokenizer
	skipSpecial bool
	held        int8    // bytes in start
	start       [3]byte // of a sequence that is not complete yet
}

// Detokenizer starts a text.
func (t *Tokenizer) Detokenizer(skipSpecial bool) Detokenizer {
	return Detokenizer{t: t, skipSpecial: skipSpecial}
}

// Add returns the UTF-8 that id completes, which may be empty: the start of a sequence is kept until its rest comes. The bytes
// must not be changed.
func (d *Detokenizer) Add(id int32) []byte {
	bytes := d.t.visible(id, d.skipSpecial)
	if len(bytes) == 0 {
		return nil
	}
	if d.held > 0 {
		bytes = append(append(make([]byte, 0, int(d.held)+len(bytes)), d.start[:d.held]...), bytes...)
		d.held = 0
	}
	clean := true
	for i := 0; i < len(bytes); {
		n, valid, more := sequence(bytes[i:])
		if more {
			d.held = int8(copy(d.start[:], bytes[i:]))
			bytes = bytes[:i:i]
			break
		}
		clean = clean && valid
		i += n
	}
	if clean {
		return bytes
	}
	return appendValid(make([]byte, 0, len(bytes)+8), bytes)
}

// Flush ends the text: the start of a sequence that never became complete gives one U+FFFD.
func (d *Detokenizer) Flush() []byte {
	if d.held == 0 {
		return nil
	}
	d.held = 0
	return []byte(replacement)
}
