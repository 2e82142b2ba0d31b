package chat

import "bytes"

// ScannerOptions says how a turn's output is to be read.
type ScannerOptions struct {
	Tools     []Tool
	ToolsOff  bool     // tool_choice none: tags of calls are text
	ThinkOpen bool     // the prompt left a think block open: output begins inside reasoning
	Stop      []string // texts that end the content
}

// Scanner reads the text of one turn as it is generated and emits what it consists of: reasoning, content and calls of
// tools. Text arrives in pieces cut anywhere, even inside a character; the events, with adjacent texts joined, are the
// same for every cutting. Only what may still turn out to be a tag, a stop text or droppable white space is held back.
//
// White space means the ASCII characters. Bytes that never become valid UTF-8 come out as one U+FFFD a run.
type Scanner struct {
	tools   []Tool
	names   names
	schemas map[int]parameters // of tools that have been called
	runes   runeFilter
	stop    *stopMatcher
	emit    func(Event) // during Feed and Finish
	state   scanState
	pending []byte // text not read yet
	from    int    // bytes of pending that have been read during this Feed
	ended   bool   // no more text will come
	done    bool
	stopped bool

	tried     candidate // at pending[from:]
	skipSpace bool      // white space here is dropped
	thought   bool      // the one repeated <think> has been skipped
	space     []byte    // white space in reasoning that is dropped if it turns out to be the last

	content   []byte // content not sent yet, held back for stop and for held
	held      int    // bytes at the end of content that are white space which may be dropped
	fresh     bool   // no content since the start, the end of the reasoning or a call
	afterCall bool   // only white space and closing tags since a call
	inBlock   bool   // that call's <tool_call> has not been closed
	lineStart bool

	call       openCall
	index      int // of the next call
	completed  []ToolCall
	incomplete []byte
	duplicates int
}

type scanState uint8

const (
	beforeReasoning scanState = iota
	inReasoning
	inContent
	betweenParameters
	inKey
	beforeValue
	inValue
)

// NewScanner makes a scanner for one turn.
func NewScanner(opts ScannerOptions) *Scanner {
	s := &Scanner{stop: newStopMatcher(opts.Stop), state: inContent, fresh: true, lineStart: true}
	if opts.ThinkOpen {
		s.state = beforeReasoning
	}
	if !opts.ToolsOff {
		s.tools, s.names = opts.Tools, newNames(opts.Tools)
	}
	return s
}

// Feed reads the next piece of output. It returns true once a stop text has ended the turn; what comes after that, or
// after Finish, is ignored.
func (s *Scanner) Feed(text []byte, emit func(Event)) (stopped bool) {
	if s.done {
		return s.stopped
	}
	s.pending = s.runes.append(s.pending, text)
	s.run(emit)
	return s.stopped
}

// Finish ends the turn: everything still held is delivered. A call that is not complete stays without a CallEnd.
func (s *Scanner) Finish(emit func(Event)) {
	if s.done {
		return
	}
	s.pending = s.runes.finish(s.pending)
	s.ended = true
	s.run(emit)
	if s.done {
		return
	}
	s.done = true
	switch {
	case s.state == inContent:
		s.emit = emit
		s.sendContent(len(s.content))
		s.emit = nil
	case s.state > inContent:
		s.incomplete = s.call.raw
	}
}

// InReasoning says whether the text so far ends inside reasoning.
func (s *Scanner) InReasoning() bool { return s.state <= inReasoning }

// Stopped says whether a stop text has ended the turn.
func (s *Scanner) Stopped() bool { return s.stopped }

// Calls are the calls completed so far, without ids. Arguments are the joined CallArgs.
func (s *Scanner) Calls() []ToolCall { return s.completed }

// Incomplete is, after Finish, the text of a call that the end of the turn cut off. An answer that is not streamed carries
// it as the end of its content.
func (s *Scanner) Incomplete() (raw string, ok bool) {
	return string(s.incomplete), s.incomplete != nil
}

// DuplicateKeys counts parameters that were dropped because the call had one of that name.
func (s *Scanner) DuplicateKeys() int { return s.duplicates + s.call.duplicates }

func (s *Scanner) run(emit func(Event)) {
	s.emit = emit
	for !s.done && s.step() {
	}
	s.emit = nil
	if s.done {
		s.pending, s.from = nil, 0
		return
	}
	if s.from > 0 {
		s.pending = s.pending[:copy(s.pending, s.pending[s.from:])]
		s.from = 0
	}
}

// rest is the text not read yet.
func (s *Scanner) rest() []byte { return s.pending[s.from:] }

// consume marks n bytes of the rest as read and returns them. They stay valid until the end of Feed.
func (s *Scanner) consume(n int) []byte {
	text := s.pending[s.from : s.from+n]
	s.from += n
	s.tried = candidate{}
	if s.state > inContent {
		s.call.raw = append(s.call.raw, text...)
	}
	return text
}

