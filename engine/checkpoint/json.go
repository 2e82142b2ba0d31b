package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// parseObject reads a JSON object strictly: no duplicate keys, bounded depth, nothing after it. Numbers stay json.Number.
func parseObject(file string, b []byte) (map[string]any, error) {
	if len(b) > maxConfigBytes {
		return nil, fmt.Errorf("%s: %d bytes, the limit is %d", file, len(b), maxConfigBytes)
	}
	dec, err := strictDecoder(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	v, err := decodeValue(dec, 0, maxJSONValues)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: want a JSON object", file)
	}
	return m, nil
}

// strictDecoder checks that b is one JSON value and gives its tokens. The check comes first, because a token stream alone
// does not look past the end of its value.
func strictDecoder(b []byte) (*json.Decoder, error) {
	if !json.Valid(b) {
		var v any
		err := json.Unmarshal(b, &v)
		if err == nil {
			err = errors.New("invalid")
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec, nil
}

// decodeValue builds the next value of a stream, of at most limit values: a byte of JSON can cost tens of bytes of memory.
func decodeValue(dec *json.Decoder, depth, limit int) (any, error) {
	return (&builder{dec: dec, left: limit, limit: limit}).value(depth)
}

type builder struct {
	dec         *json.Decoder
	left, limit int // values that may still come, of how many
}

func (b *builder) value(depth int) (any, error) {
	t, err := b.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if b.left--; b.left < 0 {
		return nil, fmt.Errorf("more than %d values", b.limit)
	}
	d, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth >= maxJSONDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxJSONDepth)
	}
	if d == '[' {
		return b.list(depth)
	}
	return b.object(depth)
}

func (b *builder) list(depth int) ([]any, error) {
	var list []any
	for b.dec.More() {
		v, err := b.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := b.dec.Token()
	return list, err
}

func (b *builder) object(depth int) (map[string]any, error) {
	m := map[string]any{}
	for b.dec.More() {
		k, err := b.dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := k.(string)
		if _, ok := m[key]; ok {
			return nil, fmt.Errorf("key %q appears twice", clip(key))
		}
		if m[key], err = b.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := b.dec.Token()
	return m, err
}

// fields reads the members of one object; the first mistake is kept in err, with file and path, and later reads do nothing
// worse than return zero.
type fields struct {
	file, path string
	m          map[string]any
	err        *error
}

func newFields(file string, m map[string]any, err *error) fields {
	return fields{file: file, m: m, err: err}
}

func (f fields) fail(key, format string, args ...any) {
	if *f.err == nil {
		*f.err = fmt.Errorf("%s: %s%s: %s", f.file, f.path, key, fmt.Sprintf(format, args...))
	}
}

// get is the member, nil where it is absent or null.
func (f fields) get(key string) any { return f.m[key] }

func (f fields) has(key string) bool { return f.m[key] != nil }

// object is the member as fields; absent gives empty fields.
func (f fields) object(key string) fields {
	v := f.get(key)
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		f.fail(key, "want an object, got %s", describe(v))
	}
	return fields{file: f.file, path: f.path + key + ".", m: m, err: f.err}
}

// integer is a required whole number in [lo, hi].
func (f fields) integer(key string, lo, hi int) int {
	if !f.has(key) {
		f.fail(key, "missing")
		return 0
	}
	return f.integerOr(key, 0, lo, hi)
}

func (f fields) integerOr(key string, absent, lo, hi int) int {
	v := f.get(key)
	if v == nil {
		return absent
	}
	n, ok := toInteger(v)
	if !ok || n < lo || n > hi {
		f.fail(key, "want a whole number from %d to %d, got %s", lo, hi, describe(v))
		return 0
	}
	return n
}

func (f fields) numberOr(key string, absent, lo, hi float64) float64 {
	v := f.get(key)
	if v == nil {
		return absent
	}
	n, ok := v.(json.Number)
	if ok {
		if x, err := strconv.ParseFloat(n.String(), 64); err == nil && x >= lo && x <= hi {
			return x
		}
	}
	f.fail(key, "want a number from %g to %g, got %s", lo, hi, describe(v))
	return 0
}

func (f fields) textOr(key, absent string) string {
	v := f.get(key)
	if v == nil {
		return absent
	}
	s, ok := v.(string)
	if !ok {
		f.fail(key, "want a string, got %s", describe(v))
	}
	return s
}

func (f fields) flagOr(key string, absent bool) bool {
	v := f.get(key)
	if v == nil {
		return absent
	}
	b, ok := v.(bool)
	if !ok {
		f.fail(key, "want true or false, got %s", describe(v))
	}
	return b
}

// texts is a list of strings, nil where absent.
func (f fields) texts(key string, limit int) []string {
	v := f.get(key)
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		f.fail(key, "want a list, got %s", describe(v))
		return nil
	}
	if len(list) > limit {
		f.fail(key, "%d entries, the limit is %d", len(list), limit)
		return nil
	}
	out := make([]string, 0, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			f.fail(key, "entry %d: want a string, got %s", i, describe(v))
			return nil
		}
		out = append(out, s)
	}
	return out
}

// ids is a token id or a list of them, nil where absent.
func (f fields) ids(key string, vocab int) []int {
	v := f.get(key)
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) > maxEOS {
		f.fail(key, "%d ids, the limit is %d", len(list), maxEOS)
		return nil
	}
	out := make([]int, 0, len(list))
	for _, v := range list {
		n, ok := toInteger(v)
		if !ok || n < 0 || n >= vocab {
			f.fail(key, "want a token id below the vocabulary size %d, got %s", vocab, describe(v))
			return nil
		}
		out = append(out, n)
	}
	return out
}

// toInteger accepts 4 and 4.0 (some exporters write floats), not 4.5.
func toInteger(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	s, zeros, dotted := strings.Cut(n.String(), ".")
	if dotted && strings.Trim(zeros, "0") != "" {
		return 0, false
	}
	i, err := strconv.ParseInt(s, 10, 64)
	return int(i), err == nil
}

// describe shows a value in an error, cut to a sane length.
func describe(v any) string {
	var s string
	switch v := v.(type) {
	case string:
		s = strconv.Quote(v)
	case []any:
		s = fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		s = "an object"
	default:
		s = fmt.Sprint(v)
	}
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return s
}
