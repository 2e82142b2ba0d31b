package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// The vocabulary and the merges are walked in place: encoding/json would build a map that hides duplicates, and allocate by
// what the file claims. The walk runs over JSON that json.Unmarshal has already found valid (and not too deep), but checks
// its bounds all the same.

var errJSONShape = errors.New("malformed JSON")

// cursor walks one JSON value.
type cursor struct {
	b []byte
	i int
}

// peek skips white space and returns the next byte, or 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return c.b[c.i]
		}
	}
	return 0
}

// take consumes want, the next byte after white space.
func (c *cursor) take(want byte) bool {
	if c.peek() != want {
		return false
	}
	c.i++
	return true
}

// quoted consumes a string and returns it with its quotes.
func (c *cursor) quoted() ([]byte, error) {
	if c.peek() != '"' {
		return nil, errors.New("want a string")
	}
	start := c.i
	for c.i++; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case '\\':
			c.i++
		case '"':
			c.i++
			return c.b[start:c.i], nil
		}
	}
	return nil, errJSONShape
}

// text consumes a string and returns what it says.
func (c *cursor) text() (string, error) {
	q, err := c.quoted()
	if err != nil {
		return "", err
	}
	if plain := q[1 : len(q)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain), nil
	}
	var s string
	if err := json.Unmarshal(q, &s); err != nil {
		return "", errJSONShape
	}
	return s, nil
}

// integer consumes a number that must be an integer.
func (c *cursor) integer() (int64, error) {
	c.peek()
	start := c.i
	for c.i < len(c.b) && (c.b[c.i] == '-' || c.b[c.i] >= '0' && c.b[c.i] <= '9') {
		c.i++
	}
	n, err := strconv.ParseInt(string(c.b[start:c.i]), 10, 64)
	if err != nil || c.i < len(c.b) && (c.b[c.i] == '.' || c.b[c.i] == 'e' || c.b[c.i] == 'E') {
		return 0, errors.New("want an integer")
	}
	return n, nil
}

// value consumes any value and returns its text.
func (c *cursor) value() ([]byte, error) {
	c.peek()
	start, depth := c.i, 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			if _, err := c.quoted(); err != nil {
				return nil, err
			}
			if depth == 0 {
				return c.b[start:c.i], nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return c.b[start:c.i], nil
			}
			if depth--; depth == 0 {
				c.i++
				return c.b[start:c.i], nil
			}
		case ',':
			if depth == 0 {
				return c.b[start:c.i], nil
			}
		}
		c.i++
	}
	return c.b[start:c.i], nil
}

// elements calls each with the cursor at every element of an array; each consumes it.
func elements(raw []byte, each func(c *cursor) error) error {
	c := &cursor{b: raw}
	if !c.take('[') {
		return errors.New("want an array")
	}
	return c.list(']', func() error { return each(c) })
}

// members calls each with every key of an object and the cursor at its value; each consumes it.
func members(raw []byte, each func(key string, c *cursor) error) error {
	c := &cursor{b: raw}
	if !c.take('{') {
		return errors.New("want an object")
	}
	return c.list('}', func() error {
		key, err := c.text()
		if err != nil {
			return err
		}
		if !c.take(':') {
			return errJSONShape
		}
		return each(key, c)
	})
}

// list runs each between commas until end.
func (c *cursor) list(end byte, each func() error) error {
	for first := true; !c.take(end); first = false {
		if !first && !c.take(',') {
			return errJSONShape
		}
		before := c.i
		if err := each(); err != nil {
			return err
		}
		if c.i == before {
			return errJSONShape
		}
	}
	return nil
}
