package jinja

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

type expr interface {
	eval(r *run, f *frame) (Value, error)
}

type constExpr struct{ v Value }

func (e *constExpr) eval(*run, *frame) (Value, error) { return e.v, nil }

type nameExpr struct {
	id     symbol
	absent Value // what it is when no scope has it
}

func (e *nameExpr) eval(_ *run, f *frame) (Value, error) {
	if v, ok := f.get(e.id); ok {
		return v, nil
	}
	return e.absent, nil
}

type listExpr struct {
	items []expr
	tuple bool
}

func (e *listExpr) eval(r *run, f *frame) (Value, error) {
	l := &List{Items: make([]Value, len(e.items)), tuple: e.tuple}
	for i, item := range e.items {
		v, err := item.eval(r, f)
		if err != nil {
			return nil, err
		}
		l.Items[i] = v
	}
	return l, r.spend(len(l.Items))
}

type dictExpr struct{ keys, values []expr }

func (e *dictExpr) eval(r *run, f *frame) (Value, error) {
	m := NewMap(len(e.keys))
	for i := range e.keys {
		k, err := e.keys[i].eval(r, f)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("dictionary keys must be strings, not %s", typeName(k))
		}
		v, err := e.values[i].eval(r, f)
		if err != nil {
			return nil, err
		}
		m.Set(key, v)
	}
	return m, r.spend(m.Len())
}

type condExpr struct{ then, cond, otherwise expr }

func (e *condExpr) eval(r *run, f *frame) (Value, error) {
	c, err := e.cond.eval(r, f)
	if err != nil {
		return nil, err
	}
	if truth(c) {
		return e.then.eval(r, f)
	}
	if e.otherwise == nil {
		return undefined("the inline if-expression evaluated to false and no else section was defined."), nil
	}
	return e.otherwise.eval(r, f)
}

type orExpr struct{ left, right expr }

func (e *orExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.left.eval(r, f)
	if err != nil || truth(v) {
		return v, err
	}
	return e.right.eval(r, f)
}

type andExpr struct{ left, right expr }

func (e *andExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.left.eval(r, f)
	if err != nil || !truth(v) {
		return v, err
	}
	return e.right.eval(r, f)
}

type notExpr struct{ e expr }

func (e *notExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.e.eval(r, f)
	return !truth(v), err
}

type compareExpr struct {
	first expr
	ops   []string
	rest  []expr
}

func (e *compareExpr) eval(r *run, f *frame) (Value, error) {
	left, err := e.first.eval(r, f)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		right, err := e.rest[i].eval(r, f)
		if err != nil {
			return nil, err
		}
		ok, err := r.compare(op, left, right)
		if err != nil || !ok {
			return false, err
		}
		left = right
	}
	return true, nil
}

// payComparison spends what it takes to compare two values: a loop may do it to long ones over and over.
func (r *run) payComparison(a, b Value) error {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return r.spend(min(len(x), len(y)))
		}
	case *List, *Map:
		nodes := 0
		countNodes(a, 0, &nodes)
		return r.spend(nodes * bytesPerStep)
	}
	return nil
}

// countNodes adds the values in v, as far as a comparison would walk.
func countNodes(v Value, depth int, n *int) {
	if *n++; depth > maxValueDepth || *n > maxValueNodes {
		return
	}
	var inside []Value
	switch v := v.(type) {
	case *List:
		inside = v.Items
	case *Map:
		inside = v.vals
	}
	for _, e := range inside {
		if *n > maxValueNodes {
			return
		}
		countNodes(e, depth+1, n)
	}
}

func (r *run) compare(op string, a, b Value) (bool, error) {
	if err := r.payComparison(a, b); err != nil {
		return false, err
	}
	switch op {
	case "==":
		return equal(a, b), nil
	case "!=":
		return !equal(a, b), nil
	case "in":
		return r.contains(b, a)
	case "not in":
		in, err := r.contains(b, a)
		return !in, err
	}
	c, err := order(a, b)
	switch op {
	case "<":
		return c < 0, err
	case "<=":
		return c <= 0, err
	case ">":
		return c > 0, err
	}
	return c >= 0, err
}

