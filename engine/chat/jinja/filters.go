package jinja

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// filter is what follows a bar.
type filter func(r *run, v Value, a args) (Value, error)

var filters map[string]filter

func init() { // map and select look filters up by name, so the table cannot be a plain initialisation
	filters = map[string]filter{
		"trim":       method("strip"),
		"replace":    method("replace"),
		"lower":      method("lower"),
		"upper":      method("upper"),
		"title":      method("title"),
		"capitalize": method("capitalize"),
		"string":     func(_ *run, v Value, _ args) (Value, error) { return str(v), nil },
		"safe":       func(_ *run, v Value, _ args) (Value, error) { return str(v), nil },
		"escape":     escapeFilter,
		"e":          escapeFilter,
		"indent":     indentFilter,
		"tojson":     tojsonFilter,
		"items":      itemsFilter,
		"dictsort":   dictsortFilter,
		"length":     lengthFilter,
		"count":      lengthFilter,
		"list":       listFilter,
		"first":      endFilter(false),
		"last":       endFilter(true),
		"reverse":    reverseFilter,
		"join":       joinFilter,
		"sort":       sortFilter,
		"unique":     uniqueFilter,
		"min":        extremeFilter(-1),
		"max":        extremeFilter(1),
		"sum":        sumFilter,
		"map":        mapFilter,
		"select":     pickFilter(true, false),
		"reject":     pickFilter(false, false),
		"selectattr": pickFilter(true, true),
		"rejectattr": pickFilter(false, true),
		"default":    defaultFilter,
		"d":          defaultFilter,
		"int":        intFilter,
		"float":      floatFilter,
		"abs":        absFilter,
		"round":      roundFilter,
		"attr": func(_ *run, v Value, a args) (Value, error) {
			name, err := textArg(a, 0, "name", "")
			if err != nil {
				return nil, err
			}
			return attribute(v, name)
		},
	}
}

func filterByName(name string) (filter, bool) {
	f, ok := filters[name]
	return f, ok
}

// method is a filter that is a string method on str(v).
func method(name string) filter {
	return func(r *run, v Value, a args) (Value, error) {
		s := str(v)
		if err := r.spend(len(s)); err != nil {
			return nil, err
		}
		return textMethods[name](r, s, a)
	}
}

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

func escapeFilter(r *run, v Value, _ args) (Value, error) {
	s := htmlEscapes.Replace(str(v))
	return s, r.spend(len(s))
}

func indentFilter(r *run, v Value, a args) (Value, error) {
	prefix := "    "
	if w, ok := a.get(0, "width"); ok {
		if text, ok := w.(string); ok {
			prefix = text
		} else {
			n, err := intArg(a, 0, "width", 4)
			if err != nil || n < 0 || n > 1000 {
				return nil, errors.New("indent: width must be a small number or a text")
			}
			prefix = strings.Repeat(" ", int(n))
		}
	}
	first, _ := a.get(1, "first")
	blank, _ := a.get(2, "blank")
	lines := strings.Split(str(v), "\n")
	for i, line := range lines {
		if (i > 0 || truth(first)) && (line != "" || truth(blank)) {
			lines[i] = prefix + line
		}
		if err := r.spend(len(line) + len(prefix)); err != nil {
			return nil, err
		}
	}
	s := strings.Join(lines, "\n")
	return s, r.spend(len(s))
}

func tojsonFilter(r *run, v Value, a args) (Value, error) {
	style := plainJSON
	if len(a.list)+len(a.names) > 0 {
		var err error
		if style, err = jsonStyleOf(a); err != nil {
			return nil, err
		}
	}
	out, err := style.dump(nil, v)
	if err != nil {
		return nil, err
	}
	return string(out), r.spend(len(out))
}

// jsonStyleOf reads tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False).
func jsonStyleOf(a args) (jsonStyle, error) {
	s := plainJSON
	ascii, _ := a.get(0, "ensure_ascii")
	sorted, _ := a.get(3, "sort_keys")
	s.ascii, s.sorted = truth(ascii), truth(sorted)
	if v, ok := a.get(1, "indent"); ok && v != nil {
		s.lines, s.item = true, ","
		if text, ok := v.(string); ok {
			s.indent = text
		} else {
			n, err := intArg(a, 1, "indent", 0)
			if err != nil || n > 1000 {
				return s, errors.New("tojson: indent must be a small number or a text")
			}
			s.indent = strings.Repeat(" ", int(max(n, 0)))
		}
	}
	if v, ok := a.get(2, "separators"); ok && v != nil {
		l, ok := v.(*List)
		if !ok || len(l.Items) != 2 {
			return s, errors.New("tojson: separators must be a pair")
		}
		s.item, s.key = str(l.Items[0]), str(l.Items[1])
	}
	return s, nil
}

func itemsFilter(r *run, v Value, _ args) (Value, error) {
	switch v := v.(type) {
	case *Map:
		return items(r, v)
	case Undefined:
		return NewList(), nil
	}
	return nil, &Error{Message: "TypeError: Can only get item pairs from a mapping."}
}

