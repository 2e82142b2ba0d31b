package chat

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"hearth/engine/chat/jinja"
)

// Escaper swaps the texts of added tokens for marks, so that what people and tools wrote stays text in the prompt.
type Escaper interface{ Escape(string) string }

// ParamError is a conversation that cannot be rendered, with the path of the field at fault.
type ParamError struct {
	Param   string
	Message string
}

func (e *ParamError) Error() string { return e.Param + ": " + e.Message }

func paramf(param, format string, args ...any) error {
	return &ParamError{param, fmt.Sprintf(format, args...)}
}

// continued ends the last message while it is rendered, when the model is to continue it: Render cuts there.
const continued = "\U0010FFFE"

// Normalize turns a conversation into what a template takes:
//
//   - developer is system; leading system messages are one; a later one goes in front of the user message that directly
//     follows it, else behind the message before it, so that no earlier turn moves.
//   - Reasoning is split off an assistant's content at </think>.
//   - Tool results follow the order of the calls they answer.
//   - Arguments are objects; text of none is none.
//   - A last message of the assistant is continued.
//
// Then all text from outside is escaped. kwargs is a JSON object of template variables, or nil. Errors are *ParamError.
func Normalize(messages []Message, tools []Tool, kwargs []byte, esc Escaper) (Input, error) {
	n := normalizer{esc: esc}
	in := Input{Messages: &jinja.List{}, AddGenerationPrompt: true}
	turns, err := n.turns(messages)
	if err != nil {
		return Input{}, err
	}
	for i := range turns {
		if i == len(turns)-1 && turns[i].role == "assistant" {
			if len(turns[i].calls) > 0 || turns[i].hasCalls {
				return Input{}, paramf(turns[i].path+".tool_calls", "the last message is to be continued, and one with tool calls cannot be")
			}
			in.AddGenerationPrompt, in.Continue = false, true
		}
		in.Messages.Items = append(in.Messages.Items, n.render(&turns[i], in.Continue))
	}
	if in.Tools, err = n.tools(tools); err != nil {
		return Input{}, err
	}
	if len(bytes.TrimSpace(kwargs)) > 0 {
		v, err := jinja.ParseJSON(kwargs, maxJSONDepth)
		m, ok := v.(*jinja.Map)
		if err != nil || !ok && v != nil {
			return Input{}, paramf("chat_template_kwargs", "must be a JSON object")
		}
		in.Kwargs = m
	}
	return in, nil
}

type normalizer struct{ esc Escaper }

// turn is a message on its way.
type turn struct {
	path      string
	role      string
	text      string
	reasoning *string
	calls     []historyCall
	hasCalls  bool // calls that were cut off are text by now
	answers   string
}

type historyCall struct {
	id, name string
	args     *jinja.Map // nil: none
}

// turns does all that needs the messages side by side.
func (n *normalizer) turns(messages []Message) ([]turn, error) {
	var turns []turn
	var waiting []string // system texts for the user message that follows
	for i := range messages {
		t, err := n.turn(&messages[i], fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		if t.role == "system" {
			if len(turns) == 0 {
				turns = append(turns, t)
			} else if len(turns) == 1 && turns[0].role == "system" {
				turns[0].text = joinTexts(turns[0].text, t.text)
			} else {
				waiting = append(waiting, t.text)
			}
			continue
		}
		if len(waiting) > 0 {
			note := joinTexts(waiting...)
			if last := &turns[len(turns)-1]; t.role == "user" {
				t.text = joinTexts(note, t.text)
			} else {
				last.text = joinTexts(last.text, note)
			}
			waiting = nil
		}
		turns = append(turns, t)
	}
	if len(waiting) > 0 {
		last := &turns[len(turns)-1]
		last.text = joinTexts(last.text, joinTexts(waiting...))
	}
	orderResults(turns)
	return turns, nil
}

// joinTexts joins by a blank line; empty texts leave none.
func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" }), "\n\n")
}

func (n *normalizer) turn(m *Message, path string) (turn, error) {
	t := turn{path: path, role: m.Role, reasoning: m.Reasoning, answers: m.ToolCallID}
	switch m.Role {
	case "developer":
		t.role = "system"
	case "system", "user", "assistant", "tool":
	default:
		return t, paramf(path+".role", "unknown role %q: want system, developer, user, assistant or tool", m.Role)
	}
	var text strings.Builder
	for i, p := range m.Parts {
		if p.Type != "text" {
			return t, paramf(fmt.Sprintf("%s.content[%d]", path, i), "content of type %q is not supported: this model reads text", p.Type)
		}
		text.WriteString(p.Text)
	}
	t.text = text.String()
	if t.role != "assistant" {
		t.reasoning = nil
		return t, nil
	}
	if t.reasoning == nil {
		t.reasoning, t.text = splitThinking(t.text)
	}
	return t, n.calls(&t, m.ToolCalls)
}

// splitThinking takes reasoning out of content that holds </think>, as the published template does.
func splitThinking(text string) (reasoning *string, content string) {
	before, _, found := strings.Cut(text, tagThinkEnd)
	if !found {
		return nil, text
	}
	before = strings.TrimRight(before, "\n")
	if at := strings.LastIndex(before, tagThink); at >= 0 {
		before = before[at+len(tagThink):]
	}
	before = strings.TrimLeft(before, "\n")
	content = strings.TrimLeft(text[strings.LastIndex(text, tagThinkEnd)+len(tagThinkEnd):], "\n")
	return &before, content
}

