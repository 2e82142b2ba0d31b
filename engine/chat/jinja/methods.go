package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bound is a method with its object.
type bound struct {
	of   Value
	name string
}

func (b *bound) call(r *run, a args) (Value, error) {
	switch of := b.of.(type) {
	case string:
		if err := r.spend(len(of)); err != nil {
			return nil, err
		}
		return textMethods[b.name](r, of, a)
	case *Map:
		return mapMethods[b.name](r, of, a)
	case *List:
		return listMethods[b.name](r, of, a)
	}
	return nil, fmt.Errorf("'%s' is not callable", b.name)
}

func unsafe[T any](name, kind string) func(*run, T, args) (Value, error) {
	return func(*run, T, args) (Value, error) {
		return nil, &Error{Message: fmt.Sprintf("SecurityError: access to attribute '%s' of '%s' object is unsafe.", name, kind)}
	}
}

var mapMethods = map[string]func(*run, *Map, args) (Value, error){
	"items": func(r *run, m *Map, _ args) (Value, error) { return items(r, m) },
	"keys": func(r *run, m *Map, _ args) (Value, error) {
		keys, err := r.iterate(m)
		return NewList(keys...), err
	},
	"values": func(r *run, m *Map, _ args) (Value, error) {
		return NewList(m.vals[:len(m.vals):len(m.vals)]...), r.spend(m.Len())
	},
	"get": func(_ *run, m *Map, a args) (Value, error) {
		k, ok := a.get(0, "key")
		if !ok {
			return nil, errors.New("TypeError: get expected at least 1 argument, got 0")
		}
		if key, ok := k.(string); ok {
			if v, ok := m.Get(key); ok {
				return v, nil
			}
		}
		v, _ := a.get(1, "default")
		return v, nil
	},
	"update":     unsafe[*Map]("update", "dict"),
	"pop":        unsafe[*Map]("pop", "dict"),
	"popitem":    unsafe[*Map]("popitem", "dict"),
	"clear":      unsafe[*Map]("clear", "dict"),
	"setdefault": unsafe[*Map]("setdefault", "dict"),
}

// items lists a dictionary's entries as pairs.
func items(r *run, m *Map) (Value, error) {
	pairs := make([]Value, m.Len())
	for i := range pairs {
		k, v := m.At(i)
		pairs[i] = &List{Items: []Value{k, v}, tuple: true}
	}
	return NewList(pairs...), r.spend(len(pairs) * bytesPerStep)
}

var listMethods = map[string]func(*run, *List, args) (Value, error){
	"index": func(r *run, l *List, a args) (Value, error) {
		want, _ := a.get(0, "value")
		for i, v := range l.Items {
			if equal(v, want) {
				return int64(i), r.spend(i)
			}
		}
		return nil, errors.New("ValueError: value is not in list")
	},
	"count": func(r *run, l *List, a args) (Value, error) {
		want, _ := a.get(0, "value")
		n := int64(0)
		for _, v := range l.Items {
			if equal(v, want) {
				n++
			}
		}
		return n, r.spend(len(l.Items))
	},
	"append":  unsafe[*List]("append", "list"),
	"extend":  unsafe[*List]("extend", "list"),
	"insert":  unsafe[*List]("insert", "list"),
	"pop":     unsafe[*List]("pop", "list"),
	"remove":  unsafe[*List]("remove", "list"),
	"reverse": unsafe[*List]("reverse", "list"),
	"sort":    unsafe[*List]("sort", "list"),
	"clear":   unsafe[*List]("clear", "list"),
}

type textMethod func(r *run, s string, a args) (Value, error)

var textMethods map[string]textMethod