// step reads one thing and says whether there may be more to read.
func (s *Scanner) step() bool {
	if s.from == len(s.pending) {
		return false
	}
	switch s.state {
	case beforeReasoning:
		return s.beforeReasoning()
	case inReasoning:
		return s.reasoning()
	case inContent:
		return s.inContent()
	case betweenParameters:
		return s.betweenParameters()
	case inKey:
		return s.key()
	case beforeValue:
		if s.rest()[0] == '\n' {
			s.consume(1)
		}
		s.state = inValue
		return true
	}
	return s.value()
}

// settle makes an undecided verdict a no when no more text will come.
func (s *Scanner) settle(v verdict) verdict {
	if v == undecided && s.ended {
		return no
	}
	return v
}

func leadingSpace(p []byte) int {
	n := 0
	for n < len(p) && isASCIISpace(p[n]) {
		n++
	}
	return n
}

func (s *Scanner) beforeReasoning() bool {
	if n := leadingSpace(s.rest()); n > 0 {
		s.consume(n)
		return true
	}
	if !s.thought {
		switch s.settle(startsWith(s.rest(), tagThink)) {
		case undecided:
			return false
		case yes:
			s.consume(len(tagThink))
			s.thought = true
			return true
		}
	}
	s.state = inReasoning
	return true
}

func (s *Scanner) reasoning() bool {
	p := s.rest()
	if n := bytes.IndexByte(p, '<'); n != 0 {
		if n < 0 {
			n = len(p)
		}
		s.sendReasoning(s.consume(n))
		return true
	}
	closed := s.settle(startsWith(p, tagThinkEnd))
	if closed == yes {
		s.consume(len(tagThinkEnd))
		s.endReasoning()
		return true
	}
	called := no
	if len(s.tools) > 0 {
		called = s.settle(s.tried.read(p, closesForm, s.names.declared))
	}
	switch {
	case closed == undecided || called == undecided:
		return false
	case called == yes:
		s.tried = candidate{}
		s.endReasoning()
	default:
		s.sendReasoning(s.consume(1))
	}
	return true
}

func (s *Scanner) endReasoning() {
	s.space = nil
	s.state = inContent
	s.fresh, s.skipSpace, s.lineStart = true, true, true
}

// sendReasoning sends text up to its trailing white space.
func (s *Scanner) sendReasoning(text []byte) {
	n := len(bytes.TrimRight(text, asciiSpace))
	if n == 0 {
		s.space = append(s.space, text...)
		return
	}
	s.emit(Event{Kind: Reasoning, Text: string(s.space) + string(text[:n])})
	s.space = append(s.space[:0], text[n:]...)
}

func (s *Scanner) inContent() bool {
	p := s.rest()
	if n := leadingSpace(p); s.skipSpace && n > 0 {
		s.consume(n)
		return true
	}
	if n := bytes.IndexByte(p, '<'); n != 0 {
		if n < 0 {
			n = len(p)
		}
		s.addContent(s.consume(n))
		return true
	}
	v, opened := s.settle(s.droppable(p)), no
	if v == no {
		opened = s.settle(s.opening(p))
	}
	switch {
	case v == undecided || opened == undecided:
		return false
	case v == no && opened == no:
		s.addContent(s.consume(1))
	}
	return true
}

// droppable drops a closing tag that means nothing here: </think> before any content, closing tags after a call.
func (s *Scanner) droppable(p []byte) verdict {
	result := no
	for i, tag := range [...]string{tagThinkEnd, tagToolCallEnd, tagFunctionEnd, tagParameterEnd} {
		if i == 0 && !s.fresh || i > 0 && !s.afterCall {
			continue
		}
		switch startsWith(p, tag) {
		case yes:
			s.consume(len(tag))
			s.dropHeld()
			s.skipSpace = true
			s.inBlock = s.inBlock && tag != tagToolCallEnd
			return yes
		case undecided:
			result = undecided
		}
	}
	return result
}

// opening begins a call if one is here.
func (s *Scanner) opening(p []byte) verdict {
	if len(s.tools) == 0 {
		return no
	}
	block := s.inBlock
	var v verdict
	switch {
	case len(p) == 1:
		return undecided
	case p[1] == tagToolCall[1]:
		v = s.tried.read(p, blockForm, anyName)
		block = true
	case s.inBlock:
		v = s.tried.read(p, bareForm, anyName)
	case s.lineStart:
		v = s.tried.read(p, bareForm, s.names.declared)
	}
	if v == yes {
		s.beginCall(p, block)
	}
	return v
}

// beginCall reads what the candidate has found, except for the tag behind the name.
func (s *Scanner) beginCall(p []byte, block bool) {
	name := meant(string(p[s.tried.nameFrom:s.tried.nameTo]), s.names.has)
	n := s.tried.nameTo + 1
	s.duplicates += s.call.duplicates
	s.call = openCall{name: name, raw: s.dropHeld()}
	s.sendContent(len(s.content))
	s.call.params = s.parametersOf(name)
	s.state, s.inBlock = betweenParameters, block
	s.consume(n)
	s.emit(Event{Kind: CallStart, Index: s.index, Name: name})
	s.sendArgs(s.call.begin())
}

