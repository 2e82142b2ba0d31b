package chat

import (
	"strings"

	"hearth/engine/chat/jinja"
)

// typeSet is the JSON types that a schema allows.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeNumber
	typeArray
	typeObject
	typeString
)

var typeNames = map[string]typeSet{
	"null": typeNull, "boolean": typeBoolean, "integer": typeInteger, "number": typeNumber,
	"array": typeArray, "object": typeObject, "string": typeString,
}

// parameters is what the scanner needs to know of a tool's parameter schema. The zero value knows no parameter.
type parameters struct {
	root       *jinja.Map
	properties *jinja.Map
}

// parseParameters reads function.parameters. What cannot be read is as if absent: every parameter is then a text.
func parseParameters(schema []byte) parameters {
	var p parameters
	if len(schema) == 0 {
		return p
	}
	v, err := jinja.ParseJSON(schema, maxJSONDepth)
	if err != nil {
		return p
	}
	p.root, _ = v.(*jinja.Map)
	if p.root != nil {
		if props, ok := p.root.Get("properties"); ok {
			p.properties, _ = props.(*jinja.Map)
		}
	}
	return p
}

func (p parameters) has(key string) bool {
	if p.properties == nil {
		return false
	}
	_, ok := p.properties.Get(key)
	return ok
}

// types are the types allowed for a parameter; string for one that is unknown or untyped.
func (p parameters) types(key string) typeSet {
	if p.properties == nil {
		return typeString
	}
	schema, ok := p.properties.Get(key)
	if !ok {
		return typeString
	}
	steps := maxSchemaSteps
	if set := p.typesOf(schema, &steps); set != 0 {
		return set
	}
	return typeString
}

// typesOf is 0 for a schema that does not restrict the type. Everything a schema says holds at once, so the sets of its
// keywords are intersected.
func (p parameters) typesOf(schema jinja.Value, steps *int) typeSet {
	m, ok := schema.(*jinja.Map)
	if *steps--; !ok || *steps < 0 {
		return 0
	}
	set := typeSet(0)
	narrow := func(by typeSet) {
		switch both := meet(set, by); {
		case by == 0:
		case set == 0:
			set = by
		case both != 0:
			set = both
		}
	}
	if v, ok := m.Get("type"); ok {
		narrow(namedTypes(v, steps))
	}
	if v, ok := m.Get("enum"); ok {
		narrow(valueTypes(v, steps))
	}
	if v, ok := m.Get("const"); ok {
		narrow(typeOf(v))
	}
	if v, ok := m.Get("$ref"); ok {
		if target, ok := p.resolve(v, steps); ok {
			narrow(p.typesOf(target, steps))
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if v, ok := m.Get(keyword); ok {
			narrow(p.unionOf(v, steps))
		}
	}
	if v, ok := m.Get("allOf"); ok {
		if list, ok := v.(*jinja.List); ok {
			for _, s := range list.Items {
				if *steps < 0 {
					break
				}
				narrow(p.typesOf(s, steps))
			}
		}
	}
	return set
}

// meet is the intersection; a number's integers are integers.
func meet(a, b typeSet) typeSet {
	both := a & b
	if a&typeNumber != 0 {
		both |= b & typeInteger
	}
	if b&typeNumber != 0 {
		both |= a & typeInteger
	}
	return both
}

// unionOf joins the branches of anyOf or oneOf; an untyped branch allows a text.
func (p parameters) unionOf(v jinja.Value, steps *int) typeSet {
	list, ok := v.(*jinja.List)
	if !ok {
		return 0
	}
	set := typeSet(0)
	for _, s := range list.Items {
		if *steps < 0 {
			break
		}
		if branch := p.typesOf(s, steps); branch != 0 {
			set |= branch
		} else {
			set |= typeString
		}
	}
	return set
}

func namedTypes(v jinja.Value, steps *int) typeSet {
	switch v := v.(type) {
	case string:
		return typeNames[v]
	case *jinja.List:
		set := typeSet(0)
		for _, name := range v.Items {
			if *steps--; *steps < 0 {
				break
			}
			if s, ok := name.(string); ok {
				set |= typeNames[s]
			}
		}
		return set
	}
	return 0
}

func valueTypes(v jinja.Value, steps *int) typeSet {
	list, ok := v.(*jinja.List)
	if !ok {
		return 0
	}
	set := typeSet(0)
	for _, e := range list.Items {
		if *steps--; *steps < 0 {
			break
		}
		set |= typeOf(e)
	}
	return set
}

func typeOf(v jinja.Value) typeSet {
	switch v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case int64, jinja.Digits:
		return typeInteger
	case float64:
		return typeNumber
	case string:
		return typeString
	case *jinja.List:
		return typeArray
	}
	return typeObject
}

// resolve follows a reference into the same schema, such as #/$defs/Mode.
func (p parameters) resolve(ref jinja.Value, steps *int) (jinja.Value, bool) {
	s, ok := ref.(string)
	if !ok {
		return nil, false
	}
	pointer, ok := strings.CutPrefix(s, "#")
	if !ok {
		return nil, false
	}
	var at jinja.Value = p.root
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		if *steps--; *steps < 0 {
			return nil, false
		}
		m, ok := at.(*jinja.Map)
		if !ok {
			return nil, false
		}
		if at, ok = m.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(name)); !ok {
			return nil, false
		}
	}
	return at, true
}