// order compares two numbers or two strings.
func order(a, b Value) (int, error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	}
	ai, af, aFloat, aok := number(a)
	bi, bf, bFloat, bok := number(b)
	switch {
	case !aok || !bok:
		return 0, fmt.Errorf("TypeError: '<' not supported between instances of '%s' and '%s'", typeName(a), typeName(b))
	case !aFloat && !bFloat:
		return cmpInt(ai, bi), nil
	case af < bf:
		return -1, nil
	case af > bf:
		return 1, nil
	}
	return 0, nil
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// contains is item in container.
func (r *run) contains(container, item Value) (bool, error) {
	switch c := container.(type) {
	case string:
		s, ok := item.(string)
		if !ok {
			return false, fmt.Errorf("TypeError: 'in <string>' requires string as left operand, not %s", typeName(item))
		}
		return strings.Contains(c, s), r.spend(len(c))
	case *Map:
		key, ok := item.(string)
		if !ok {
			return false, nil
		}
		_, found := c.Get(key)
		return found, nil
	case *List:
		for _, v := range c.Items {
			if equal(v, item) {
				return true, nil
			}
		}
		return false, r.spend(len(c.Items))
	case Undefined:
		return false, nil
	}
	return false, fmt.Errorf("TypeError: argument of type '%s' is not iterable", typeName(container))
}

// iterate returns the items that a for loop over v sees.
func (r *run) iterate(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *List:
		return v.Items, nil
	case *Map:
		items := make([]Value, v.Len())
		for i, k := range v.keys {
			items[i] = k
		}
		return items, r.spend(len(items))
	case string:
		var items []Value
		for _, c := range v {
			items = append(items, string(c))
		}
		return items, r.spend(len(v) * bytesPerStep)
	case Undefined:
		return nil, nil
	}
	return nil, fmt.Errorf("TypeError: '%s' object is not iterable", typeName(v))
}

type binaryExpr struct {
	op          string
	left, right expr
}

func (e *binaryExpr) eval(r *run, f *frame) (Value, error) {
	a, err := e.left.eval(r, f)
	if err != nil {
		return nil, err
	}
	if e.op == "~" {
		return e.concat(r, f, a)
	}
	b, err := e.right.eval(r, f)
	if err != nil {
		return nil, err
	}
	return r.arithmetic(e.op, a, b)
}

func (e *binaryExpr) concat(r *run, f *frame, a Value) (Value, error) {
	b, err := e.right.eval(r, f)
	if err != nil {
		return nil, err
	}
	x, y := str(a), str(b)
	if err := r.spend(len(x) + len(y)); err != nil {
		return nil, err
	}
	return x + y, nil
}

func (r *run) arithmetic(op string, a, b Value) (Value, error) {
	if u, ok := a.(Undefined); ok {
		return nil, errors.New(u.reason())
	}
	if u, ok := b.(Undefined); ok {
		return nil, errors.New(u.reason())
	}
	switch x := a.(type) {
	case string:
		return r.textArithmetic(op, x, b)
	case *List:
		if y, ok := b.(*List); ok && op == "+" && x.tuple == y.tuple {
			items := append(append([]Value(nil), x.Items...), y.Items...)
			return &List{Items: items, tuple: x.tuple}, r.spend(len(items) * bytesPerStep)
		}
		return nil, unsupported(op, a, b)
	}
	ai, af, aFloat, aok := number(a)
	bi, bf, bFloat, bok := number(b)
	if !aok || !bok {
		return nil, unsupported(op, a, b)
	}
	if aFloat || bFloat || op == "/" {
		return floatArithmetic(op, af, bf)
	}
	return intArithmetic(op, ai, bi)
}

func unsupported(op string, a, b Value) error {
	return fmt.Errorf("TypeError: unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
}

func (r *run) textArithmetic(op, x string, b Value) (Value, error) {
	switch y := b.(type) {
	case string:
		if op == "+" {
			if err := r.spend(len(x) + len(y)); err != nil {
				return nil, err
			}
			return x + y, nil
		}
	case int64:
		if op == "*" {
			if y <= 0 || x == "" {
				return "", nil
			}
			if y > maxTextBytes {
				y = maxTextBytes + 1
			}
			if err := r.spend(len(x) * int(y)); err != nil {
				return nil, err
			}
			return strings.Repeat(x, int(y)), nil
		}
	default:
		if op == "+" {
			return nil, fmt.Errorf("TypeError: can only concatenate str (not \"%s\") to str", typeName(b))
		}
	}
	return nil, unsupported(op, x, b)
}

func floatArithmetic(op string, x, y float64) (Value, error) {
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "**":
		return math.Pow(x, y), nil
	}
	if y == 0 {
		return nil, errors.New("ZeroDivisionError: division by zero")
	}
	switch op {
	case "/":
		return x / y, nil
	case "//":
		return math.Floor(x / y), nil
	}
	m := math.Mod(x, y)
	if m != 0 && (m < 0) != (y < 0) {
		m += y
	}
	return m, nil
}