// calls reads the arguments of an assistant's calls. A call whose arguments end too early was cut off when it was made: it
// is kept as text.
func (n *normalizer) calls(t *turn, calls []ToolCall) error {
	for i, c := range calls {
		path := fmt.Sprintf("%s.tool_calls[%d].function", t.path, i)
		if c.Name == "" {
			return paramf(path+".name", "a call needs the name of its function")
		}
		args := strings.TrimSpace(c.Arguments)
		t.hasCalls = true
		if args == "" || args == "null" {
			t.calls = append(t.calls, historyCall{id: c.ID, name: c.Name})
			continue
		}
		v, err := jinja.ParseJSON([]byte(args), maxJSONDepth)
		var syntax *jinja.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= len(args) {
			t.text = joinTexts(t.text, tagToolCall+"\n"+tagFunction+c.Name+">\n"+c.Arguments)
			continue
		}
		m, ok := v.(*jinja.Map)
		if err != nil || !ok {
			why := "not an object"
			if err != nil {
				why = err.Error()
			}
			return paramf(path+".arguments", "arguments must be the JSON text of an object: %s", why)
		}
		t.calls = append(t.calls, historyCall{id: c.ID, name: c.Name, args: m})
	}
	return nil
}

// orderResults puts each run of tool results into the order of the calls they answer; those that answer none keep their
// place.
func orderResults(turns []turn) {
	for i := 0; i < len(turns); i++ {
		if turns[i].role != "assistant" || len(turns[i].calls) == 0 {
			continue
		}
		rank := map[string]int{}
		for j, c := range turns[i].calls {
			if _, twice := rank[c.id]; !twice && c.id != "" {
				rank[c.id] = j
			}
		}
		var places []int
		var known []turn
		for j := i + 1; j < len(turns) && turns[j].role == "tool"; j++ {
			if _, ok := rank[turns[j].answers]; ok {
				places, known = append(places, j), append(known, turns[j])
			}
		}
		slices.SortStableFunc(known, func(a, b turn) int { return rank[a.answers] - rank[b.answers] })
		for k, j := range places {
			turns[j] = known[k]
		}
	}
}

// render makes the template's message, escaped. open leaves its content for the model to continue.
func (n *normalizer) render(t *turn, open bool) *jinja.Map {
	m := jinja.NewMap(4)
	m.Set("role", t.role)
	content := n.content(t)
	if open {
		content += continued
	}
	m.Set("content", content)
	if t.reasoning != nil {
		m.Set("reasoning_content", n.esc.Escape(*t.reasoning))
	}
	if len(t.calls) == 0 {
		return m
	}
	list := &jinja.List{}
	for _, c := range t.calls {
		f := jinja.NewMap(2)
		f.Set("name", n.esc.Escape(c.name))
		args := jinja.NewMap(0)
		if c.args != nil {
			args = n.escape(c.args).(*jinja.Map)
		}
		f.Set("arguments", args)
		o := jinja.NewMap(2)
		o.Set("type", "function")
		o.Set("function", f)
		list.Items = append(list.Items, o)
	}
	m.Set("tool_calls", list)
	return m
}

// content escapes a turn's text. A user's message that is a wrapped tool result keeps its wrapping, which templates look
// for.
func (n *normalizer) content(t *turn) string {
	if t.role == "user" {
		trimmed := strings.TrimFunc(t.text, isStripped)
		if inner, ok := strings.CutPrefix(trimmed, tagToolResponse); ok {
			if inner, ok = strings.CutSuffix(inner, tagToolResponseEnd); ok {
				return tagToolResponse + n.esc.Escape(inner) + tagToolResponseEnd
			}
		}
	}
	return n.esc.Escape(t.text)
}

// isStripped tells what Python's str.strip takes off.
func isStripped(r rune) bool { return r >= 0x1C && r <= 0x1F || unicode.IsSpace(r) }

// tools parses and escapes the declared tools. The names of their own fields stay as they are, since templates may ask for
// them; all below the schema is the client's.
func (n *normalizer) tools(tools []Tool) (*jinja.List, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	list := &jinja.List{}
	for i, t := range tools {
		v, err := jinja.ParseJSON(t.Raw, maxJSONDepth)
		m, ok := v.(*jinja.Map)
		if err != nil || !ok {
			return nil, paramf(fmt.Sprintf("tools[%d]", i), "a tool must be a JSON object")
		}
		list.Items = append(list.Items, n.tool(m))
	}
	return list, nil
}

func (n *normalizer) tool(m *jinja.Map) *jinja.Map {
	out := jinja.NewMap(m.Len())
	for i := range m.Len() {
		key, v := m.At(i)
		switch inner, isMap := v.(*jinja.Map); {
		case key == "type":
			out.Set(key, v)
		case key == "function" && isMap:
			out.Set(key, n.tool(inner))
		default:
			out.Set(key, n.escape(v))
		}
	}
	return out
}

// escape escapes all strings and keys of a value.
func (n *normalizer) escape(v jinja.Value) jinja.Value {
	switch v := v.(type) {
	case string:
		return n.esc.Escape(v)
	case *jinja.List:
		out := &jinja.List{Items: make([]jinja.Value, len(v.Items))}
		for i, x := range v.Items {
			out.Items[i] = n.escape(x)
		}
		return out
	case *jinja.Map:
		out := jinja.NewMap(v.Len())
		for i := range v.Len() {
			key, x := v.At(i)
			out.Set(n.esc.Escape(key), n.escape(x))
		}
		return out
	}
	return v
}
