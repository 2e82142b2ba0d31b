package chat

import (
	"errors"
	"fmt"
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
	Continue            bool       // the last message is the model's to continue; its content ends in a mark, where the prompt is cut
	Kwargs              *jinja.Map // further template variables, such as enable_thinking; may be nil
}

// Render renders the prompt. Kwargs cannot replace the conversation. Errors are *TemplateError.
func (t *Template) Render(in Input) (string, error) {
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
	if in.Continue {
		at := strings.LastIndex(text, continued)
		if at < 0 {
			return "", &TemplateError{Message: "this template does not let the model continue a message of its own: end the conversation with a user message"}
		}
		text = text[:at]
	}
	return text, nil
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