func intArithmetic(op string, x, y int64) (Value, error) {
	switch op {
	case "+":
		return checked(x+y, (x+y > x) == (y > 0))
	case "-":
		return checked(x-y, (x-y < x) == (y > 0))
	case "*":
		return checked(x*y, x == 0 || x*y/x == y && !(x == -1 && y == math.MinInt64))
	case "**":
		return power(x, y)
	}
	if y == 0 {
		return nil, errors.New("ZeroDivisionError: integer division or modulo by zero")
	}
	if y == -1 {
		if op == "%" {
			return int64(0), nil
		}
		return checked(-x, x != math.MinInt64)
	}
	q, m := x/y, x%y
	if m != 0 && (m < 0) != (y < 0) {
		q, m = q-1, m+y
	}
	if op == "//" {
		return q, nil
	}
	return m, nil
}

func checked(v int64, ok bool) (Value, error) {
	if !ok {
		return nil, errors.New("integer arithmetic beyond 64 bits is not supported")
	}
	return v, nil
}

func power(x, y int64) (Value, error) {
	if y < 0 {
		return math.Pow(float64(x), float64(y)), nil
	}
	var v Value = int64(1)
	for range min(y, 64) {
		next, err := intArithmetic("*", v.(int64), x)
		if err != nil {
			return nil, err
		}
		v = next
	}
	if y > 64 && x != 0 && x != 1 && x != -1 {
		return checked(0, false)
	}
	if y > 64 && x == -1 && y%2 != 0 {
		return int64(-1), nil
	}
	return v, nil
}

type signExpr struct {
	negative bool
	e        expr
}

func (e *signExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.e.eval(r, f)
	if err != nil {
		return nil, err
	}
	i, x, isFloat, ok := number(v)
	switch {
	case !ok:
		return nil, fmt.Errorf("TypeError: bad operand type for unary sign: '%s'", typeName(v))
	case isFloat && e.negative:
		return -x, nil
	case isFloat:
		return x, nil
	case e.negative:
		return checked(-i, i != math.MinInt64)
	}
	return i, nil
}

type attrExpr struct {
	of   expr
	name string
}

func (e *attrExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.of.eval(r, f)
	if err != nil {
		return nil, err
	}
	return attribute(v, e.name)
}

// attribute is v.name: a method, else an item under that key.
func attribute(v Value, name string) (Value, error) {
	switch v := v.(type) {
	case *Map:
		if mapMethods[name] != nil {
			return &bound{v, name}, nil
		}
		if item, ok := v.Get(name); ok {
			return item, nil
		}
	case *namespace:
		if item, ok := v.fields.Get(name); ok {
			return item, nil
		}
	case *loop:
		if item, ok := v.attr(name); ok {
			return item, nil
		}
	case string:
		if textMethods[name] != nil {
			return &bound{v, name}, nil
		}
	case *List:
		if listMethods[name] != nil {
			return &bound{v, name}, nil
		}
	case Undefined:
		return nil, errors.New(v.reason())
	}
	return missing(v, name), nil
}

func missing(v Value, name string) Undefined {
	switch v.(type) {
	case nil:
		return Undefined{of: "None", name: name}
	case *Map: // the common case, without making a text of it
		return Undefined{of: "dict object", name: name}
	}
	return Undefined{of: typeName(v) + " object", name: name}
}

type itemExpr struct{ of, key expr }

func (e *itemExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.of.eval(r, f)
	if err != nil {
		return nil, err
	}
	k, err := e.key.eval(r, f)
	if err != nil {
		return nil, err
	}
	return r.item(v, k)
}

// item is v[key]: an item, else an attribute of that name.
func (r *run) item(v, key Value) (Value, error) {
	if i, ok := key.(int64); ok {
		switch v := v.(type) {
		case *List:
			n := int64(len(v.Items))
			if i < 0 {
				i += n
			}
			if i >= 0 && i < n {
				return v.Items[i], nil
			}
			return undefined(fmt.Sprintf("'%s object' has no element %d", typeName(v), i)), nil
		case string:
			c, ok := index(v, i)
			if !ok {
				return undefined(fmt.Sprintf("'str object' has no element %d", i)), nil
			}
			return c, r.spend(int(min(max(i, -i), int64(len(v)))))
		}
	}
	if u, ok := v.(Undefined); ok {
		return nil, errors.New(u.reason())
	}
	name, ok := key.(string)
	if !ok {
		return undefined(fmt.Sprintf("'%s object' has no element %s", typeName(v), str(key))), nil
	}
	if m, ok := v.(*Map); ok {
		if item, ok := m.Get(name); ok {
			return item, nil
		}
	}
	return attribute(v, name)
}

