package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a template that cannot be parsed or rendered. Message is what the template itself said (raise_exception) or
// what is wrong; Line is where in the template, 0 if unknown.
type Error struct {
	Message string
	Line    int
	Raised  bool // by the template's own raise_exception
}

func (e *Error) Error() string {
	if e.Raised || e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("template line %d: %s", e.Line, e.Message)
}

type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokData             // text between tags
	tokOpen             // {{ or {%: text says which
	tokClose            // }} or %}
	tokName             // identifier or keyword
	tokString           // unquoted
	tokInt
	tokFloat
	tokOp
)

type token struct {
	kind tokenKind
	text string
	line int
}

// lexer cuts a source into tokens with trim_blocks and lstrip_blocks on, as chat templates are written for.
type lexer struct {
	src          string
	at           int
	line         int
	lineStarting bool // nothing but white space since the last line end
	tokens       []token
}

func lex(source string) ([]token, error) {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	lx := &lexer{src: strings.TrimSuffix(source, "\n"), line: 1, lineStarting: true}
	for lx.at < len(lx.src) {
		if err := lx.piece(); err != nil {
			return nil, err
		}
	}
	lx.add(tokEOF, "")
	return lx.tokens, nil
}

func (lx *lexer) add(kind tokenKind, text string) {
	lx.tokens = append(lx.tokens, token{kind, text, lx.line})
}

func (lx *lexer) fail(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Line: lx.line}
}

// take consumes n bytes and keeps count of lines.
func (lx *lexer) take(n int) string {
	s := lx.src[lx.at : lx.at+n]
	lx.at += n
	lx.line += strings.Count(s, "\n")
	if s != "" {
		lx.lineStarting = s[len(s)-1] == '\n'
	}
	return s
}

// nextTag finds the next {{, {% or {#.
func nextTag(s string) int {
	for i := 0; ; i++ {
		j := strings.IndexByte(s[i:], '{')
		if j < 0 || i+j+1 >= len(s) {
			return -1
		}
		i += j
		if c := s[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
	}
}

// piece reads the text up to the next tag, and the tag.
func (lx *lexer) piece() error {
	rest := lx.src[lx.at:]
	i := nextTag(rest)
	if i < 0 {
		lx.add(tokData, lx.take(len(rest)))
		return nil
	}
	starting, line := lx.lineStarting, lx.line
	data := lx.take(i)
	kind := lx.src[lx.at+1]
	lx.take(2)
	switch mark := lx.peek(); {
	case mark == '-':
		lx.take(1)
		data = strings.TrimRightFunc(data, isSpace)
	case mark == '+':
		lx.take(1)
	case kind != '{':
		data = lstrip(data, starting)
	}
	if data != "" {
		lx.tokens = append(lx.tokens, token{tokData, data, line})
	}
	switch kind {
	case '#':
		return lx.comment()
	case '%':
		if done, err := lx.raw(); done || err != nil {
			return err
		}
		return lx.code("{%", "%}")
	}
	return lx.code("{{", "}}")
}

func (lx *lexer) peek() byte {
	if lx.at < len(lx.src) {
		return lx.src[lx.at]
	}
	return 0
}

// lstrip removes the white space between the last line end (or the start of a line) and a block.
func lstrip(data string, starting bool) string {
	i := strings.LastIndexByte(data, '\n') + 1
	if (i > 0 || starting) && strings.TrimLeftFunc(data[i:], isSpace) == "" {
		return data[:i]
	}
	return data
}

// closeTag consumes end with its optional sign, and the white space that goes with it; trim: one line end is dropped.
func (lx *lexer) closeTag(end string, trim bool) bool {
	sign := byte(0)
	if c := lx.peek(); c == '-' || c == '+' {
		if !strings.HasPrefix(lx.src[lx.at+1:], end) {
			return false
		}
		sign = c
		lx.take(1)
	} else if !strings.HasPrefix(lx.src[lx.at:], end) {
		return false
	}
	lx.take(len(end))
	switch {
	case sign == '-':
		rest := lx.src[lx.at:]
		lx.take(len(rest) - len(strings.TrimLeftFunc(rest, isSpace)))
	case sign == 0 && trim && lx.peek() == '\n':
		lx.take(1)
	}
	return true
}

func (lx *lexer) comment() error {
	i := strings.Index(lx.src[lx.at:], "#}")
	if i < 0 {
		return lx.fail("comment without an end")
	}
	if i > 0 && (lx.src[lx.at+i-1] == '-' || lx.src[lx.at+i-1] == '+') {
		i--
	}
	lx.take(i)
	lx.closeTag("#}", true)
	return nil
}

// raw handles {% raw %}…{% endraw %}, whose inside is text.
func (lx *lexer) raw() (bool, error) {
	body, ok := strings.CutPrefix(strings.TrimLeftFunc(lx.src[lx.at:], isSpace), "raw")
	if !ok {
		return false, nil
	}
	trimmed := strings.TrimLeftFunc(body, isSpace)
	if !strings.HasPrefix(strings.TrimLeft(trimmed, "-+"), "%}") {
		return false, nil
	}
	lx.take(len(lx.src) - lx.at - len(trimmed))
	lx.closeTag("%}", true)
	for at := 0; ; at += 2 {
		i := strings.Index(lx.src[lx.at+at:], "{%")
		if i < 0 {
			return true, lx.fail("raw block without an end")
		}
		at += i
		inner := strings.TrimLeft(lx.src[lx.at+at+2:], "-+")
		inner, found := strings.CutPrefix(strings.TrimLeftFunc(inner, isSpace), "endraw")
		if !found {
			continue
		}
		inner = strings.TrimLeftFunc(inner, isSpace)
		starting := lx.lineStarting
		line := lx.line
		data := lx.take(at)
		switch lx.src[lx.at+2] {
		case '-':
			data = strings.TrimRightFunc(data, isSpace)
		case '+':
		default:
			data = lstrip(data, starting)
		}
		lx.tokens = append(lx.tokens, token{tokData, data, line})
		lx.take(len(lx.src) - lx.at - len(inner))
		if !lx.closeTag("%}", true) {
			return true, lx.fail("malformed endraw")
		}
		return true, nil
	}
}

// code reads the tokens of an expression or a statement up to its end.
func (lx *lexer) code(open, end string) error {
	lx.add(tokOpen, open)
	depth := 0 // of brackets: }} may close two dictionaries
	for {
		rest := lx.src[lx.at:]
		lx.take(len(rest) - len(strings.TrimLeftFunc(rest, isSpace)))
		if lx.at >= len(lx.src) {
			return lx.fail("%s without its %s", open, end)
		}
		if depth == 0 && lx.closeTag(end, end == "%}") {
			lx.add(tokClose, end)
			return nil
		}
		if err := lx.token(); err != nil {
			return err
		}
		switch last := lx.tokens[len(lx.tokens)-1]; {
		case last.kind != tokOp:
		case strings.Contains("([{", last.text):
			depth++
		case strings.Contains(")]}", last.text):
			depth--
		}
	}
}

var operators = []string{"**", "//", "==", "!=", ">=", "<=",
	"+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ".", ":", "|", ",", ";"}

func (lx *lexer) token() error {
	rest := lx.src[lx.at:]
	c, _ := utf8.DecodeRuneInString(rest)
	switch {
	case c == '_' || unicode.IsLetter(c):
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(rest)
		}
		lx.add(tokName, lx.take(n))
		return nil
	case c >= '0' && c <= '9':
		n, kind := numberLength(rest)
		lx.add(kind, lx.take(n))
		return nil
	case c == '\'' || c == '"':
		return lx.quoted(byte(c))
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			lx.add(tokOp, lx.take(len(op)))
			return nil
		}
	}
	return lx.fail("unexpected character %q", c)
}