func init() { // a method may look itself up, which a plain initialisation could not
	textMethods = map[string]textMethod{
		"strip":        stripMethod(true, true),
		"lstrip":       stripMethod(true, false),
		"rstrip":       stripMethod(false, true),
		"split":        splitMethod(false),
		"rsplit":       splitMethod(true),
		"splitlines":   func(_ *run, s string, _ args) (Value, error) { return texts(splitLines(s)), nil },
		"startswith":   affixMethod(strings.HasPrefix),
		"endswith":     affixMethod(strings.HasSuffix),
		"removeprefix": cutMethod(strings.TrimPrefix),
		"removesuffix": cutMethod(strings.TrimSuffix),
		"replace":      replaceMethod,
		"join":         joinMethod,
		"find":         findMethod(strings.Index),
		"rfind":        findMethod(strings.LastIndex),
		"count":        countMethod,
		"partition":    partitionMethod(strings.Index, false),
		"rpartition":   partitionMethod(strings.LastIndex, true),
		"lower":        plainMethod(strings.ToLower),
		"upper":        plainMethod(strings.ToUpper),
		"title":        plainMethod(title),
		"capitalize":   plainMethod(capitalize),
		"casefold":     plainMethod(strings.ToLower),
		"isdigit":      classMethod(unicode.IsDigit),
		"isnumeric":    classMethod(unicode.IsNumber),
		"isalpha":      classMethod(unicode.IsLetter),
		"isspace":      classMethod(isSpace),
		"isalnum":      classMethod(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }),
		"isupper":      caseMethod(unicode.IsUpper, unicode.IsLower),
		"islower":      caseMethod(unicode.IsLower, unicode.IsUpper),
	}
}

func texts(parts []string) *List {
	l := &List{Items: make([]Value, len(parts))}
	for i, s := range parts {
		l.Items[i] = s
	}
	return l
}

func plainMethod(f func(string) string) textMethod {
	return func(_ *run, s string, _ args) (Value, error) { return f(s), nil }
}

func classMethod(is func(rune) bool) textMethod {
	return func(_ *run, s string, _ args) (Value, error) {
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !is(c) }) < 0, nil
	}
}

func caseMethod(want, other func(rune) bool) textMethod {
	return func(_ *run, s string, _ args) (Value, error) {
		return strings.IndexFunc(s, want) >= 0 && strings.IndexFunc(s, other) < 0, nil
	}
}

// textArg is a required or optional string argument; absent and None give fallback.
func textArg(a args, i int, name, fallback string) (string, error) {
	v, ok := a.get(i, name)
	if !ok || v == nil {
		return fallback, nil
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("TypeError: argument '%s' must be str, not %s", name, typeName(v))
	}
	return s, nil
}

// intArg is an optional integer argument.
func intArg(a args, i int, name string, fallback int64) (int64, error) {
	v, ok := a.get(i, name)
	if !ok || v == nil {
		return fallback, nil
	}
	n, _, isFloat, ok := number(v)
	if !ok || isFloat {
		return 0, fmt.Errorf("TypeError: argument '%s' must be int, not %s", name, typeName(v))
	}
	return n, nil
}

func stripMethod(left, right bool) textMethod {
	return func(_ *run, s string, a args) (Value, error) {
		drop := isSpace
		if v, ok := a.get(0, "chars"); ok && v != nil {
			chars, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("TypeError: strip arg must be None or str")
			}
			if len(chars) > maxStripBytes {
				return nil, fmt.Errorf("strip takes at most %d bytes of characters", maxStripBytes)
			}
			drop = func(c rune) bool { return strings.ContainsRune(chars, c) }
		}
		if left {
			s = strings.TrimLeftFunc(s, drop)
		}
		if right {
			s = strings.TrimRightFunc(s, drop)
		}
		return s, nil
	}
}

func splitMethod(fromEnd bool) textMethod {
	return func(r *run, s string, a args) (Value, error) {
		limit, err := intArg(a, 1, "maxsplit", -1)
		if err != nil {
			return nil, err
		}
		sep, ok := a.get(0, "sep")
		if !ok || sep == nil {
			parts := splitSpace(s, limit, fromEnd)
			return texts(parts), r.spend(len(parts) * bytesPerStep)
		}
		text, ok := sep.(string)
		if !ok {
			return nil, fmt.Errorf("TypeError: must be str or None, not %s", typeName(sep))
		}
		if text == "" {
			return nil, errors.New("ValueError: empty separator")
		}
		parts := splitText(s, text, limit, fromEnd)
		return texts(parts), r.spend(len(parts) * bytesPerStep)
	}
}

