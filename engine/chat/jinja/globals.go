package jinja

import (
	"errors"
	"fmt"
	"math"
)

// function is a global function.
type function struct {
	call func(r *run, a args) (Value, error)
}

var globals = map[string]*function{
	"namespace":       {namespaceFunction},
	"raise_exception": {raiseFunction},
	"range":           {rangeFunction},
	"dict":            {dictFunction},
}

func namespaceFunction(_ *run, a args) (Value, error) {
	ns := &namespace{NewMap(len(a.names))}
	for _, v := range a.list {
		m, ok := v.(*Map)
		if !ok {
			return nil, fmt.Errorf("TypeError: '%s' object is not a mapping", typeName(v))
		}
		for i := range m.Len() {
			ns.fields.Set(m.At(i))
		}
	}
	for i, name := range a.names {
		ns.fields.Set(name, a.named[i])
	}
	return ns, nil
}

func raiseFunction(_ *run, a args) (Value, error) {
	v, _ := a.get(0, "message")
	return nil, &Error{Message: str(v), Raised: true}
}

func dictFunction(_ *run, a args) (Value, error) {
	m := NewMap(len(a.names))
	if len(a.list) > 0 {
		from, ok := a.list[0].(*Map)
		if !ok {
			return nil, errors.New("dict() takes a dictionary and keywords")
		}
		for i := range from.Len() {
			m.Set(from.At(i))
		}
	}
	for i, name := range a.names {
		m.Set(name, a.named[i])
	}
	return m, nil
}

func rangeFunction(r *run, a args) (Value, error) {
	var n [3]int64
	if len(a.list) == 0 || len(a.list) > 3 {
		return nil, errors.New("TypeError: range expected 1 to 3 arguments")
	}
	for i := range a.list {
		v, err := intArg(a, i, "range", 0)
		if err != nil {
			return nil, err
		}
		n[i] = v
	}
	from, to, step := n[0], n[1], n[2]
	if len(a.list) == 1 {
		from, to = 0, from
	}
	if len(a.list) < 3 {
		step = 1
	}
	if step == 0 {
		return nil, errors.New("ValueError: range() arg 3 must not be zero")
	}
	l := NewList()
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(l.Items) == maxRange {
			return nil, fmt.Errorf("OverflowError: range too big, the limit is %d", maxRange)
		}
		l.Items = append(l.Items, i)
		if step > 0 && i > math.MaxInt64-step || step < 0 && i < math.MinInt64-step {
			break
		}
	}
	return l, r.spend(len(l.Items) * bytesPerStep)
}
