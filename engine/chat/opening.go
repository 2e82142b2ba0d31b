package chat

import (
	"bytes"
	"sort"
	"strings"
)

const (
	tagThink        = "<think>"
	tagThinkEnd     = "</think>"
	tagToolCall     = "<tool_call>"
	tagToolCallEnd  = "</tool_call>"
	tagFunction     = "<function="
	tagFunctionEnd  = "</function>"
	tagParameter    = "<parameter="
	tagParameterEnd = "</parameter>"
)

// verdict is what can be said about whether a text begins with something.
type verdict uint8

const (
	no verdict = iota
	yes
	undecided // it is too short
)

// startsWith says whether p begins with tag.
func startsWith(p []byte, tag string) verdict {
	switch {
	case len(p) >= len(tag):
		if string(p[:len(tag)]) == tag {
			return yes
		}
		return no
	case tag[:len(p)] == string(p):
		return undecided
	}
	return no
}

func isASCIISpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// candidate reads a sequence of tags, names and white space at the start of the pending text, and goes on where it
// stopped when more has come. The zero value is at the start.
type candidate struct {
	step             int
	at               int // bytes read
	nameFrom, nameTo int
}

// element is one thing a candidate must find next.
type element struct {
	tag  string // either this
	or   string // or this
	name bool   // or a name up to its '>'
}

// read matches elements with any white space before each but the first and names.
func (c *candidate) read(p []byte, form []element, nameOK func(name []byte, whole bool) bool) verdict {
	for c.step < len(form) {
		e := form[c.step]
		if c.step > 0 && !e.name {
			for c.at < len(p) && isASCIISpace(p[c.at]) {
				c.at++
			}
		}
		v := no
		if e.name {
			v = c.readName(p, nameOK)
		} else {
			v = c.readTag(p, e)
		}
		if v != yes {
			return v
		}
		c.step++
	}
	return yes
}

func (c *candidate) readTag(p []byte, e element) verdict {
	v := startsWith(p[c.at:], e.tag)
	if v == yes {
		c.at += len(e.tag)
		return v
	}
	if e.or == "" {
		return v
	}
	w := startsWith(p[c.at:], e.or)
	if w == yes {
		c.at += len(e.or)
	}
	if w == no {
		return v
	}
	return w
}

// readName reads up to '>'. A name is not empty, has no line end and at most maxNameBytes.
func (c *candidate) readName(p []byte, ok func(name []byte, whole bool) bool) verdict {
	window := p[c.at:min(len(p), c.at+maxNameBytes+1)]
	n := bytes.IndexByte(window, '>')
	name := window
	if n >= 0 {
		name = window[:n]
	}
	if bytes.IndexByte(name, '\n') >= 0 || n < 0 && len(window) > maxNameBytes || n == 0 || !ok(name, n >= 0) {
		return no
	}
	if n < 0 {
		return undecided
	}
	c.nameFrom, c.nameTo = c.at, c.at+n
	c.at += n + 1
	return yes
}

var (
	follow     = element{tag: tagParameter, or: tagFunctionEnd}
	blockForm  = []element{{tag: tagToolCall}, {tag: tagFunction}, {name: true}, follow}
	closesForm = blockForm[:3] // what ends reasoning
	bareForm   = blockForm[1:]
	endForm    = []element{{tag: tagParameterEnd}, follow, {name: true}} // of a value; the name only after <parameter=
)

func anyName([]byte, bool) bool { return true }

// names are the declared functions.
type names struct {
	sorted []string
}

func newNames(tools []Tool) names {
	n := names{make([]string, len(tools))}
	for i, t := range tools {
		n.sorted[i] = t.Name
	}
	sort.Strings(n.sorted)
	return n
}

func (n names) has(name string) bool {
	i := sort.SearchStrings(n.sorted, name)
	return i < len(n.sorted) && n.sorted[i] == name
}

// begins says whether some name has this prefix.
func (n names) begins(prefix string) bool {
	i := sort.SearchStrings(n.sorted, prefix)
	return i < len(n.sorted) && strings.HasPrefix(n.sorted[i], prefix)
}

const aroundNames = "\"'` \t" // what a model may put around a name

// declared says whether a name, or what is there of it so far, is that of a declared function.
func (n names) declared(name []byte, whole bool) bool {
	s := string(name)
	bare := strings.Trim(s, aroundNames)
	if whole {
		return n.has(s) || n.has(bare)
	}
	return n.begins(s) || bare == "" || n.has(bare) || n.begins(strings.TrimLeft(s, aroundNames))
}

// meant is the declared name that a written one stands for: itself, or itself without quotes and spaces around it if only
// that is declared.
func meant(written string, declared func(string) bool) string {
	if bare := strings.Trim(written, aroundNames); !declared(written) && declared(bare) {
		return bare
	}
	return written
}
