package chat

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"

	"hearth/engine/chat/jinja"
)

// Escaper keeps text from being read as control: it replaces the strings of added tokens by marks of its own, which the
// tokenizer later encodes as the plain text they stand for. It must not change white space.
type Escaper interface {
	Escape(string) string
}

// ParamError is a request that cannot be normalised. Param is the path of the field, such as
// messages[3].tool_calls[0].function.arguments.
type ParamError struct {
	Param   string
	Message string
}

func (e *ParamError) Error() string { return e.Param + ": " + e.Message }

// Conversation is a normalised one, as a template takes it.
type Conversation struct {
	Messages *jinja.List
	Tools    *jinja.List
	Continue bool // the last message is an assistant's, to be continued
}

// turn is a message on its way through normalisation.
type turn struct {
	role      string
	text      string
	reasoning *string
	calls     []pastCall
	answers   string // of a tool result: the call's id
}

type pastCall struct {
	id, name  string
	arguments *jinja.Map
}

// Normalize brings a conversation into the form that published templates accept, so that their own errors only say what
// the caller did wrong: developers become system, leading system messages are merged, later ones go to the neighbouring
// message, thinking is split off old answers, results of tools stand in the order of their calls, arguments are objects.
// Then every text goes through esc (nil: as it is), so that it stays text. Errors are *ParamError.
//
// The rendering of a message depends on later ones in two cases only: a system message at the end moves when a user
// message follows it, and templates drop the reasoning of turns before the last question.
func Normalize(messages []Message, tools []Tool, esc Escaper) (*Conversation, error) {
	turns := make([]turn, 0, len(messages))
	for i := range messages {
		t, err := newTurn(&messages[i], fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		turns = append(turns, t)
	}
	c := &Conversation{Messages: jinja.NewList()}
	if n := len(messages); n > 0 && messages[n-1].Role == "assistant" {
		if len(messages[n-1].ToolCalls) > 0 {
			return nil, &ParamError{fmt.Sprintf("messages[%d].tool_calls", n-1), "an assistant message with tool calls cannot be continued: add the results of the calls"}
		}
		c.Continue = true
	}
	turns = placeSystem(turns)
	orderResults(turns)
	e := escape{esc}
	for i := range turns {
		c.Messages.Items = append(c.Messages.Items, e.turn(&turns[i]))
	}
	var err error
	c.Tools, err = e.tools(tools)
	return c, err
}

func newTurn(m *Message, path string) (turn, error) {
	t := turn{role: m.Role}
	switch m.Role {
	case "developer":
		t.role = "system"
	case "system", "user", "assistant", "tool":
	default:
		return t, &ParamError{path + ".role", fmt.Sprintf("unknown role %q: use system, developer, user, assistant or tool", m.Role)}
	}
	var err error
	if t.text, err = textOf(m.Parts, path); err != nil {
		return t, err
	}
	switch t.role {
	case "tool":
		t.answers = m.ToolCallID
	case "assistant":
		t.reasoning = m.Reasoning
		if t.reasoning == nil {
			t.splitReasoning()
		}
		return t, t.readCalls(m.ToolCalls, path)
	}
	return t, nil
}

func textOf(parts []Part, path string) (string, error) {
	if len(parts) == 1 && parts[0].Type == "text" {
		return parts[0].Text, nil
	}
	var text strings.Builder
	for j, p := range parts {
		if p.Type != "text" {
			return "", &ParamError{fmt.Sprintf("%s.content[%d]", path, j), fmt.Sprintf("content of type %q is not supported: this model reads text only", p.Type)}
		}
		text.WriteString(p.Text)
	}
	return text.String(), nil
}

// splitReasoning takes the reasoning out of an answer that carries it between think tags: what is before the first
// </think>, from the last <think> in it on; the content is what is behind the last </think>.
func (t *turn) splitReasoning() {
	text := jinja.Strip(t.text)
	first := strings.Index(text, tagThinkEnd)
	if first < 0 {
		return
	}
	reasoning := strings.TrimRight(text[:first], "\n")
	if i := strings.LastIndex(reasoning, tagThink); i >= 0 {
		reasoning = reasoning[i+len(tagThink):]
	}
	reasoning = strings.TrimLeft(reasoning, "\n")
	t.reasoning = &reasoning
	t.text = strings.TrimLeft(text[strings.LastIndex(text, tagThinkEnd)+len(tagThinkEnd):], "\n")
}

// readCalls parses the calls' arguments. A call whose arguments were cut off, as an answer that reached its limit leaves
// them, becomes plain text behind the content.
func (t *turn) readCalls(calls []ToolCall, path string) error {
	for j, c := range calls {
		at := fmt.Sprintf("%s.tool_calls[%d].function", path, j)
		if c.Name == "" {
			return &ParamError{at + ".name", "a tool call needs the name of its function"}
		}
		arguments, err := parseArguments(c.Arguments)
		var syntax *jinja.SyntaxError
		switch {
		case errors.As(err, &syntax) && syntax.AtEnd && strings.HasPrefix(strings.TrimLeft(c.Arguments, asciiSpace), "{"):
			if t.text != "" {
				t.text += "\n\n"
			}
			t.text += tagToolCall + "\n" + tagFunction + c.Name + ">\n" + c.Arguments
		case err != nil:
			return &ParamError{at + ".arguments", "must be a JSON object: " + err.Error()}
		default:
			t.calls = append(t.calls, pastCall{c.ID, c.Name, arguments})
		}
	}
	return nil
}

func parseArguments(text string) (*jinja.Map, error) {
	text = strings.Trim(text, asciiSpace)
	if text == "" {
		return jinja.NewMap(0), nil
	}
	v, err := jinja.ParseJSON([]byte(text), maxJSONDepth)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		return jinja.NewMap(0), nil
	case *jinja.Map:
		return v, nil
	}
	return nil, errors.New("it is another kind of value")
}

