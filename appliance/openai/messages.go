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
	var cut []chat.Part // calls whose arguments were cut off, as text
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
			m.ToolCalls, cut, err = toolCalls(n)
		case "function_call":
			var call chat.ToolCall
			var whole bool
			if call, whole, err = n.functionCall(); err == nil && whole {
				m.ToolCalls = append(m.ToolCalls, call)
			} else if err == nil {
				cut = append(cut, cutCall(call))
			}
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
	if m.Role != "assistant" && len(m.ToolCalls)+len(cut) > 0 {
		return m, Invalidf(n.path()+".tool_calls", "%s.tool_calls: only an assistant message can hold tool calls", n.path())
	}
	if m.Parts == nil && m.Role != "assistant" && m.Role != "tool" {
		return m, Invalidf(n.path()+".content", "%s.content is missing", n.path())
	}
	m.Parts = append(m.Parts, cut...)
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

// toolCalls decodes the calls of an assistant turn; those that were cut off come back as text.
func toolCalls(n *node) (calls []chat.ToolCall, cut []chat.Part, err error) {
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
		call, whole, err := function.functionCall()
		if err != nil {
			return err
		}
		if call.ID = id; whole {
			calls = append(calls, call)
		} else {
			cut = append(cut, cutCall(call))
		}
		return nil
	})
	return calls, cut, err
}

// functionCall decodes {name, arguments}. whole is false when the arguments are a JSON object that breaks off: a client
// echoes the call of an answer that ended for length.
func (n *node) functionCall() (call chat.ToolCall, whole bool, err error) {
	whole = true
	err = n.members(func(field string, n *node) (err error) {
		switch field {
		case "name":
			call.Name, err = n.name()
		case "arguments":
			call.Arguments, whole, err = arguments(n)
		}
		return err
	})
	if err == nil && call.Name == "" {
		err = Invalidf(n.path()+".name", "%s.name is missing", n.path())
	}
	return call, whole, err
}

// arguments takes JSON text or an object; empty text and null mean no arguments.
func arguments(n *node) (text string, whole bool, err error) {
	switch n.kind() {
	case "an object":
		return string(n.raw), true, nil
	case "a string":
	default:
		return "", true, n.wrong("JSON text of an object, or an object")
	}
	text = unquote(n.raw)
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return "", true, nil
	}
	if trimmed[0] == '{' && depth(trimmed) <= maxDepth {
		if json.Valid(trimmed) {
			return text, true, nil
		}
		var v json.RawMessage
		if err := json.NewDecoder(bytes.NewReader(trimmed)).Decode(&v); errors.Is(err, io.ErrUnexpectedEOF) {
			return text, false, nil
		}
	}
	return "", true, n.invalidf("must be the JSON text of an object")
}

// cutCall is what the model sees of a call that was cut off: text, so that it is not taken for one that ran.
func cutCall(call chat.ToolCall) chat.Part {
	return chat.Part{Type: "text", Text: call.Name + " " + call.Arguments}
}
