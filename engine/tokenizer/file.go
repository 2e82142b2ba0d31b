package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// tokenizerFile is a tokenizer.json, big and polymorphic values unread. truncation and padding are not here: they are left
// over from training, and the programs that use such files switch them off.
type tokenizerFile struct {
	AddedTokens   json.RawMessage `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         struct {
		Type         *string         `json:"type"`
		Dropout      *float64        `json:"dropout"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		Suffix       *string         `json:"end_of_word_suffix"`
		ByteFallback bool            `json:"byte_fallback"`
		IgnoreMerges bool            `json:"ignore_merges"`
		Vocab        json.RawMessage `json:"vocab"`
		Merges       json.RawMessage `json:"merges"`
	} `json:"model"`
}

// Parse reads the bytes of a tokenizer.json. What it asks for and this package does not do is refused by name.
func Parse(file []byte) (*Tokenizer, error) { return ParseWithConfig(file, nil) }

// ParseWithConfig is Parse with the bytes of a tokenizer_config.json beside it: tokens of its added_tokens_decoder that the
// first file lacks are added. A nil config adds none.
func ParseWithConfig(file, config []byte) (*Tokenizer, error) {
	t, err := parse(file, config)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return t, nil
}

func parse(file, config []byte) (*Tokenizer, error) {
	if len(file) > maxFileBytes || len(config) > maxFileBytes {
		return nil, fmt.Errorf("a file of %d bytes is above the limit of %d", max(len(file), len(config)), maxFileBytes)
	}
	var f tokenizerFile
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	var err error
	if t.nfc, err = readNormalizer(f.Normalizer); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if t.split, err = readPreTokenizer(f.PreTokenizer); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if t.vocab, err = readVocab(f.Model.Vocab); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	if t.merges, err = readMerges(f.Model.Merges, t.vocab); err != nil {
		return nil, fmt.Errorf("model.merges: %w", err)
	}
	t.markWhole(f.Model.IgnoreMerges)
	set := &addedSet{ids: map[string]int32{}, vocab: t.vocab}
	if err = set.readTokens(f.AddedTokens); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	if err = set.readConfig(config); err != nil {
		return nil, fmt.Errorf("tokenizer_config.json: added_tokens_decoder: %w", err)
	}
	t.added = newAdded(set.ids)
	return t, nil
}

