package openai

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a value inside a body that is already known to be valid JSON. Its bytes are a slice of the body, so nothing is
// copied or reordered; its place is kept for error messages.
type node struct {
	raw   []byte
	up    *node
	key   string // member name, or "" for an element
	index int
}

// parse checks that body is one JSON value in UTF-8 within the depth limit. The node owns a copy of body.
func parse(body []byte) (*node, error) {
	if !utf8.Valid(body) {
		return nil, Invalidf("", "the body is not valid UTF-8")
	}
	if d := depth(body); d > maxDepth {
		return nil, Invalidf("", "the body nests deeper than %d levels", maxDepth)
	}
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, Invalidf("", "the body is not valid JSON: %s at byte %d", syntax.Error(), syntax.Offset)
		}
		return nil, Invalidf("", "the body is not valid JSON")
	}
	return &node{raw: raw}, nil
}

// depth is the deepest nesting of objects and arrays in b, valid JSON or not.
func depth(b []byte) int {
	deepest, level := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i) - 1
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

// skipString returns the index after the string that starts at b[i], or len(b) if it never ends.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// skipValue returns the index after the valid value that starts at b[i].
func skipValue(b []byte, i int) int {
	level := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			level++
			i++
		case '}', ']':
			if level == 0 { // the end of what encloses a number or literal
				return i
			}
			level--
			i++
		case ',', ' ', '\t', '\r', '\n', ':':
			if level == 0 {
				return i
			}
			i++
			continue
		default:
			for i++; i < len(b) && !strings.ContainsRune(",:{}[]\" \t\r\n", rune(b[i])); i++ {
			}
		}
		if level == 0 {
			return i
		}
	}
	return len(b)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// kind names a value's type for people.
func (n *node) kind() string {
	switch n.raw[skipSpace(n.raw, 0)] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func (n *node) isNull() bool { return n.kind() == "null" }

// path spells the place of a value the way clients expect in param: messages[3].content.
func (n *node) path() string {
	if n.up == nil {
		return ""
	}
	above := n.up.path()
	if n.key == "" {
		return above + "[" + strconv.Itoa(n.index) + "]"
	}
	if above == "" {
		return clip(n.key)
	}
	return above + "." + clip(n.key)
}

// clip shortens text from the request before a message repeats it.
func clip(s string) string {
	if len(s) <= maxEchoBytes {
		return s
	}
	cut := maxEchoBytes
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

func (n *node) wrong(want string) *Error {
	where := n.path()
	if where == "" {
		return Invalidf("", "the body must be %s, not %s", want, n.kind())
	}
	return Invalidf(where, "%s must be %s, not %s", where, want, n.kind())
}

// invalidf is a refusal of a value of the right type. The message begins with the path.
func (n *node) invalidf(format string, args ...any) *Error {
	where := n.path()
	if where == "" {
		return Invalidf("", "the body "+format, args...)
	}
	return Invalidf(where, "%s "+format, append([]any{where}, args...)...)
}

// members calls visit for each member of an object in the order sent. Members that are null count as absent.
func (n *node) members(visit func(name string, value *node) error) error {
	if n.kind() != "an object" {
		return n.wrong("an object")
	}
	b := n.raw
	i := skipSpace(b, skipSpace(b, 0)+1)
	for count := 0; b[i] != '}'; count++ {
		if count >= maxMembers {
			return n.invalidf("has more than %d members", maxMembers)
		}
		end := skipString(b, i)
		name := unquote(b[i:end])
		i = skipSpace(b, skipSpace(b, end)+1) // past the colon
		end = skipValue(b, i)
		child := &node{raw: b[i:end], up: n, key: name}
		if !child.isNull() {
			if err := visit(name, child); err != nil {
				return err
			}
		}
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return nil
}

// elements calls visit for each element of an array and refuses more than limit.
func (n *node) elements(limit int, visit func(value *node) error) error {
	if n.kind() != "an array" {
		return n.wrong("an array")
	}
	b := n.raw
	i := skipSpace(b, skipSpace(b, 0)+1)
	for count := 0; b[i] != ']'; count++ {
		if count >= limit {
			return n.invalidf("has more than %d elements", limit)
		}
		end := skipValue(b, i)
		if err := visit(&node{raw: b[i:end], up: n, index: count}); err != nil {
			return err
		}
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return nil
}

func unquote(b []byte) string {
	var s string
	if json.Unmarshal(b, &s) != nil { // cannot happen: the body was checked
		return string(b)
	}
	return s
}

func (n *node) text() (string, error) {
	if n.kind() != "a string" {
		return "", n.wrong("a string")
	}
	return unquote(n.raw), nil
}

// name is a non-empty string of bounded length.
func (n *node) name() (string, error) {
	s, err := n.text()
	switch {
	case err != nil:
		return "", err
	case s == "":
		return "", n.invalidf("must not be empty")
	case len(s) > maxNameBytes:
		return "", n.invalidf("is longer than %d bytes", maxNameBytes)
	}
	return s, nil
}

func (n *node) boolean() (bool, error) {
	if n.kind() != "a boolean" {
		return false, n.wrong("a boolean")
	}
	return n.raw[0] == 't', nil
}

// number is a finite number between low and high.
func (n *node) number(low, high float64) (float64, error) {
	if n.kind() != "a number" {
		return 0, n.wrong("a number")
	}
	v, err := strconv.ParseFloat(string(n.raw), 64)
	if err != nil || v < low || v > high {
		return 0, n.invalidf("must be %s", span(low, high))
	}
	return v, nil
}

func span(low, high float64) string {
	switch {
	case math.IsInf(high, 1):
		return "at least " + trim(low)
	case math.IsInf(low, -1):
		return "at most " + trim(high)
	}
	return "between " + trim(low) + " and " + trim(high)
}

func trim(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// integer is a whole number between low and high. 5 and 5.0 are whole, 1.5 and "5" are not.
func (n *node) integer(low, high int64) (int64, error) {
	if n.kind() != "a number" {
		return 0, n.wrong("an integer")
	}
	if v, err := strconv.ParseInt(string(n.raw), 10, 64); err == nil {
		if v < low || v > high {
			return 0, n.invalidf("must be %s", span(float64(low), float64(high)))
		}
		return v, nil
	}
	v, err := strconv.ParseFloat(string(n.raw), 64)
	if err != nil || v != math.Trunc(v) {
		return 0, n.invalidf("must be an integer")
	}
	if v < float64(low) || v > float64(high) || math.Abs(v) > 1<<53 {
		return 0, n.invalidf("must be %s", span(float64(low), float64(high)))
	}
	return int64(v), nil
}

// seed is any 64-bit integer, signed or not.
func (n *node) seed() (uint64, error) {
	if n.kind() != "a number" {
		return 0, n.wrong("an integer")
	}
	if len(n.raw) > 64 {
		return 0, n.invalidf("must fit in 64 bits")
	}
	v, ok := new(big.Int).SetString(string(n.raw), 10)
	if !ok {
		return 0, n.invalidf("must be an integer")
	}
	if v.IsInt64() {
		return uint64(v.Int64()), nil
	}
	if !v.IsUint64() {
		return 0, n.invalidf("must fit in 64 bits")
	}
	return v.Uint64(), nil
}