func splitText(s, sep string, limit int64, fromEnd bool) []string {
	if limit < 0 || limit > int64(len(s)) {
		return strings.Split(s, sep)
	}
	if !fromEnd {
		return strings.SplitN(s, sep, int(limit)+1)
	}
	var tail []string
	for ; limit > 0; limit-- {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		tail = append(tail, s[i+len(sep):])
		s = s[:i]
	}
	parts := []string{s}
	for i := len(tail) - 1; i >= 0; i-- {
		parts = append(parts, tail[i])
	}
	return parts
}

func splitSpace(s string, limit int64, fromEnd bool) []string {
	fields := strings.FieldsFunc(s, isSpace)
	if limit < 0 || int64(len(fields)) <= limit {
		return fields
	}
	n := int(limit)
	if fromEnd {
		rest := strings.TrimRightFunc(s, isSpace)
		for i := len(fields) - 1; i >= len(fields)-n; i-- {
			rest = strings.TrimRightFunc(rest[:len(rest)-len(fields[i])], isSpace)
		}
		return append([]string{strings.TrimLeftFunc(rest, isSpace)}, fields[len(fields)-n:]...)
	}
	rest := strings.TrimLeftFunc(s, isSpace)
	for _, field := range fields[:n] {
		rest = strings.TrimLeftFunc(rest[len(field):], isSpace)
	}
	return append(fields[:n:n], rest)
}

func affixMethod(has func(s, affix string) bool) textMethod {
	return func(_ *run, s string, a args) (Value, error) {
		v, _ := a.get(0, "prefix")
		switch v := v.(type) {
		case string:
			return has(s, v), nil
		case *List:
			for _, item := range v.Items {
				if affix, ok := item.(string); ok && has(s, affix) {
					return true, nil
				}
			}
			return false, nil
		}
		return nil, fmt.Errorf("TypeError: first arg must be str or a tuple of str, not %s", typeName(v))
	}
}

func cutMethod(cut func(s, affix string) string) textMethod {
	return func(_ *run, s string, a args) (Value, error) {
		affix, err := textArg(a, 0, "affix", "")
		return cut(s, affix), err
	}
}

func replaceMethod(r *run, s string, a args) (Value, error) {
	old, err := textArg(a, 0, "old", "")
	if err != nil {
		return nil, err
	}
	with, err := textArg(a, 1, "new", "")
	if err != nil {
		return nil, err
	}
	limit, err := intArg(a, 2, "count", -1)
	if err != nil {
		return nil, err
	}
	n := int64(strings.Count(s, old))
	if limit < 0 || limit > n {
		limit = n
	}
	if err := r.spend(len(s) + int(limit)*len(with)); err != nil {
		return nil, err
	}
	return strings.Replace(s, old, with, int(limit)), nil
}

func joinMethod(r *run, s string, a args) (Value, error) {
	v, _ := a.get(0, "iterable")
	list, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for i, item := range list {
		part, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("TypeError: sequence item %d: expected str instance, %s found", i, typeName(item))
		}
		if i > 0 {
			out.WriteString(s)
		}
		out.WriteString(part)
		if err := r.spend(len(s) + len(part)); err != nil {
			return nil, err
		}
		if out.Len() > maxTextBytes {
			return nil, r.spend(out.Len())
		}
	}
	return out.String(), nil
}

func findMethod(find func(s, sub string) int) textMethod {
	return func(_ *run, s string, a args) (Value, error) {
		sub, err := textArg(a, 0, "sub", "")
		i := find(s, sub)
		if i > 0 {
			i = utf8.RuneCountInString(s[:i])
		}
		return int64(i), err
	}
}

func countMethod(_ *run, s string, a args) (Value, error) {
	sub, err := textArg(a, 0, "sub", "")
	return int64(strings.Count(s, sub)), err
}

func partitionMethod(find func(s, sub string) int, fromEnd bool) textMethod {
	return func(_ *run, s string, a args) (Value, error) {
		sep, err := textArg(a, 0, "sep", "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, errors.New("ValueError: empty separator")
		}
		parts := &List{tuple: true}
		switch i := find(s, sep); {
		case i >= 0:
			parts.Items = []Value{s[:i], sep, s[i+len(sep):]}
		case fromEnd:
			parts.Items = []Value{"", "", s}
		default:
			parts.Items = []Value{s, "", ""}
		}
		return parts, nil
	}
}
