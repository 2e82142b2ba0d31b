package jinja

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// SyntaxError says where a JSON text is wrong.
type SyntaxError struct {
	Offset int // bytes before the offending one
	What   string
	AtEnd  bool // the text is the beginning of a JSON text that was cut off
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

// ParseJSON reads one JSON text (RFC 8259) as Python's json.loads does: keys in the order sent, a repeated key keeps its
// place and takes the last value, an integer literal keeps all its digits, any other number is a double. Nesting beyond
// maxDepth is an error. Invalid UTF-8 and lone surrogates become U+FFFD.
func ParseJSON(text []byte, maxDepth int) (Value, error) {
	p := jsonParser{text: text, depthLeft: maxDepth}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.fail("unexpected text after the value")
	}
	return v, nil
}

type jsonParser struct {
	text      []byte
	at        int
	depthLeft int
}

func (p *jsonParser) fail(what string) error { return &SyntaxError{p.at, what, p.at >= len(p.text)} }

func (p *jsonParser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (p *jsonParser) peek() byte {
	p.space()
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *jsonParser) value() (Value, error) {
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.string()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.word("true"):
		return true, nil
	case p.word("false"):
		return false, nil
	case p.word("null"):
		return nil, nil
	}
	rest := string(p.text[p.at:min(len(p.text), p.at+5)])
	if strings.HasPrefix("true", rest) || strings.HasPrefix("false", rest) || strings.HasPrefix("null", rest) {
		p.at = len(p.text)
		return nil, p.fail("unexpected end")
	}
	return nil, p.fail("expected a value")
}

func (p *jsonParser) word(w string) bool {
	if len(p.text)-p.at < len(w) || string(p.text[p.at:p.at+len(w)]) != w {
		return false
	}
	p.at += len(w)
	return true
}

func (p *jsonParser) enter() error {
	if p.depthLeft == 0 {
		return p.fail("nested too deeply")
	}
	p.depthLeft--
	p.at++
	return nil
}

func (p *jsonParser) leave() {
	p.depthLeft++
	p.at++
}

func (p *jsonParser) object() (Value, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	m := NewMap(4)
	if p.peek() == '}' {
		p.leave()
		return m, nil
	}
	for {
		if p.peek() != '"' {
			return nil, p.fail("expected a key in quotes")
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.peek() != ':' {
			return nil, p.fail("expected ':'")
		}
		p.at++
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		m.Set(key, v)
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.leave()
			return m, nil
		default:
			return nil, p.fail("expected ',' or '}'")
		}
	}
}

func (p *jsonParser) array() (Value, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	l := NewList()
	if p.peek() == ']' {
		p.leave()
		return l, nil
	}
	for {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.leave()
			return l, nil
		default:
			return nil, p.fail("expected ',' or ']'")
		}
	}
}

func (p *jsonParser) string() (string, error) {
	p.at++
	start := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			s := string(p.text[start:p.at])
			p.at++
			return strings.ToValidUTF8(s, "\ufffd"), nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.fail("control character in a string")
		}
		p.at++
	}
	return "", p.fail("string without an end")
}

// escaped reads the rest of a string that began at start and has its first backslash here.
func (p *jsonParser) escaped(start int) (string, error) {
	out := append([]byte(nil), p.text[start:p.at]...)
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return strings.ToValidUTF8(string(out), "\ufffd"), nil
		case c < 0x20:
			return "", p.fail("control character in a string")
		case c != '\\':
			out = append(out, c)
			p.at++
			continue
		}
		r, err := p.escape()
		if err != nil {
			return "", err
		}
		out = utf8.AppendRune(out, r)
	}
	return "", p.fail("string without an end")
}

func (p *jsonParser) escape() (rune, error) {
	if p.at+1 >= len(p.text) {
		p.at = len(p.text)
		return 0, p.fail("string without an end")
	}
	c := p.text[p.at+1]
	if c == 'u' {
		return p.unicode()
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return 0, p.fail("unknown escape")
	}
	p.at += 2
	return rune("\"\\/\b\f\n\r\t"[i]), nil
}

func (p *jsonParser) unicode() (rune, error) {
	r, ok := p.hex4()
	if !ok {
		if len(p.text)-p.at < 6 && !bytes.ContainsRune(p.text[p.at:], '"') {
			p.at = len(p.text)
		}
		return 0, p.fail(`\u needs four hexadecimal digits`)
	}
	p.at += 6
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if low, ok := p.hex4(); ok {
		if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
			p.at += 6
			return joined, nil
		}
	}
	return utf8.RuneError, nil
}

