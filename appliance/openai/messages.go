package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"hearth/engine/chat"
)

// messages decodes the conversation. Order and rendering are the engine's business; here only types are checked.
func (d *chatDecoder) messages(n *node) ([]chat.Message, error) {
	var list []chat.Message
	err := n.elements(maxMessages, func(n *node) error {
		m, err := d.message(n)
		list = append(list, m)
		return err
	})
	return list, err
}

func (d *chatDecoder) message(n *node) (chat.Message, error) {
	var m chat.Message
	err := n.members(func(name string, n *node) (err error) {
		switch name {
		case "role":
			m.Role, err = role(n)
		case "content":
			m.Parts, err = content(n)
		case "reasoning_content", "reasoning", "thinking":
			var s string
			s, err = n.text()
			if m.Reasoning == nil || name == "reasoning_content" {
				m.Reasoning = &s
			}
		case "tool_calls":
			m.ToolCalls, err = toolCalls(n)
		case "function_call":
			var call chat.ToolCall
			call, err = n.functionCall()
			m.ToolCalls = append(m.ToolCalls, call)
		case "tool_call_id":
			m.ToolCallID, err = n.text()
		case "name":
			m.Name, err = n.text()
		case "refusal", "annotations", "audio": // parts of an answer that clients echo
		default:
			d.unknown("messages[]." + clip(name))
		}
		return err
	})
	if err != nil {
		return m, err
	}
	if m.Role == "" {
		return m, Invalidf(n.path()+".role", "%s.role is missing", n.path())
	}
	if m.Role != "assistant" && len(m.ToolCalls) > 0 {
		return m, Invalidf(n.path()+".tool_calls", "%s.tool_calls: only an assistant message can hold tool calls", n.path())
	}
	if m.Parts == nil && m.Role != "assistant" && m.Role != "tool" {
		return m, Invalidf(n.path()+".content", "%s.content is missing", n.path())
	}
	return m, nil
}

func role(n *node) (string, error) {
	s, err := n.text()
	if err != nil {
		return "", err
	}
	switch s {
	case "system", "developer", "user", "assistant", "tool":
		return s, nil
	case "function": // the old name of tool
		return "tool", nil
	}
	return "", n.invalidf("must be one of system, developer, user, assistant, tool")
}

// content decodes a string or a list of text parts.
func content(n *node) ([]chat.Part, error) {
	parts := []chat.Part{}
	switch n.kind() {
	case "a string":
		return append(parts, chat.Part{Type: "text", Text: unquote(n.raw)}), nil
	case "an array":
	default:
		return nil, n.wrong("a string or an array of parts")
	}
	err := n.elements(maxParts, func(n *node) error {
		text, err := part(n)
		parts = append(parts, chat.Part{Type: "text", Text: text})
		return err
	})
	return parts, err
}

// part decodes one content part; only text reaches the model.
func part(n *node) (string, error) {
	var kind string
	var text, refusal *node
	err := n.members(func(name string, n *node) (err error) {
		switch name {
		case "type":
			kind, err = n.text()
		case "text":
			text = n
		case "refusal":
			refusal = n
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case kind == "refusal" && refusal != nil:
		return refusal.text()
	case kind == "":
		return "", Invalidf(n.path()+".type", "%s.type is missing", n.path())
	case kind != "text":
		return "", Unsupported(n.path()+".type", n.path()+": content of type "+clip(kind))
	case text == nil:
		return "", Invalidf(n.path()+".text", "%s.text is missing", n.path())
	}
	return text.text()
}

// toolCalls decodes the calls of an assistant turn.
func toolCalls(n *node) (calls []chat.ToolCall, err error) {
	err = n.elements(maxCalls, func(n *node) error {
		var id string
		var function *node
		err := n.members(func(name string, n *node) (err error) {
			switch name {
			case "id":
				id, err = n.text()
			case "type":
				var kind string
				if kind, err = n.text(); err == nil && kind != "function" {
					err = Unsupported(n.path(), "the call type "+clip(kind))
				}
			case "function":
				function = n
			}
			return err
		})
		if err != nil {
			return err
		}
		if function == nil {
			return Invalidf(n.path()+".function", "%s.function is missing", n.path())
		}
		call, err := function.functionCall()
		call.ID = id
		calls = append(calls, call)
		return err
	})
	return calls, err
}

// functionCall decodes {name, arguments}.
func (n *node) functionCall() (call chat.ToolCall, err error) {
	err = n.members(func(field string, n *node) (err error) {
		switch field {
		case "name":
			call.Name, err = n.name()
		case "arguments":
			call.Arguments, err = arguments(n)
		}
		return err
	})
	if err == nil && call.Name == "" {
		err = Invalidf(n.path()+".name", "%s.name is missing", n.path())
	}
	return call, err
}

// arguments takes JSON text or an object; empty text and null mean no arguments. Text of an object that breaks off is let
// through, for the engine to show as text: clients echo the call of an answer that ended for length.
func arguments(n *node) (text string, err error) {
	switch n.kind() {
	case "an object":
		return string(n.raw), nil
	case "a string":
	default:
		return "", n.wrong("JSON text of an object, or an object")
	}
	text = unquote(n.raw)
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return "", nil
	}
	if trimmed[0] == '{' && depth(trimmed) <= maxDepth {
		var v json.RawMessage
		if json.Valid(trimmed) || errors.Is(json.NewDecoder(bytes.NewReader(trimmed)).Decode(&v), io.ErrUnexpectedEOF) {
			return text, nil
		}
	}
	return "", n.invalidf("must be the JSON text of an object")
}