// placeSystem merges leading system messages, and puts a later one in front of the user message directly behind it, else
// behind the message before it. It never moves to the front, which would make a cached prefix useless.
func placeSystem(turns []turn) []turn {
	out := turns[:0:0]
	for i := 0; i < len(turns); i++ {
		if turns[i].role != "system" {
			out = append(out, turns[i])
			continue
		}
		run := i
		var texts []string
		for ; run < len(turns) && turns[run].role == "system"; run++ {
			if jinja.Strip(turns[run].text) != "" {
				texts = append(texts, turns[run].text)
			}
		}
		text := strings.Join(texts, "\n\n")
		switch {
		case i == 0:
			out = append(out, turn{role: "system", text: text})
		case text == "":
		case run < len(turns) && turns[run].role == "user":
			turns[run].text = text + "\n\n" + turns[run].text
		default:
			last := &out[len(out)-1]
			if last.text != "" {
				text = last.text + "\n\n" + text
			}
			last.text = text
		}
		i = run - 1
	}
	return out
}

// orderResults puts the results behind an assistant's turn into the order of its calls. Results of unknown calls keep
// their places.
func orderResults(turns []turn) {
	for i := range turns {
		if len(turns[i].calls) < 2 {
			continue
		}
		rank := map[string]int{}
		for j, c := range turns[i].calls {
			if _, taken := rank[c.id]; !taken && c.id != "" {
				rank[c.id] = j
			}
		}
		var places []int
		var results []turn
		for j := i + 1; j < len(turns) && turns[j].role == "tool"; j++ {
			if _, known := rank[turns[j].answers]; known {
				places, results = append(places, j), append(results, turns[j])
			}
		}
		sort.SliceStable(results, func(a, b int) bool { return rank[results[a].answers] < rank[results[b].answers] })
		for k, j := range places {
			turns[j] = results[k]
		}
	}
}

// escape applies an Escaper to everything that reaches the prompt.
type escape struct{ by Escaper }

func (e escape) text(s string) string {
	if e.by == nil {
		return s
	}
	return e.by.Escape(s)
}

const (
	tagToolResponse    = "<tool_response>"
	tagToolResponseEnd = "</tool_response>"
)

func (e escape) turn(t *turn) *jinja.Map {
	m := jinja.NewMap(4)
	m.Set("role", t.role)
	content := e.text(t.text)
	if t.role == "user" {
		content = e.userText(t.text)
	}
	m.Set("content", content)
	if t.reasoning != nil {
		m.Set("reasoning_content", e.text(*t.reasoning))
	}
	if len(t.calls) == 0 {
		return m
	}
	calls := jinja.NewList()
	for _, c := range t.calls {
		function := jinja.NewMap(2)
		function.Set("name", e.text(c.name))
		function.Set("arguments", e.tree(c.arguments, e.text))
		call := jinja.NewMap(3)
		if c.id != "" {
			call.Set("id", e.word(c.id))
		}
		call.Set("type", "function")
		call.Set("function", function)
		calls.Items = append(calls.Items, call)
	}
	m.Set("tool_calls", calls)
	return m
}

// userText leaves the tags of a user message that is a wrapped result of a tool, by which templates know it as one.
func (e escape) userText(s string) string {
	text := jinja.Strip(s)
	inner, open := strings.CutPrefix(text, tagToolResponse)
	inner, closed := strings.CutSuffix(inner, tagToolResponseEnd)
	if open && closed {
		return tagToolResponse + e.text(inner) + tagToolResponseEnd
	}
	return e.text(s)
}

// word leaves a plain word as it is: templates look values up by it and compare it, and no tag begins or ends in it.
func (e escape) word(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
	}
	if strings.TrimLeftFunc(s, plain) == "" {
		return s
	}
	return e.text(s)
}

// tree changes all keys and strings of a JSON tree, in a copy.
func (e escape) tree(v jinja.Value, change func(string) string) jinja.Value {
	if e.by == nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return change(v)
	case *jinja.List:
		out := jinja.NewList(make([]jinja.Value, len(v.Items))...)
		for i, item := range v.Items {
			out.Items[i] = e.tree(item, change)
		}
		return out
	case *jinja.Map:
		out := jinja.NewMap(v.Len())
		for i := range v.Len() {
			key, item := v.At(i)
			out.Set(change(key), e.tree(item, change))
		}
		return out
	}
	return v
}

// tools are printed as JSON, in which a plain word stands between quotes.
func (e escape) tools(tools []Tool) (*jinja.List, error) {
	out := jinja.NewList()
	for i, t := range tools {
		v, err := jinja.ParseJSON(t.Raw, maxToolDepth)
		if err != nil {
			return nil, &ParamError{fmt.Sprintf("tools[%d]", i), "cannot be read as JSON: " + err.Error()}
		}
		out.Items = append(out.Items, e.tree(v, e.word))
	}
	return out, nil
}

// Variables reads a request's template variables, a JSON object or nothing. Texts in them are escaped unless they are plain
// words. Errors are *ParamError.
func Variables(object []byte, esc Escaper) (*jinja.Map, error) {
	if len(bytes.TrimSpace(object)) == 0 {
		return nil, nil
	}
	e := escape{esc}
	v, err := jinja.ParseJSON(object, maxJSONDepth)
	if err != nil {
		return nil, &ParamError{"chat_template_kwargs", "is not a JSON object: " + err.Error()}
	}
	if v == nil {
		return nil, nil
	}
	m, ok := v.(*jinja.Map)
	if !ok {
		return nil, &ParamError{"chat_template_kwargs", "is not a JSON object"}
	}
	return e.tree(m, e.word).(*jinja.Map), nil
}