// check refuses models and stages of another kind.
func (f *tokenizerFile) check() error {
	m := &f.Model
	switch {
	case m.Type != nil && *m.Type != "BPE":
		return fmt.Errorf("model.type %q is not supported, only BPE", *m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return fmt.Errorf("model.dropout %v is not supported: the same text must give the same ids", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "":
		return fmt.Errorf("model.continuing_subword_prefix %q is not supported", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return fmt.Errorf("model.end_of_word_suffix %q is not supported", *m.Suffix)
	case m.ByteFallback:
		return errors.New("model.byte_fallback is not supported: the vocabulary must be byte-level")
	}
	if err := onlyByteLevel(f.PostProcessor, true); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	if err := onlyByteLevel(f.Decoder, false); err != nil {
		return fmt.Errorf("decoder: %w", err)
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// stageType returns the type of a pipeline stage.
func stageType(raw json.RawMessage) (string, error) {
	var stage struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &stage); err != nil {
		return "", err
	}
	return stage.Type, nil
}

// onlyByteLevel refuses a stage other than ByteLevel, or none where optional.
func onlyByteLevel(raw json.RawMessage, optional bool) error {
	if isNull(raw) {
		if optional {
			return nil
		}
		return errors.New("is missing, and must be ByteLevel")
	}
	name, err := stageType(raw)
	if err == nil && name != "ByteLevel" {
		err = fmt.Errorf("type %q is not supported, only ByteLevel", name)
	}
	return err
}

// readNormalizer accepts nothing or NFC.
func readNormalizer(raw json.RawMessage) (nfc bool, err error) {
	if isNull(raw) {
		return false, nil
	}
	name, err := stageType(raw)
	if err == nil && name != "NFC" {
		err = fmt.Errorf("type %q is not supported, only NFC", name)
	}
	return err == nil, err
}

// preTokenizer is a stage of the pre-tokenizer.
type preTokenizer struct {
	Type          string          `json:"type"`
	PreTokenizers json.RawMessage `json:"pretokenizers"`
	Pattern       struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
	Behavior       string `json:"behavior"`
	Invert         bool   `json:"invert"`
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
}

// readPreTokenizer accepts a ByteLevel stage, with or without a Split before it, in a Sequence or not.
func readPreTokenizer(raw json.RawMessage) (splitter, error) {
	if isNull(raw) {
		return splitter{}, errors.New("is missing, and must end in ByteLevel")
	}
	var p preTokenizer
	if err := json.Unmarshal(raw, &p); err != nil {
		return splitter{}, err
	}
	stages := []preTokenizer{p}
	if p.Type == "Sequence" {
		stages = stages[:0]
		err := elements(p.PreTokenizers, func(c *cursor) error {
			if len(stages) == maxPreTokenizers {
				return fmt.Errorf("more than %d stages", maxPreTokenizers)
			}
			v, err := c.value()
			if err != nil {
				return err
			}
			var stage preTokenizer
			if err := json.Unmarshal(v, &stage); err != nil {
				return err
			}
			stages = append(stages, stage)
			return nil
		})
		if err != nil {
			return splitter{}, fmt.Errorf("stages: %w", err)
		}
	}
	pattern, split, bytes := "", false, false
	for n, stage := range stages {
		if bytes {
			return splitter{}, fmt.Errorf("stage %d, %q, comes after ByteLevel, which must be last", n, stage.Type)
		}
		own, ok, err := stage.pattern()
		if err != nil {
			return splitter{}, err
		}
		if ok && split {
			return splitter{}, fmt.Errorf("stage %d, %q, is a second split, and only one is supported", n, stage.Type)
		}
		if ok {
			pattern, split = own, true
		}
		bytes = stage.Type == "ByteLevel"
	}
	if !bytes {
		return splitter{}, errors.New("has no ByteLevel stage")
	}
	if !split {
		return splitter{}, nil
	}
	return newSplitter(pattern)
}

// pattern returns the expression a stage splits by; ok is false when it does not split.
func (p *preTokenizer) pattern() (pattern string, ok bool, err error) {
	switch p.Type {
	case "Split":
		switch {
		case p.Pattern.Regex == nil:
			return "", false, errors.New("stage Split needs a pattern of kind Regex")
		case p.Behavior != "Isolated":
			return "", false, fmt.Errorf("stage Split: behavior %q is not supported, only Isolated", p.Behavior)
		case p.Invert:
			return "", false, errors.New("stage Split: invert is not supported")
		}
		return *p.Pattern.Regex, true, nil
	case "ByteLevel":
		if p.AddPrefixSpace == nil || *p.AddPrefixSpace {
			return "", false, errors.New("stage ByteLevel: add_prefix_space is not supported, it must be false")
		}
		if p.UseRegex == nil || *p.UseRegex {
			return gpt2Pattern, true, nil
		}
		return "", false, nil
	}
	return "", false, fmt.Errorf("type %q is not supported, only Sequence, Split and ByteLevel", p.Type)
}

// readVocab reads {"token": id, ...}, tokens in the byte alphabet.
func readVocab(raw json.RawMessage) (*vocab, error) {
	v := newVocab()
	v.blob = make([]byte, 0, len(raw)/3)
	type keyed struct {
		id int32
		entry
	}
	var all []keyed
	var plain map[string]bool // keys outside the byte alphabet, which stand for themselves
	err := members(raw, func(key string, c *cursor) error {
		id, err := c.integer()
		switch {
		case err != nil:
			return fmt.Errorf("%.80q: %w", key, err)
		case id < 0 || id >= maxTokens:
			return fmt.Errorf("%.80q has id %d, outside 0..%d", key, id, maxTokens-1)
		case key == "" || len(key) > maxTokenBytes:
			return fmt.Errorf("id %d has a token of %d bytes, outside 1..%d", id, len(key), maxTokenBytes)
		case len(all) == maxTokens:
			return fmt.Errorf("more than %d entries", maxTokens)
		}
		offset, k := len(v.blob), kindBase
		blob, mapped := appendMapped(v.blob, key)
		if !mapped {
			if plain[key] {
				return fmt.Errorf("%.80q appears twice", key)
			}
			if plain == nil {
				plain = map[string]bool{}
			}
			plain[key] = true
			blob, k = append(blob, key...), kindUnreachable
		}
		v.blob = blob
		all = append(all, keyed{int32(id), entry{uint32(offset), uint16(len(v.blob) - offset), k}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		v.grow(e.id)
		if v.entries[e.id].kind != kindNone {
			return nil, fmt.Errorf("id %d is given to %.80q and %.80q", e.id, v.bytes(e.id), v.blob[e.offset:][:e.size])
		}
		v.entries[e.id] = e.entry
	}
	v.index(len(all))
	for _, e := range all {
		if e.kind == kindUnreachable {
			v.entries[e.id].kind = kindBase
		} else if twin := v.insert(e.id); twin >= 0 {
			return nil, fmt.Errorf("%.80q has two ids, %d and %d", v.bytes(e.id), twin, e.id)
		}
	}
	return v, nil
}

// readMerges reads ["a b", ...] or [["a", "b"], ...].
func readMerges(raw json.RawMessage, v *vocab) (*merges, error) {
	count := 0
	if err := elements(raw, func(c *cursor) error { count++; _, err := c.value(); return err }); err != nil {
		return nil, err
	}
	if count > maxRanks {
		return nil, fmt.Errorf("%d merges are above the limit of %d", count, maxRanks)
	}
	m := newMerges(count)
	var buffer []byte
	piece := func(key string) (int32, error) {
		var ok bool
		if buffer, ok = appendMapped(buffer[:0], key); ok {
			if id := v.id(string(buffer)); id >= 0 {
				return id, nil
			}
		}
		return -1, fmt.Errorf("merge %d: %.80q is not in the vocabulary", len(m.joined), key)
	}
	err := elements(raw, func(c *cursor) error {
		left, right, err := mergePair(c)
		if err != nil {
			return fmt.Errorf("merge %d: %w", len(m.joined), err)
		}
		l, err := piece(left)
		if err != nil {
			return err
		}
		r, err := piece(right)
		if err != nil {
			return err
		}
		joined, err := piece(left + right)
		if err != nil {
			return err
		}
		if !m.add(l, r, joined) {
			return fmt.Errorf("merge %d: %.80q and %.80q have a rank already", len(m.joined), left, right)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for b := range 256 {
		id := v.id(string([]byte{byte(b)}))
		if id < 0 {
			return nil, fmt.Errorf("the vocabulary lacks byte 0x%02x (%q): it is not byte-level", b, byteRunes[b])
		}
		m.byteID[b] = id
	}
	m.indexBytes()
	return m, nil
}

// mergePair reads one merge in either notation.
func mergePair(c *cursor) (left, right string, err error) {
	if c.peek() != '[' {
		both, err := c.text()
		if err != nil {
			return "", "", err
		}
		left, right, ok := strings.Cut(both, " ")
		if !ok || strings.Contains(right, " ") {
			return "", "", fmt.Errorf("%.80q is not two tokens with a space between", both)
		}
		return left, right, nil
	}
	parts := 0
	c.take('[')
	err = c.list(']', func() error {
		s, err := c.text()
		switch parts++; parts {
		case 1:
			left = s
		case 2:
			right = s
		}
		return err
	})
	if err == nil && parts != 2 {
		err = fmt.Errorf("has %d parts, not 2", parts)
	}
	return left, right, err
}

// markWhole finds the tokens that merging their own bytes gives back: a piece equal to one needs no merging. Files with
// ignore_merges say that all do.
func (t *Tokenizer) markWhole(ignoreMerges bool) {
	var ids []int32
	for at, slot := range t.vocab.table {
		if slot == 0 {
			continue
		}
		ids = t.merges.encode(ids[:0], string(t.vocab.bytes(slotID(slot))))
		if ignoreMerges || len(ids) == 1 && ids[0] == slotID(slot) {
			t.vocab.table[at] |= slotWhole
		}
	}
}
