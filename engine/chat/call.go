package chat

import (
	"hearth/engine/chat/jinja"
)

// openCall is the call being read: its arguments grow as one JSON object, of which each new piece is sent.
type openCall struct {
	name       string
	params     parameters
	args       []byte // all so far
	raw        []byte // the text it was read from, and the white space before it that would be dropped
	seen       map[string]bool
	types      typeSet // of the parameter being read
	text       []byte  // its value, unless that is sent as it comes
	repeated   bool    // its key was there before: it is dropped
	duplicates int
}

// begin starts the object and returns the piece to send. So do the other methods.
func (c *openCall) begin() string { return c.grow(0, append(c.args, '{')) }

func (c *openCall) grow(from int, args []byte) string {
	c.args = args
	return string(args[from:])
}

// key starts a parameter.
func (c *openCall) key(written string) string {
	key := meant(written, c.params.has)
	c.text = c.text[:0]
	if c.repeated = c.seen[key]; c.repeated {
		c.duplicates++
		return ""
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[key] = true
	c.types = c.params.types(key)
	from := len(c.args)
	out := c.args
	if len(c.seen) > 1 {
		out = append(out, ',')
	}
	out = append(jinja.AppendJSONText(append(out, '"'), key), `":`...)
	if c.types == typeString {
		out = append(out, '"')
	}
	return c.grow(from, out)
}

// value takes the next piece of a parameter's text.
func (c *openCall) value(text []byte) string {
	switch {
	case c.repeated:
		return ""
	case c.types != typeString:
		c.text = append(c.text, text...)
		return ""
	}
	return c.grow(len(c.args), jinja.AppendJSONText(c.args, string(text)))
}

// endValue ends the parameter.
func (c *openCall) endValue() string {
	switch {
	case c.repeated:
		return ""
	case c.types == typeString:
		return c.grow(len(c.args), append(c.args, '"'))
	}
	return c.grow(len(c.args), appendValue(c.args, string(c.text), c.types))
}

// end closes the object.
func (c *openCall) end() string { return c.grow(len(c.args), append(c.args, '}')) }