// hex4 reads \uXXXX here without consuming it.
func (p *jsonParser) hex4() (rune, bool) {
	if len(p.text)-p.at < 6 || p.text[p.at] != '\\' || p.text[p.at+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.text[p.at+2 : p.at+6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func (p *jsonParser) number() (Value, error) {
	start := p.at
	if p.text[p.at] == '-' {
		p.at++
	}
	whole := p.digits()
	if whole > 1 && p.text[p.at-whole] == '0' {
		p.at = start
		return nil, p.fail("number with a leading zero")
	}
	if whole == 0 {
		return nil, p.fail("malformed number")
	}
	isInt := true
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		isInt = false
		if p.digits() == 0 {
			return nil, p.fail("malformed number")
		}
	}
	if p.at < len(p.text) && p.text[p.at]|0x20 == 'e' {
		p.at++
		isInt = false
		if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if p.digits() == 0 {
			return nil, p.fail("malformed number")
		}
	}
	literal := string(p.text[start:p.at])
	if isInt {
		if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
			return i, nil
		}
		return Digits(literal), nil
	}
	f, _ := strconv.ParseFloat(literal, 64) // out of range: an infinity, as in Python
	return f, nil
}

func (p *jsonParser) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

// jsonStyle is how json.dumps spaces its output.
type jsonStyle struct {
	item, key string // separators
	indent    string // one level; empty: one line
	lines     bool
	sorted    bool
	ascii     bool
}

var plainJSON = jsonStyle{item: ", ", key: ": "}

// AppendJSON appends v as Python's json.dumps(v, ensure_ascii=False) writes it: ", " and ": ", keys in order, floats as
// repr, nothing escaped but quotes, backslashes and control characters.
func AppendJSON(out []byte, v Value) ([]byte, error) { return plainJSON.dump(out, v) }

func (s *jsonStyle) dump(out []byte, v Value) ([]byte, error) { return s.append(out, v, &walk{}) }

func (s *jsonStyle) append(out []byte, v Value, w *walk) ([]byte, error) {
	defer w.leave()
	if !w.enter() || len(out) > maxTextBytes {
		return nil, errors.New("a value is too deep or too large to be written as JSON")
	}
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case Digits:
		return append(out, v...), nil
	case float64:
		return appendJSONFloat(out, v), nil
	case string:
		return s.appendString(out, v), nil
	case *List:
		return s.appendList(out, v, w)
	case *Map:
		return s.appendMap(out, v, w)
	}
	return nil, fmt.Errorf("TypeError: Object of type %s is not JSON serializable", typeName(v))
}

func appendJSONFloat(out []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(out, "Infinity"...)
	case math.IsInf(f, -1):
		return append(out, "-Infinity"...)
	case math.IsNaN(f):
		return append(out, "NaN"...)
	}
	return appendFloat(out, f)
}

func (s *jsonStyle) newline(out []byte, depth int) []byte {
	if !s.lines {
		return out
	}
	out = append(out, '\n')
	for range depth {
		out = append(out, s.indent...)
	}
	return out
}

func (s *jsonStyle) appendList(out []byte, l *List, w *walk) (_ []byte, err error) {
	if len(l.Items) == 0 {
		return append(out, "[]"...), nil
	}
	out = append(out, '[')
	for i, e := range l.Items {
		if i > 0 {
			out = append(out, s.item...)
		}
		out = s.newline(out, w.depth)
		if out, err = s.append(out, e, w); err != nil {
			return nil, err
		}
	}
	return append(s.newline(out, w.depth-1), ']'), nil
}

func (s *jsonStyle) appendMap(out []byte, m *Map, w *walk) (_ []byte, err error) {
	if m.Len() == 0 {
		return append(out, "{}"...), nil
	}
	if s.sorted {
		m = sortedByKey(m)
	}
	out = append(out, '{')
	for i, k := range m.keys {
		if i > 0 {
			out = append(out, s.item...)
		}
		out = append(s.appendString(s.newline(out, w.depth), k), s.key...)
		if out, err = s.append(out, m.vals[i], w); err != nil {
			return nil, err
		}
	}
	return append(s.newline(out, w.depth-1), '}'), nil
}

func (s *jsonStyle) appendString(out []byte, text string) []byte {
	out = append(out, '"')
	out = appendEscaped(out, text, s.ascii)
	return append(out, '"')
}

// AppendJSONText appends the inside of a JSON string (no quotes). Splitting text between code points and joining the
// results gives the same bytes.
func AppendJSONText(out []byte, text string) []byte { return appendEscaped(out, text, false) }

func appendEscaped(out []byte, text string, ascii bool) []byte {
	start := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 0x20 && c != '"' && c != '\\' && (c < utf8.RuneSelf || !ascii) {
			continue
		}
		out = append(out, text[start:i]...)
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(text[i:])
			out = appendUnicode(out, r)
			i += n - 1
		} else if j := strings.IndexByte("\"\\\b\f\n\r\t", c); j >= 0 {
			out = append(out, '\\', `"\bfnrt`[j])
		} else {
			out = appendUnicode(out, rune(c))
		}
		start = i + 1
	}
	return append(out, text[start:]...)
}

func appendUnicode(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return appendUnicode(appendUnicode(out, high), low)
	}
	return append(out, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
