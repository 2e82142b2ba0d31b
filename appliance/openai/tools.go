package openai

import (
	"slices"

	"hearth/engine/chat"
)

// tools decodes the declared tools. An empty list is as good as none.
func tools(n *node) ([]chat.Tool, error) {
	var list []chat.Tool
	err := n.elements(maxTools, func(n *node) error {
		tool := chat.Tool{Raw: n.raw}
		var function *node
		err := n.members(func(name string, n *node) error {
			switch name {
			case "type":
				kind, err := n.text()
				if err == nil && kind != "function" {
					err = Unsupported(n.path(), "the tool type "+clip(kind))
				}
				return err
			case "function":
				function = n
			}
			return nil
		})
		if err != nil {
			return err
		}
		if function == nil {
			return Invalidf(n.path()+".function", "%s.function is missing", n.path())
		}
		tool.Name, tool.Schema, err = function.declaration()
		list = append(list, tool)
		return err
	})
	return list, err
}

// functions decodes the old spelling of tools: the function objects alone.
func functions(n *node) ([]chat.Tool, error) {
	var list []chat.Tool
	err := n.elements(maxTools, func(n *node) error {
		name, schema, err := n.declaration()
		raw := slices.Concat([]byte(`{"type": "function", "function": `), n.raw, []byte("}"))
		list = append(list, chat.Tool{Name: name, Raw: raw, Schema: schema})
		return err
	})
	return list, err
}

// declaration reads name and parameters of a function object.
func (n *node) declaration() (name string, schema []byte, err error) {
	err = n.members(func(field string, n *node) (err error) {
		switch field {
		case "name":
			name, err = n.name()
		case "description":
			_, err = n.text()
		case "parameters":
			if n.kind() != "an object" {
				return n.wrong("an object")
			}
			if depth(n.raw) > maxSchemaDepth {
				return n.invalidf("nests deeper than %d levels", maxSchemaDepth)
			}
			schema = n.raw
		}
		return err
	})
	if err == nil && name == "" {
		err = Invalidf(n.path()+".name", "%s.name is missing", n.path())
	}
	return name, schema, err
}

// toolChoice applies tool_choice and parallel_tool_calls. Without tools neither means anything.
func (d *chatDecoder) toolChoice() error {
	if d.choice == nil || len(d.out.Tools) == 0 {
		return d.serialCalls()
	}
	switch d.choice.kind() {
	case "an object":
		return Unsupported(d.choice.path(), "choosing a tool by name")
	case "a string":
	default:
		return d.choice.wrong("a string or an object")
	}
	switch choice := unquote(d.choice.raw); choice {
	case "auto":
	case "none":
		d.out.ToolsOff = true
		return nil
	case "required":
		return Unsupported(d.choice.path(), `the choice "required"`)
	default:
		return d.choice.invalidf("must be auto or none")
	}
	return d.serialCalls()
}

func (d *chatDecoder) serialCalls() error {
	if d.serial != nil && len(d.out.Tools) > 0 {
		return Unsupported("parallel_tool_calls", "parallel_tool_calls false")
	}
	return nil
}
