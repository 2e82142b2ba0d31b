// Package tokenizer turns text into token ids and back, from the bytes of a Hugging Face tokenizer.json: byte-level BPE with
// NFC, a split expression and added tokens, which is what Qwen ships.
//
// The steps, in order: added tokens are cut out of the raw text (leftmost, longest), what lies between them ("a segment") is
// brought to NFC, split into pieces by the expression in the file, and each piece is merged by rank. A piece never crosses an
// added token, so a segment's ids depend on the segment alone; Memo lives on that.
//
// Text from outside may contain the strings of added tokens. Escape marks them before a template sees them, EncodeMarked keeps
// marked ones text. Encode trusts its input and recognises all of them, EncodePlain none.
//
// A Tokenizer is immutable once parsed (but for a cache of its own) and safe for concurrent use. Reading files is left to the
// caller.
package tokenizer
