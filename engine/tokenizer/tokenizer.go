package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

// Tokenizer encodes and decodes. It is made by Parse, and safe for concurrent use.
type Tokenizer struct {
	vocab  *vocab
	merges *merges
	added  *added
	split  splitter
	nfc    bool // normalise segments

	// cache remembers pieces that are no token of their own; a slot is overwritten by the next piece that falls on it.
	cache [pieceCacheSlots]atomic.Pointer[cachedPiece]
}

type cachedPiece struct {
	piece string
	ids   []int32
}

// Size returns one more than the highest token id; ids below it may still be unused.
func (t *Tokenizer) Size() int { return len(t.vocab.entries) }

// Token returns the bytes id stands for (an added token's own text), which must not be changed. ok is false for an id
// without a token.
func (t *Tokenizer) Token(id int32) (bytes []byte, ok bool) {
	if t.kind(id) == kindNone {
		return nil, false
	}
	return t.vocab.bytes(id), true
}

func (t *Tokenizer) kind(id int32) kind {
	if id < 0 || int(id) >= len(t.vocab.entries) {
		return kindNone
	}
	return t.vocab.entries[id].kind
}

// IsSpecial reports whether id is an added token that decoding may skip.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.kind(id) == kindSpecial }

// IsAdded reports whether id is an added token, special or not.
func (t *Tokenizer) IsAdded(id int32) bool { return t.kind(id) >= kindAdded }

// ID returns the token with exactly this text: an added one first, else one of the vocabulary, by the bytes it stands for.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.added.ids[token]; ok {
		return id, true
	}
	id := t.vocab.id(token)
	return id, id >= 0
}

// Encode appends the ids of text to dst; the texts of added tokens become those tokens. Bytes that are no UTF-8 count as
// U+FFFD, one per maximal subpart. text must be shorter than 2 GiB.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 {
	return t.encode(dst, validText(text), nil, t.appendSegment)
}

// EncodePlain is Encode without added tokens: their texts are text.
func (t *Tokenizer) EncodePlain(dst []int32, text string) []int32 {
	return t.appendSegment(slices.Grow(dst, len(text)/4), validText(text))
}

// EncodeMarked is Encode for a text with parts that went through Escape: those count as what they were, and added tokens
// that touch a marked place are text.
func (t *Tokenizer) EncodeMarked(dst []int32, text string) []int32 {
	clean, marks := unescape(validText(text))
	return t.encode(dst, clean, marks, t.appendSegment)
}

// encode cuts text at added tokens; segment appends the ids of what lies between.
func (t *Tokenizer) encode(dst []int32, text string, marks []int, segment func([]int32, string) []int32) []int32 {
	dst = slices.Grow(dst, len(text)/4)
	for at := 0; at < len(text); {
		id, start, end, found := t.added.next(text, at, marks)
		if start > at {
			dst = segment(dst, text[at:start])
		}
		if found {
			dst = append(dst, id)
		}
		at = end
	}
	return dst
}

// appendSegment appends the ids of a text without added tokens.
func (t *Tokenizer) appendSegment(dst []int32, s string) []int32 {
	if t.nfc {
		s = nfc(s)
	}
	switch {
	case s == "":
	case t.split.classes != nil:
		for i := 0; i < len(s); {
			end := t.split.classes.next(s, i)
			dst = t.appendPiece(dst, s[i:end])
			i = end
		}
	case t.split.foreign != nil:
		foreignPieces(t.split.foreign, s, func(piece string) { dst = t.appendPiece(dst, piece) })
	default:
		dst = t.appendPiece(dst, s)
	}
	return dst
}

// appendPiece appends the ids of one piece, which is not empty. Most are a token known to be what merging gives.
func (t *Tokenizer) appendPiece(dst []int32, piece string) []int32 {
	if len(piece) == 1 {
		return append(dst, t.merges.byteID[piece[0]])
	}
	h := maphash.String(t.vocab.seed, piece)
	if slot, _ := t.vocab.find(piece, h); slot&slotWhole != 0 {
		return append(dst, slotID(slot))
	}
	if len(piece) > cachedPieceBytes {
		return t.merges.encode(dst, piece)
	}
	slot := &t.cache[(h>>32)%pieceCacheSlots]
	if c := slot.Load(); c != nil && c.piece == piece {
		return append(dst, c.ids...)
	}
	before := len(dst)
	dst = t.merges.encode(dst, piece)
	slot.Store(&cachedPiece{piece: strings.Clone(piece), ids: slices.Clone(dst[before:])})
	return dst
}
