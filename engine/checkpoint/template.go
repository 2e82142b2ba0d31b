package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
)

// ChatTemplate is the checkpoint's template: chat_template.jinja, else chat_template of tokenizer_config.json (a string, or a
// list of named ones of which "default" is taken), else of chat_template.json.
func (c *Checkpoint) ChatTemplate() (string, error) {
	b, err := c.File("chat_template.jinja")
	if err == nil {
		return string(b), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, file := range []string{"tokenizer_config.json", "chat_template.json"} {
		root, err := c.object(file)
		if err != nil {
			return "", err
		}
		if t, err := templateOf(file, root["chat_template"]); t != "" || err != nil {
			return t, err
		}
	}
	return "", fmt.Errorf("checkpoint %s has no chat template: want chat_template.jinja, or chat_template in tokenizer_config.json", c.Name)
}

func templateOf(file string, v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []any:
		var names []string
		for _, e := range v {
			m, _ := e.(map[string]any)
			name, _ := m["name"].(string)
			text, ok := m["template"].(string)
			if ok && (name == "default" || len(v) == 1) {
				return text, nil
			}
			names = append(names, name)
		}
		return "", fmt.Errorf("%s: chat_template has no entry named default, only %q", file, names)
	}
	return "", fmt.Errorf("%s: chat_template: want a string or a list, got %s", file, describe(v))
}