// parametersOf parses a tool's schema when it is called first.
func (s *Scanner) parametersOf(name string) parameters {
	for i, t := range s.tools {
		if t.Name != name {
			continue
		}
		p, ok := s.schemas[i]
		if !ok {
			p = parseParameters(t.Schema)
			if s.schemas == nil {
				s.schemas = map[int]parameters{}
			}
			s.schemas[i] = p
		}
		return p
	}
	return parameters{}
}

func (s *Scanner) sendArgs(text string) {
	if text != "" {
		s.emit(Event{Kind: CallArgs, Index: s.index, Text: text})
	}
}

// dropHeld takes white space that may be dropped out of the content, and returns it.
func (s *Scanner) dropHeld() []byte {
	at := len(s.content) - s.held
	dropped := bytes.Clone(s.content[at:])
	s.content, s.held = s.content[:at], 0
	s.stop.reset() // a stop text does not reach over what is dropped, nor over a call
	return dropped
}

// addContent adds text to the content and sends what can be sent.
func (s *Scanner) addContent(text []byte) {
	before := len(s.content)
	s.content = append(s.content, text...)
	if end, length := s.stop.feed(text); length > 0 {
		s.sendContent(before + end - length)
		s.stopped, s.done = true, true
		return
	}
	s.lineStart = text[len(text)-1] == '\n'
	n := len(bytes.TrimRight(text, asciiSpace))
	if n > 0 {
		s.fresh, s.skipSpace, s.afterCall, s.inBlock, s.held = false, false, false, false, 0
	}
	if len(s.tools) > 0 || s.fresh {
		s.held += len(text) - n
	}
	s.sendContent(len(s.content) - max(s.held, s.stop.held()))
}

// sendContent sends the first n bytes of the unsent content.
func (s *Scanner) sendContent(n int) {
	if n <= 0 {
		return
	}
	s.emit(Event{Kind: Content, Text: string(s.content[:n])})
	s.content = s.content[:copy(s.content, s.content[n:])]
}

func (s *Scanner) betweenParameters() bool {
	p := s.rest()
	if n := leadingSpace(p); n > 0 {
		s.consume(n)
		return true
	}
	if startsWith(p, tagParameter) == yes {
		s.consume(len(tagParameter))
		s.state = inKey
		return true
	}
	if startsWith(p, tagFunctionEnd) == yes {
		s.consume(len(tagFunctionEnd))
		s.endCall()
		return true
	}
	// Only the end of the turn leads here: nothing but a tag that was seen follows a name or a value.
	s.consume(len(p))
	return false
}

func (s *Scanner) endCall() {
	s.sendArgs(s.call.end())
	s.emit(Event{Kind: CallEnd, Index: s.index})
	s.completed = append(s.completed, ToolCall{Name: s.call.name, Arguments: string(s.call.args)})
	s.index++
	s.state = inContent
	s.fresh, s.skipSpace, s.afterCall, s.lineStart = true, true, true, true
}

func (s *Scanner) key() bool {
	p := s.rest()
	n := bytes.IndexByte(p[s.tried.at:], '>')
	if n < 0 {
		s.tried.at = len(p)
		if s.ended {
			s.consume(len(p))
		}
		return false
	}
	key := s.consume(s.tried.at + n + 1)
	s.sendArgs(s.call.key(string(key[:len(key)-1])))
	s.state = beforeValue
	return true
}

// value reads text up to what may be the value's end: a line end or a tag.
func (s *Scanner) value() bool {
	p := s.rest()
	if n := bytes.IndexAny(p, "\n<"); n != 0 {
		if n < 0 {
			n = len(p)
		}
		s.sendArgs(s.call.value(s.consume(n)))
		return true
	}
	tag := p // from where </parameter> may be
	if p[0] == '\n' {
		if tag = p[1:]; len(tag) == 0 && !s.ended {
			return false
		}
	}
	switch s.valueEnd(tag) {
	case undecided:
		return false
	case yes:
		s.consume(len(p) - len(tag) + len(tagParameterEnd))
		s.sendArgs(s.call.endValue())
		s.state = betweenParameters
		return true
	}
	n := len(p) - len(tag) // of the line end
	if len(tag) > 0 && tag[0] == '<' {
		n++
	}
	s.sendArgs(s.call.value(s.consume(n)))
	return true
}

// valueEnd says whether </parameter> is here, with something legal behind it.
func (s *Scanner) valueEnd(p []byte) verdict {
	if len(p) == 0 {
		return no
	}
	v := s.tried.read(p, endForm[:2], anyName)
	if v == yes && s.tried.step == 2 && p[s.tried.at-1] == '=' { // <parameter= was read, and needs its name
		v = s.tried.read(p, endForm, anyName)
	}
	if v == undecided && s.ended {
		if s.tried.step == 1 && s.tried.at == len(p) {
			return yes // the end of the turn follows
		}
		return no
	}
	return v
}
