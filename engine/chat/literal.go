package chat

import (
	"strings"
	"unicode/utf8"

	"hearth/engine/chat/jinja"
)

// pythonLiteral converts a Python list, tuple or dictionary of literals to JSON: quotes of either kind, True, False,
// None, a comma before the close. Keys must be strings. Numbers keep their digits.
func pythonLiteral(text string) (string, bool) {
	p := literalParser{text: text, depthLeft: maxJSONDepth}
	if !p.value() {
		return "", false
	}
	p.space()
	return string(p.out), p.at == len(text)
}

type literalParser struct {
	text      string
	at        int
	depthLeft int
	out       []byte
}

func (p *literalParser) space() {
	for p.at < len(p.text) && strings.IndexByte(asciiSpace, p.text[p.at]) >= 0 {
		p.at++
	}
}

// skip consumes c if it comes next.
func (p *literalParser) skip(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *literalParser) value() bool {
	p.space()
	if p.at >= len(p.text) {
		return false
	}
	switch c := p.text[p.at]; {
	case c == '[':
		return p.sequence(']')
	case c == '(':
		return p.sequence(')')
	case c == '{':
		return p.dict()
	case c == '\'' || c == '"':
		return p.string()
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return p.number()
	}
	for _, w := range [][2]string{{"True", "true"}, {"False", "false"}, {"None", "null"}, {"true", "true"}, {"false", "false"}, {"null", "null"}} {
		if strings.HasPrefix(p.text[p.at:], w[0]) {
			p.at += len(w[0])
			p.out = append(p.out, w[1]...)
			return true
		}
	}
	return false
}

func (p *literalParser) number() bool {
	n := len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], "+-.0123456789eE"))
	s, ok := numberLiteral(p.text[p.at : p.at+n])
	p.at += n
	p.out = append(p.out, s...)
	return ok
}

func (p *literalParser) sequence(end byte) bool {
	if p.depthLeft == 0 {
		return false
	}
	p.depthLeft--
	p.at++
	p.out = append(p.out, '[')
	for count := 0; !p.skip(end); count++ {
		if count > 0 {
			if !p.skip(',') {
				return false
			}
			if p.skip(end) {
				break
			}
			p.out = append(p.out, ", "...)
		}
		if !p.value() {
			return false
		}
	}
	p.depthLeft++
	p.out = append(p.out, ']')
	return true
}

func (p *literalParser) dict() bool {
	if p.depthLeft == 0 {
		return false
	}
	p.depthLeft--
	p.at++
	p.out = append(p.out, '{')
	for count := 0; !p.skip('}'); count++ {
		if count > 0 {
			if !p.skip(',') {
				return false
			}
			if p.skip('}') {
				break
			}
			p.out = append(p.out, ", "...)
		}
		p.space()
		if p.at >= len(p.text) || p.text[p.at] != '\'' && p.text[p.at] != '"' || !p.string() || !p.skip(':') {
			return false
		}
		p.out = append(p.out, ": "...)
		if !p.value() {
			return false
		}
	}
	p.depthLeft++
	p.out = append(p.out, '}')
	return true
}

// string converts one quoted string; escapes other than Python's common ones stay as written.
func (p *literalParser) string() bool {
	quote := p.text[p.at]
	p.at++
	var s []byte
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == quote:
			p.out = append(jinja.AppendJSONText(append(p.out, '"'), string(s)), '"')
			return true
		case c == '\n':
			return false
		case c != '\\':
			s = append(s, c)
			continue
		}
		if p.at >= len(p.text) {
			return false
		}
		s = p.escape(s)
	}
	return false
}

func (p *literalParser) escape(s []byte) []byte {
	c := p.text[p.at]
	p.at++
	if i := strings.IndexByte(`\'"abfnrtv`, c); i >= 0 {
		return append(s, "\\'\"\a\b\f\n\r\t\v"[i])
	}
	width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if r, ok := hexRune(p.text[p.at:], width); ok {
		p.at += width
		return utf8.AppendRune(s, r)
	}
	return append(s, '\\', c)
}

func hexRune(s string, width int) (r rune, ok bool) {
	if width == 0 || len(s) < width {
		return 0, false
	}
	for _, c := range []byte(s[:width]) {
		d := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}
