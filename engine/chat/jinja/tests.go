package jinja

import (
	"errors"
	"strings"
)

// test is what follows "is".
type test func(r *run, v Value, a args) (bool, error)

func typeTest(is func(v Value) bool) test {
	return func(_ *run, v Value, _ args) (bool, error) { return is(v), nil }
}

func compareTest(op string) test {
	return func(r *run, v Value, a args) (bool, error) {
		other, ok := a.get(0, "other")
		if !ok {
			return false, errors.New("TypeError: a comparing test needs an argument")
		}
		return r.compare(op, v, other)
	}
}

var tests = map[string]test{
	"defined":   typeTest(func(v Value) bool { return !isUndefined(v) }),
	"undefined": typeTest(isUndefined),
	"none":      typeTest(func(v Value) bool { return v == nil }),
	"true":      typeTest(func(v Value) bool { return v == true }),
	"false":     typeTest(func(v Value) bool { return v == false }),
	"boolean":   typeTest(func(v Value) bool { _, ok := v.(bool); return ok }),
	"string":    typeTest(func(v Value) bool { _, ok := v.(string); return ok }),
	"mapping":   typeTest(func(v Value) bool { _, ok := v.(*Map); return ok }),
	"float":     typeTest(func(v Value) bool { _, ok := v.(float64); return ok }),
	"integer":   typeTest(isInteger),
	"number":    typeTest(isNumber),
	"sequence":  typeTest(isSequence),
	"iterable":  typeTest(func(v Value) bool { return isSequence(v) || isUndefined(v) }),
	"callable":  typeTest(isCallable),
	"lower":     typeTest(func(v Value) bool { return strings.ToLower(str(v)) == str(v) }),
	"upper":     typeTest(func(v Value) bool { return strings.ToUpper(str(v)) == str(v) }),
	"sameas": func(_ *run, v Value, a args) (bool, error) {
		other, _ := a.get(0, "other")
		return typeName(v) == typeName(other) && equal(v, other), nil
	},
	"odd":         remainderTest(func(r *run, v Value) (Value, error) { return r.arithmetic("%", v, int64(2)) }, int64(1)),
	"even":        remainderTest(func(r *run, v Value) (Value, error) { return r.arithmetic("%", v, int64(2)) }, int64(0)),
	"divisibleby": divisibleTest,
	"in":          compareTest("in"),
	"eq":          compareTest("=="),
	"equalto":     compareTest("=="),
	"ne":          compareTest("!="),
	"lt":          compareTest("<"),
	"lessthan":    compareTest("<"),
	"le":          compareTest("<="),
	"gt":          compareTest(">"),
	"greaterthan": compareTest(">"),
	"ge":          compareTest(">="),
}

func testByName(name string) (test, bool) {
	t, ok := tests[name]
	return t, ok
}

func remainderTest(remainder func(*run, Value) (Value, error), want int64) test {
	return func(r *run, v Value, _ args) (bool, error) {
		m, err := remainder(r, v)
		return err == nil && equal(m, want), err
	}
}

func divisibleTest(r *run, v Value, a args) (bool, error) {
	by, _ := a.get(0, "num")
	m, err := r.arithmetic("%", v, by)
	return err == nil && equal(m, int64(0)), err
}

func isUndefined(v Value) bool { _, ok := v.(Undefined); return ok }

func isInteger(v Value) bool {
	switch v.(type) {
	case int64, Digits:
		return true
	}
	return false
}

func isNumber(v Value) bool {
	switch v.(type) {
	case bool, int64, Digits, float64:
		return true
	}
	return false
}

func isSequence(v Value) bool {
	switch v.(type) {
	case string, *List, *Map:
		return true
	}
	return false
}

func isCallable(v Value) bool {
	switch v.(type) {
	case *macro, *bound, *function:
		return true
	}
	return false
}