type sliceExpr struct{ of, lo, hi, step expr }

func (e *sliceExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.of.eval(r, f)
	if err != nil {
		return nil, err
	}
	var parts [3]*int64
	for i, part := range []expr{e.lo, e.hi, e.step} {
		if part == nil {
			continue
		}
		p, err := part.eval(r, f)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		n, _, isFloat, ok := number(p)
		if !ok || isFloat {
			return nil, errors.New("TypeError: slice indices must be integers or None or have an __index__ method")
		}
		n = min(max(n, -maxTextBytes), maxTextBytes)
		parts[i] = &n
	}
	step := int64(1)
	if parts[2] != nil {
		step = *parts[2]
	}
	if step == 0 {
		return nil, errors.New("ValueError: slice step cannot be zero")
	}
	switch v := v.(type) {
	case string:
		return sliceText(v, parts[0], parts[1], step), r.spend(len(v))
	case *List:
		return sliceList(v, parts[0], parts[1], step), r.spend(len(v.Items))
	case Undefined:
		return nil, errors.New(v.reason())
	}
	return nil, fmt.Errorf("TypeError: '%s' object is not subscriptable", typeName(v))
}

func sliceList(l *List, lo, hi *int64, step int64) *List {
	from, to := bounds(int64(len(l.Items)), lo, hi, step)
	if step == 1 {
		return &List{Items: l.Items[from:max(from, to):max(from, to)], tuple: l.tuple}
	}
	out := &List{tuple: l.tuple}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out.Items = append(out.Items, l.Items[i])
	}
	return out
}

// args are evaluated call arguments.
type args struct {
	list  []Value
	names []string
	named []Value
}

// get returns the argument at a position or of a name.
func (a args) get(i int, name string) (Value, bool) {
	if i >= 0 && i < len(a.list) {
		return a.list[i], true
	}
	for j, n := range a.names {
		if n == name {
			return a.named[j], true
		}
	}
	return nil, false
}

type argExprs struct {
	list  []expr
	names []string
	named []expr
}

func (a *argExprs) eval(r *run, f *frame) (out args, err error) {
	if len(a.list) > 0 {
		out.list = make([]Value, len(a.list))
	}
	for i, e := range a.list {
		if out.list[i], err = e.eval(r, f); err != nil {
			return out, err
		}
	}
	out.names = a.names[:len(a.names):len(a.names)]
	for _, e := range a.named {
		v, err := e.eval(r, f)
		if err != nil {
			return out, err
		}
		out.named = append(out.named, v)
	}
	return out, nil
}

type callExpr struct {
	callee expr
	args   argExprs
}

func (e *callExpr) eval(r *run, f *frame) (Value, error) {
	if m, ok := e.callee.(*attrExpr); ok {
		return e.method(r, f, m)
	}
	callee, err := e.callee.eval(r, f)
	if err != nil {
		return nil, err
	}
	return e.call(r, f, callee)
}

func (e *callExpr) method(r *run, f *frame, m *attrExpr) (Value, error) {
	object, err := m.of.eval(r, f)
	if err != nil {
		return nil, err
	}
	if lp, ok := object.(*loop); ok {
		a, err := e.args.eval(r, f)
		if err != nil {
			return nil, err
		}
		if v, ok, err := lp.method(m.name, a); ok {
			return v, err
		}
	}
	callee, err := attribute(object, m.name)
	if err != nil {
		return nil, err
	}
	return e.call(r, f, callee)
}

func (e *callExpr) call(r *run, f *frame, callee Value) (Value, error) {
	a, err := e.args.eval(r, f)
	if err != nil {
		return nil, err
	}
	switch c := callee.(type) {
	case *macro:
		return c.call(r, a)
	case *bound:
		return c.call(r, a)
	case *function:
		return c.call(r, a)
	case Undefined:
		return nil, errors.New(c.reason())
	}
	return nil, fmt.Errorf("TypeError: '%s' object is not callable", typeName(callee))
}

type filterExpr struct {
	of    expr
	args  argExprs
	apply filter
}

func (e *filterExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.of.eval(r, f)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(r, f)
	if err != nil {
		return nil, err
	}
	return e.apply(r, v, a)
}

type testExpr struct {
	of      expr
	args    argExprs
	check   test
	negated bool
}

func (e *testExpr) eval(r *run, f *frame) (Value, error) {
	v, err := e.of.eval(r, f)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(r, f)
	if err != nil {
		return nil, err
	}
	ok, err := e.check(r, v, a)
	return ok != e.negated, err
}