// numberLength measures a literal: digits with underscores, a base prefix, a fraction, an exponent.
func numberLength(s string) (int, tokenKind) {
	digits := func(i int) int {
		for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '_') {
			i++
		}
		return i
	}
	if len(s) > 1 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		i := 2
		for i < len(s) && (isHex(s[i]) || s[i] == '_') {
			i++
		}
		return i, tokInt
	}
	i, kind := digits(0), tokInt
	if i+1 < len(s) && s[i] == '.' && s[i+1] >= '0' && s[i+1] <= '9' {
		i, kind = digits(i+1), tokFloat
	}
	if i+1 < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if s[j] == '+' || s[j] == '-' {
			j++
		}
		if k := digits(j); k > j {
			i, kind = k, tokFloat
		}
	}
	return i, kind
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// quoted reads a string literal with Python's escapes; an unknown escape stays as written.
func (lx *lexer) quoted(quote byte) error {
	line := lx.line
	i := lx.at + 1
	for ; i < len(lx.src) && lx.src[i] != quote; i++ {
		if lx.src[i] == '\\' {
			i++
		}
	}
	if i >= len(lx.src) {
		return lx.fail("string without an end")
	}
	body := lx.src[lx.at+1 : i]
	lx.take(i + 1 - lx.at)
	lx.tokens = append(lx.tokens, token{tokString, unescape(body), line})
	return nil
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out []byte
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			i++
			continue
		}
		c := s[i+1]
		width := strings.IndexByte("..x.u...U", c) // hexadecimal digits after \x, \u, \U
		if j := strings.IndexByte("\\'\"abfnrtv", c); j >= 0 {
			out = append(out, "\\'\"\a\b\f\n\r\t\v"[j])
			i += 2
		} else if c == '\n' {
			i += 2
		} else if c >= '0' && c <= '7' {
			r, n := digitsIn(s[i+1:], 3, 8)
			out = utf8.AppendRune(out, r)
			i += 1 + n
		} else if r, n := digitsIn(s[i+2:], width, 16); c != '.' && width > 0 && n == width {
			out = utf8.AppendRune(out, r)
			i += 2 + n
		} else {
			out = append(out, '\\')
			i++
		}
	}
	return string(out)
}

// digitsIn reads up to limit digits of base at the start of s.
func digitsIn(s string, limit int, base rune) (r rune, n int) {
	for n < min(limit, len(s)) {
		d := rune(strings.IndexByte(hexDigits, s[n]|0x20))
		if s[n] >= '0' && s[n] <= '9' {
			d = rune(s[n] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		r = r*base + d
		n++
	}
	return r, n
}
