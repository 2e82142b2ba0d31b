package sampling

import "maps"

// Counts is what the penalties know of a sequence: which tokens its prompt has, and how often its output has each.
// The zero value is an empty sequence.
type Counts struct {
	tokens map[int]count
}

type count struct {
	output int
	prompt bool
}

// AddPrompt notes tokens of the prompt.
func (c *Counts) AddPrompt(tokens ...int) {
	c.make()
	for _, t := range tokens {
		n := c.tokens[t]
		n.prompt = true
		c.tokens[t] = n
	}
}

// Add notes one more occurrence in the output.
func (c *Counts) Add(token int) {
	c.make()
	n := c.tokens[token]
	n.output++
	c.tokens[token] = n
}

// Remove takes back one Add, as when walking back up a draft tree. A token not in the output is left alone.
func (c *Counts) Remove(token int) {
	n := c.tokens[token]
	if n.output == 0 {
		return
	}
	n.output--
	if n == (count{}) {
		delete(c.tokens, token)
		return
	}
	c.tokens[token] = n
}

// Output is how often the output has the token.
func (c *Counts) Output(token int) int { return c.tokens[token].output }

// Clone is an independent copy.
func (c *Counts) Clone() *Counts { return &Counts{tokens: maps.Clone(c.tokens)} }

func (c *Counts) make() {
	if c.tokens == nil {
		c.tokens = make(map[int]count)
	}
}
