package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// addedToken is an entry of added_tokens, or of added_tokens_decoder in tokenizer_config.json.
type addedToken struct {
	ID         *int64 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// addedSet collects added tokens, and puts them in the vocabulary.
type addedSet struct {
	ids   map[string]int32 // by text
	bytes int              // of all texts
	vocab *vocab
}

// readTokens reads added_tokens.
func (s *addedSet) readTokens(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	return elements(raw, func(c *cursor) error {
		value, err := c.value()
		if err != nil {
			return err
		}
		var token addedToken
		if err := json.Unmarshal(value, &token); err != nil {
			return err
		}
		if token.ID == nil {
			return fmt.Errorf("%.80q has no id", token.Content)
		}
		if _, ok := s.ids[token.Content]; ok {
			return fmt.Errorf("%.80q appears twice", token.Content)
		}
		return s.add(&token)
	})
}

// readConfig adds the tokens of added_tokens_decoder, {"id": token, ...}, that are not there yet.
func (s *addedSet) readConfig(config []byte) error {
	if config == nil {
		return nil
	}
	var f struct {
		Decoder json.RawMessage `json:"added_tokens_decoder"`
	}
	if err := json.Unmarshal(config, &f); err != nil {
		return err
	}
	if isNull(f.Decoder) {
		return nil
	}
	return members(f.Decoder, func(key string, c *cursor) error {
		value, err := c.value()
		if err != nil {
			return err
		}
		var token addedToken
		if err := json.Unmarshal(value, &token); err != nil {
			return err
		}
		id, err := (&cursor{b: []byte(key)}).integer()
		if err != nil {
			return fmt.Errorf("key %.80q: %w", key, err)
		}
		if have, ok := s.ids[token.Content]; ok {
			if int64(have) != id {
				return fmt.Errorf("%.80q has id %d here and %d in tokenizer.json", token.Content, id, have)
			}
			return nil
		}
		token.ID = &id
		return s.add(&token)
	})
}

// check refuses what an added token may ask for and this package does not do.
func (a *addedToken) check() error {
	switch {
	case *a.ID < 0 || *a.ID >= maxTokens:
		return fmt.Errorf("%.80q has id %d, outside 0..%d", a.Content, *a.ID, maxTokens-1)
	case a.Content == "" || len(a.Content) > maxAddedTokenBytes:
		return fmt.Errorf("id %d has a text of %d bytes, outside 1..%d", *a.ID, len(a.Content), maxAddedTokenBytes)
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"single_word", a.SingleWord}, {"lstrip", a.LStrip}, {"rstrip", a.RStrip}, {"normalized", a.Normalized}} {
		if flag.set {
			return fmt.Errorf("%q asks for %s, which is not supported", a.Content, flag.name)
		}
	}
	if strings.TrimFunc(a.Content, isStripped) != a.Content {
		return fmt.Errorf("%q starts or ends with white space, which is not supported", a.Content)
	}
	for _, r := range a.Content {
		if r > maxSwapped {
			return fmt.Errorf("%q has the code point %U, above %U, which is not supported", a.Content, r, maxSwapped)
		}
	}
	return nil
}

// add gives the token its id.
func (s *addedSet) add(a *addedToken) error {
	if err := a.check(); err != nil {
		return err
	}
	if len(s.ids) == maxAddedTokens {
		return fmt.Errorf("more than %d tokens", maxAddedTokens)
	}
	if s.bytes += len(a.Content); s.bytes > maxAddedBytes {
		return fmt.Errorf("more than %d bytes of text", maxAddedBytes)
	}
	v, id := s.vocab, int32(*a.ID)
	v.grow(id)
	if e := v.entries[id]; e.kind != kindNone && string(v.bytes(id)) != a.Content {
		return fmt.Errorf("id %d is given to %.80q and %.80q", id, v.bytes(id), a.Content)
	}
	if have := v.id(a.Content); have >= 0 && have != id {
		return fmt.Errorf("%.80q has id %d here and %d in the vocabulary", a.Content, id, have)
	}
	e := entry{uint32(len(v.blob)), uint16(len(a.Content)), kindAdded}
	if a.Special {
		e.kind = kindSpecial
	}
	v.blob = append(v.blob, a.Content...)
	v.entries[id] = e
	s.ids[a.Content] = id
	return nil
}

// isStripped reports what Python's str.strip() removes.
func isStripped(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }
