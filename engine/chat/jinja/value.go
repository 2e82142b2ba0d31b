package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Value is a Python value: nil (None), Undefined, bool, int64, Digits, float64, string, *List, *Map, or one of the
// package's own callables.
type Value any

// Undefined is the result of looking up what does not exist. It is false, prints as nothing and cannot be used further.
type Undefined struct {
	why      string // set: the whole reason
	of, name string // else: the type that has no such attribute
}

func (u Undefined) reason() string {
	if u.why != "" {
		return u.why
	}
	return "'" + u.of + "' has no attribute '" + u.name + "'"
}

func undefined(why string) Undefined { return Undefined{why: why} }

// Digits is an integer beyond 64 bits, in decimal, with a sign if negative. It is printed and compared, not computed with.
type Digits string

// List is a list or a tuple.
type List struct {
	Items []Value
	tuple bool
}

// NewList makes a list of items, which it keeps.
func NewList(items ...Value) *List { return &List{Items: items} }

// Map is a dictionary with string keys in insertion order.
type Map struct {
	keys  []string
	vals  []Value
	index map[string]int // built when keys are many
}

const indexedFrom = 9 // entries; below, a scan is cheaper than hashing

// NewMap makes an empty dictionary with room for n entries.
func NewMap(n int) *Map {
	return &Map{keys: make([]string, 0, n), vals: make([]Value, 0, n)}
}

// Len is the number of entries.
func (m *Map) Len() int { return len(m.keys) }

// At returns entry i in insertion order.
func (m *Map) At(i int) (string, Value) { return m.keys[i], m.vals[i] }

func (m *Map) find(key string) int {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range m.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// Get looks key up.
func (m *Map) Get(key string) (Value, bool) {
	if i := m.find(key); i >= 0 {
		return m.vals[i], true
	}
	return nil, false
}

// Set replaces the value of key where it stands, or adds it at the end.
func (m *Map) Set(key string, v Value) {
	if i := m.find(key); i >= 0 {
		m.vals[i] = v
		return
	}
	m.keys = append(m.keys, key)
	m.vals = append(m.vals, v)
	if m.index != nil {
		m.index[key] = len(m.keys) - 1
	} else if len(m.keys) >= indexedFrom {
		m.index = make(map[string]int, 2*len(m.keys))
		for i, k := range m.keys {
			m.index[k] = i
		}
	}
}

// truth is bool(v).
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Map:
		return v.Len() > 0
	}
	return true
}

// typeName is the class's name as Python's messages give it.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case Undefined:
		return "Undefined"
	case bool:
		return "bool"
	case int64, Digits:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *List:
		if v.tuple {
			return "tuple"
		}
		return "list"
	case *Map:
		return "dict"
	}
	return "function"
}

// str is str(v).
func str(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case Undefined:
		return ""
	}
	return string(appendRepr(nil, v, &walk{}))
}

// walk bounds the visit of a value, which a template can nest deeply, or make of a list that holds the same list twice,
// and so on: small in memory and endless to print.
type walk struct{ depth, nodes int }

// enter counts one more value; false: enough.
func (w *walk) enter() bool {
	w.depth++
	w.nodes++
	return w.depth <= maxValueDepth && w.nodes <= maxValueNodes
}

func (w *walk) leave() { w.depth-- }

// appendRepr appends repr(v), up to where the walk ends.
func appendRepr(out []byte, v Value, w *walk) []byte {
	defer w.leave()
	if !w.enter() || len(out) > maxTextBytes {
		return append(out, "..."...)
	}
	switch v := v.(type) {
	case nil:
		return append(out, "None"...)
	case Undefined:
		return append(out, "Undefined"...)
	case bool:
		if v {
			return append(out, "True"...)
		}
		return append(out, "False"...)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case Digits:
		return append(out, v...)
	case float64:
		return appendFloat(out, v)
	case string:
		return appendQuoted(out, v)
	case *List:
		return appendListRepr(out, v, w)
	case *Map:
		out = append(out, '{')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ", "...)
			}
			k, e := v.At(i)
			out = appendRepr(append(appendQuoted(out, k), ": "...), e, w)
		}
		return append(out, '}')
	}
	return append(out, "<function>"...)
}

func appendListRepr(out []byte, l *List, w *walk) []byte {
	open, end := byte('['), byte(']')
	if l.tuple {
		open, end = '(', ')'
	}
	out = append(out, open)
	for i, e := range l.Items {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = appendRepr(out, e, w)
	}
	if l.tuple && len(l.Items) == 1 {
		out = append(out, ',')
	}
	return append(out, end)
}

// appendFloat appends repr of a float: the shortest digits that read back as the same double, exponent form below 1e-4
// and from 1e16 on, always distinguishable from an integer.
func appendFloat(out []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(out, "inf"...)
	case math.IsInf(f, -1):
		return append(out, "-inf"...)
	case math.IsNaN(f):
		return append(out, "nan"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(out, f, 'e', -1, 64)
	}
	n := len(out)
	out = strconv.AppendFloat(out, f, 'f', -1, 64)
	for _, c := range out[n:] {
		if c == '.' {
			return out
		}
	}
	return append(out, ".0"...)
}

// appendQuoted appends repr of a string: single quotes, unless the text has single quotes and no double ones.
func appendQuoted(out []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	out = append(out, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r < 0x20 || r == 0x7f:
			out = append(out, '\\', 'x', hexDigits[r>>4], hexDigits[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, quote)
}

const hexDigits = "0123456789abcdef"

// number converts what arithmetic and comparison accept: bool, int64 and float64.
func number(v Value) (i int64, f float64, isFloat, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, false, true
		}
		return 0, 0, false, true
	case int64:
		return v, float64(v), false, true
	case float64:
		return 0, v, true, true
	}
	return 0, 0, false, false
}

// equal is a == b; false where the walk ends before it is known.
func equal(a, b Value) bool { return (&walk{}).equal(a, b) }

func (w *walk) equal(a, b Value) bool {
	defer w.leave()
	if !w.enter() {
		return false
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case Undefined:
		_, ok := b.(Undefined)
		return ok
	case string:
		y, ok := b.(string)
		return ok && x == y
	case Digits:
		y, ok := b.(Digits)
		return ok && x == y
	case *List:
		y, ok := b.(*List)
		return ok && w.equalLists(x, y)
	case *Map:
		y, ok := b.(*Map)
		return ok && w.equalMaps(x, y)
	}
	ai, af, aFloat, aok := number(a)
	bi, bf, bFloat, bok := number(b)
	if !aok || !bok {
		return aok == bok && sameCallable(a, b)
	}
	if aFloat || bFloat {
		return af == bf
	}
	return ai == bi
}

func (w *walk) equalLists(x, y *List) bool {
	if len(x.Items) != len(y.Items) || x.tuple != y.tuple {
		return false
	}
	for i := range x.Items {
		if !w.equal(x.Items[i], y.Items[i]) {
			return false
		}
	}
	return true
}

func (w *walk) equalMaps(x, y *Map) bool {
	if x.Len() != y.Len() {
		return false
	}
	for i, k := range x.keys {
		other, found := y.Get(k)
		if !found || !w.equal(x.vals[i], other) {
			return false
		}
	}
	return true
}

func sameCallable(a, b Value) bool {
	switch a := a.(type) {
	case *macro:
		return a == b
	case *namespace:
		return a == b
	case *loop:
		return a == b
	}
	return false
}