func sortedByKey(m *Map) *Map {
	keys := slices.Clone(m.keys)
	sort.Strings(keys)
	out := NewMap(len(keys))
	for _, k := range keys {
		v, _ := m.Get(k)
		out.Set(k, v)
	}
	return out
}

func dictsortFilter(r *run, v Value, a args) (Value, error) {
	m, ok := v.(*Map)
	if !ok {
		return nil, fmt.Errorf("TypeError: dictsort needs a mapping, not %s", typeName(v))
	}
	sensitive, _ := a.get(0, "case_sensitive")
	keys := slices.Clone(m.keys)
	sort.SliceStable(keys, func(i, j int) bool {
		if truth(sensitive) {
			return keys[i] < keys[j]
		}
		return strings.ToLower(keys[i]) < strings.ToLower(keys[j])
	})
	out := NewMap(len(keys))
	for _, k := range keys {
		e, _ := m.Get(k)
		out.Set(k, e)
	}
	return items(r, out)
}

func lengthFilter(r *run, v Value, _ args) (Value, error) {
	switch v := v.(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), r.spend(len(v))
	case *List:
		return int64(len(v.Items)), nil
	case *Map:
		return int64(v.Len()), nil
	case Undefined:
		return int64(0), nil
	}
	return nil, fmt.Errorf("TypeError: object of type '%s' has no len()", typeName(v))
}

func listFilter(r *run, v Value, _ args) (Value, error) {
	list, err := r.iterate(v)
	return NewList(slices.Clone(list)...), err
}

func endFilter(last bool) filter {
	return func(r *run, v Value, _ args) (Value, error) {
		list, err := r.iterate(v)
		switch {
		case err != nil:
			return nil, err
		case len(list) == 0:
			return undefined("No first or last item, sequence was empty."), nil
		case last:
			return list[len(list)-1], nil
		}
		return list[0], nil
	}
}

func reverseFilter(r *run, v Value, _ args) (Value, error) {
	if s, ok := v.(string); ok {
		return sliceText(s, nil, nil, -1), r.spend(len(s))
	}
	list, err := r.iterate(v)
	list = slices.Clone(list)
	slices.Reverse(list)
	return NewList(list...), err
}

func joinFilter(r *run, v Value, a args) (Value, error) {
	list, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	sep, err := textArg(a, 0, "d", "")
	if err != nil {
		return nil, err
	}
	by, err := textArg(a, 1, "attribute", "")
	if err != nil {
		return nil, err
	}
	parts := make([]Value, len(list))
	for i, item := range list {
		if by != "" {
			if item, err = path(item, by); err != nil {
				return nil, err
			}
		}
		parts[i] = str(item)
	}
	return joinMethod(r, sep, args{list: []Value{NewList(parts...)}})
}

