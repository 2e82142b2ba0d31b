package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hearth/engine/chat/jinja"
)

// Template is a checkpoint's chat template, parsed. It may be used by many goroutines.
type Template struct {
	parsed *jinja.Template
}

// TemplateError is a conversation that the template refuses, in the template's own words where it has some.
type TemplateError struct {
	Message string
	Line    int // in the template, 0 if the template itself said Message
}

func (e *TemplateError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("chat template line %d: %s", e.Line, e.Message)
}

// ParseTemplate parses the source of a chat_template.jinja.
func ParseTemplate(source string) (*Template, error) {
	parsed, err := jinja.Parse(source)
	if err != nil {
		return nil, templateError(err)
	}
	return &Template{parsed}, nil
}

// Input is what a template renders: a normalised conversation and its options.
type Input struct {
	Messages            *jinja.List
	Tools               *jinja.List // nil or empty: none
	AddGenerationPrompt bool
	Continue            bool       // the last message is an assistant's and is to go on: neither prompt nor end of turn follow
	Kwargs              *jinja.Map // further template variables, such as enable_thinking; may be nil
}

// Render renders the prompt. Kwargs cannot replace the conversation. Errors are *TemplateError.
func (t *Template) Render(in Input) (string, error) {
	if in.Continue {
		return t.renderOpen(in)
	}
	vars := make([]jinja.Var, 0, 8)
	if in.Kwargs != nil {
		for i := range in.Kwargs.Len() {
			name, v := in.Kwargs.At(i)
			vars = append(vars, jinja.Var{Name: name, Value: v})
		}
	}
	vars = append(vars, jinja.Var{Name: "add_generation_prompt", Value: in.AddGenerationPrompt})
	if in.Messages != nil {
		vars = append(vars, jinja.Var{Name: "messages", Value: in.Messages})
	}
	var tools jinja.Value // None without tools, as the reference implementation passes it
	if in.Tools != nil && len(in.Tools.Items) > 0 {
		tools = in.Tools
	}
	text, err := t.parsed.Render(append(vars, jinja.Var{Name: "tools", Value: tools}))
	if err != nil {
		return "", templateError(err)
	}
	return text, nil
}

// continued stands for the last message's content when the end of its turn is looked for. Noncharacters, so that no
// template treats them as space or markup.
const continued = "\ufdd0\ufdd1"

// renderOpen renders a conversation whose last turn goes on. What the template puts behind the content is found by
// rendering the turn with a mark for its content; it is cut off the real rendering.
func (t *Template) renderOpen(in Input) (string, error) {
	in.Continue, in.AddGenerationPrompt = false, false
	refused := &TemplateError{Message: "The chat template does not allow the last message to be continued."}
	if in.Messages == nil || len(in.Messages.Items) == 0 {
		return t.Render(in)
	}
	text, err := t.Render(in)
	if err != nil {
		return "", err
	}
	items := slices.Clone(in.Messages.Items)
	last, ok := items[len(items)-1].(*jinja.Map)
	if !ok {
		return "", refused
	}
	content, _ := last.Get("content")
	marked := jinja.NewMap(last.Len())
	for i := range last.Len() {
		marked.Set(last.At(i))
	}
	marked.Set("content", continued)
	items[len(items)-1] = marked
	in.Messages = jinja.NewList(items...)
	probe, err := t.Render(in)
	if err != nil {
		return "", err
	}
	at := strings.LastIndex(probe, continued)
	if at < 0 {
		return "", refused
	}
	open, ok := strings.CutSuffix(text, probe[at+len(continued):])
	if s, isText := content.(string); !ok || isText && !strings.HasSuffix(open, jinja.Strip(s)) {
		return "", refused
	}
	return open, nil
}

func templateError(err error) error {
	var e *jinja.Error
	if !errors.As(err, &e) {
		return &TemplateError{Message: err.Error()}
	}
	if e.Raised {
		return &TemplateError{Message: e.Message}
	}
	return &TemplateError{Message: e.Message, Line: e.Line}
}

// ThinkOpen says whether a rendered prompt leaves a think block open, so that the model's output begins inside reasoning.
func (t *Template) ThinkOpen(rendered string) bool {
	return strings.HasSuffix(rendered, "<think>\n") || strings.HasSuffix(rendered, "<think>")
}
