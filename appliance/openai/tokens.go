package openai

import "math"

// maxTokenIDs bounds a list of token ids: four times the longest context.
const maxTokenIDs = 1 << 20

// TokenizeRequest asks for the token ids of a text, without template.
type TokenizeRequest struct {
	Text    string
	Special bool // strings of added tokens in Text become their ids
}

// Tokens answers it.
type Tokens struct {
	Count       int     `json:"count"`
	MaxModelLen int     `json:"max_model_len,omitempty"`
	Tokens      []int32 `json:"tokens"`
}

// Text answers a request to detokenize.
type Text struct {
	Prompt string `json:"prompt"`
}

// DecodeTokenize decodes {"prompt": text, "special": false}; content and text are other names for prompt, and
// parse_special for special.
func DecodeTokenize(body []byte, unknown func(name string)) (req TokenizeRequest, err error) {
	root, err := parse(body)
	if err != nil {
		return req, err
	}
	given := false
	err = root.members(func(name string, n *node) (err error) {
		switch name {
		case "prompt", "content", "text":
			given = true
			req.Text, err = n.text()
		case "special", "parse_special":
			req.Special, err = n.boolean()
		case "model":
			_, err = n.text()
		case "messages":
			err = Unsupported("messages", "tokenizing a conversation")
		default:
			unknown(clip(name))
		}
		return err
	})
	if err == nil && !given {
		err = Invalidf("prompt", "prompt is missing")
	}
	return req, err
}

// DecodeDetokenize decodes {"tokens": [ids]}.
func DecodeDetokenize(body []byte, unknown func(name string)) (ids []int32, err error) {
	root, err := parse(body)
	if err != nil {
		return nil, err
	}
	given := false
	err = root.members(func(name string, n *node) error {
		switch name {
		case "tokens":
			given = true
			return n.elements(maxTokenIDs, func(n *node) error {
				id, err := n.integer(0, math.MaxInt32)
				ids = append(ids, int32(id))
				return err
			})
		case "model":
			_, err := n.text()
			return err
		}
		unknown(clip(name))
		return nil
	})
	if err == nil && !given {
		err = Invalidf("tokens", "tokens is missing")
	}
	return ids, err
}