// path follows a dotted attribute.
func path(v Value, dotted string) (Value, error) {
	for name := range strings.SplitSeq(dotted, ".") {
		var err error
		if v, err = attribute(v, name); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// keyed evaluates the sort key of each item: an attribute, letters without case unless asked.
func keyed(r *run, v Value, a args, at int) (list, keys []Value, err error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, nil, err
	}
	sensitive, _ := a.get(at, "case_sensitive")
	by, err := textArg(a, at+1, "attribute", "")
	if err != nil {
		return nil, nil, err
	}
	list, keys = slices.Clone(items), make([]Value, len(items))
	for i, item := range list {
		if by != "" {
			if item, err = path(item, by); err != nil {
				return nil, nil, err
			}
		}
		if s, ok := item.(string); ok && !truth(sensitive) {
			item = strings.ToLower(s)
		}
		keys[i] = item
	}
	return list, keys, r.spend(len(list) * bytesPerStep)
}

func sortFilter(r *run, v Value, a args) (Value, error) {
	list, keys, err := keyed(r, v, a, 1)
	if err != nil {
		return nil, err
	}
	reverse, _ := a.get(0, "reverse")
	at := make([]int, len(list))
	for i := range at {
		at[i] = i
	}
	sort.SliceStable(at, func(i, j int) bool {
		c, bad := order(keys[at[i]], keys[at[j]])
		if bad != nil {
			err = bad
		}
		if truth(reverse) {
			return c > 0
		}
		return c < 0
	})
	out := NewList()
	for _, i := range at {
		out.Items = append(out.Items, list[i])
	}
	return out, err
}

func uniqueFilter(r *run, v Value, a args) (Value, error) {
	list, keys, err := keyed(r, v, a, 0)
	if err != nil {
		return nil, err
	}
	out := NewList()
	var seen []Value
	for i, k := range keys {
		if slices.ContainsFunc(seen, func(s Value) bool { return equal(s, k) }) {
			continue
		}
		seen = append(seen, k)
		out.Items = append(out.Items, list[i])
		if err := r.spend(len(seen) * bytesPerStep); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func extremeFilter(sign int) filter {
	return func(r *run, v Value, a args) (Value, error) {
		list, keys, err := keyed(r, v, a, 0)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return undefined("No aggregated item, sequence was empty."), nil
		}
		best := 0
		for i := range keys {
			c, err := order(keys[i], keys[best])
			if err != nil {
				return nil, err
			}
			if c == sign {
				best = i
			}
		}
		return list[best], nil
	}
}

func sumFilter(r *run, v Value, a args) (Value, error) {
	list, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	by, err := textArg(a, 0, "attribute", "")
	if err != nil {
		return nil, err
	}
	var total Value = int64(0)
	if start, ok := a.get(1, "start"); ok {
		total = start
	}
	for _, item := range list {
		if by != "" {
			if item, err = path(item, by); err != nil {
				return nil, err
			}
		}
		if total, err = r.arithmetic("+", total, item); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func mapFilter(r *run, v Value, a args) (Value, error) {
	list, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	by, err := textArg(a, -1, "attribute", "")
	if err != nil {
		return nil, err
	}
	fallback, hasFallback := a.get(-1, "default")
	var apply filter
	if by == "" {
		name, err := textArg(a, 0, "filter", "")
		if err != nil {
			return nil, err
		}
		ok := false
		if apply, ok = filterByName(name); !ok {
			return nil, &Error{Message: "No filter named '" + name + "'."}
		}
		a.list = a.list[1:]
	}
	out := NewList()
	for _, item := range list {
		var got Value
		if apply != nil {
			got, err = apply(r, item, a)
		} else if got, err = path(item, by); isUndefined(got) && hasFallback {
			got = fallback
		}
		if err == nil {
			err = r.spend(bytesPerStep)
		}
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, got)
	}
	return out, nil
}

// pickFilter is select, reject and their attribute forms.
func pickFilter(keep, byAttribute bool) filter {
	return func(r *run, v Value, a args) (Value, error) {
		list, err := r.iterate(v)
		if err != nil {
			return nil, err
		}
		by := ""
		if byAttribute {
			if by, err = textArg(a, 0, "attribute", ""); err != nil {
				return nil, err
			}
			a.list = a.list[min(1, len(a.list)):]
		}
		check := typeTest(truth)
		if len(a.list) > 0 {
			name := str(a.list[0])
			ok := false
			if check, ok = testByName(name); !ok {
				return nil, &Error{Message: "No test named '" + name + "'."}
			}
			a.list = a.list[1:]
		}
		out := NewList()
		for _, item := range list {
			subject := item
			if by != "" {
				if subject, err = path(item, by); err != nil {
					return nil, err
				}
			}
			ok, err := check(r, subject, a)
			if err == nil {
				err = r.spend(bytesPerStep)
			}
			if err != nil {
				return nil, err
			}
			if ok == keep {
				out.Items = append(out.Items, item)
			}
		}
		return out, nil
	}
}

func defaultFilter(_ *run, v Value, a args) (Value, error) {
	falsy, _ := a.get(1, "boolean")
	if !isUndefined(v) && (!truth(falsy) || truth(v)) {
		return v, nil
	}
	if d, ok := a.get(0, "default_value"); ok {
		return d, nil
	}
	return "", nil
}

func intFilter(_ *run, v Value, a args) (Value, error) {
	fallback, err := intArg(a, 0, "default", 0)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case Digits:
		return x, nil
	case string:
		if i, err := strconv.ParseInt(Strip(x), 10, 64); err == nil {
			return i, nil
		}
		f, err := strconv.ParseFloat(Strip(x), 64)
		if err != nil {
			return fallback, nil
		}
		v = f
	}
	i, f, isFloat, ok := number(v)
	switch {
	case !ok || isFloat && !(math.Abs(f) < 1<<63):
		return fallback, nil
	case isFloat:
		return int64(f), nil
	}
	return i, nil
}

func floatFilter(_ *run, v Value, a args) (Value, error) {
	if s, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(Strip(s), 64); err == nil {
			return f, nil
		}
	} else if _, f, _, ok := number(v); ok {
		return f, nil
	}
	if d, ok := a.get(0, "default"); ok {
		return d, nil
	}
	return 0.0, nil
}

func absFilter(r *run, v Value, _ args) (Value, error) {
	i, f, isFloat, ok := number(v)
	switch {
	case !ok:
		return nil, fmt.Errorf("TypeError: bad operand type for abs(): '%s'", typeName(v))
	case isFloat:
		return math.Abs(f), nil
	case i < 0:
		return checked(-i, i != math.MinInt64)
	}
	return i, nil
}

func roundFilter(_ *run, v Value, a args) (Value, error) {
	_, f, _, ok := number(v)
	if !ok {
		return nil, fmt.Errorf("TypeError: type %s doesn't define __round__ method", typeName(v))
	}
	precision, err := intArg(a, 0, "precision", 0)
	if err != nil {
		return nil, err
	}
	how, err := textArg(a, 1, "method", "common")
	if err != nil {
		return nil, err
	}
	scale := math.Pow(10, float64(precision))
	switch how {
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	}
	return math.RoundToEven(f*scale) / scale, nil
}
