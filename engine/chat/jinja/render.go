package jinja

import (
	"errors"
	"fmt"
)

// Var is a variable given to a rendering.
type Var struct {
	Name  string
	Value Value
}

// Render renders the template with these variables; of equal names the last counts. Values are read only, and may be
// shared by renderings that run at the same time. Errors are *Error.
func (t *Template) Render(vars []Var) (string, error) {
	r := &run{}
	root := &frame{}
	for _, v := range vars {
		if id, ok := t.symbols[v.Name]; ok {
			root.set(id, v.Value)
		}
	}
	for name, f := range globals {
		if id, ok := t.symbols[name]; ok && !root.has(id) {
			root.set(id, f)
		}
	}
	if _, err := r.exec(t.body, &frame{parent: root}); err != nil {
		return "", err
	}
	return string(r.out), nil
}

// run is the state of one rendering.
type run struct {
	out   []byte
	steps int
	calls int // depth of macro calls
}

// spend counts work in proportion to bytes copied or items walked, and refuses to go on for ever.
func (r *run) spend(bytes int) error {
	if bytes > maxTextBytes {
		return fmt.Errorf("a text of %d bytes is longer than the limit of %d", bytes, maxTextBytes)
	}
	if r.steps += 1 + bytes/bytesPerStep; r.steps > maxSteps {
		return errors.New("rendering takes more steps than the limit")
	}
	return nil
}

func (r *run) write(s string) error {
	if len(r.out)+len(s) > maxTextBytes {
		return fmt.Errorf("rendered text is longer than the limit of %d bytes", maxTextBytes)
	}
	r.out = append(r.out, s...)
	return r.spend(len(s))
}

// capture renders statements into a text of their own.
func (r *run) capture(body []stmt, f *frame) (string, error) {
	outer := r.out
	r.out = nil
	_, err := r.exec(body, f)
	text := string(r.out)
	r.out = outer
	return text, err
}

// frame holds the variables of one scope.
type frame struct {
	names  []symbol
	values []Value
	parent *frame
}

func (f *frame) has(id symbol) bool {
	for _, n := range f.names {
		if n == id {
			return true
		}
	}
	return false
}

func (f *frame) set(id symbol, v Value) {
	for i, n := range f.names {
		if n == id {
			f.values[i] = v
			return
		}
	}
	f.names = append(f.names, id)
	f.values = append(f.values, v)
}

func (f *frame) get(id symbol) (Value, bool) {
	for ; f != nil; f = f.parent {
		for i, n := range f.names {
			if n == id {
				return f.values[i], true
			}
		}
	}
	return nil, false
}

// jump is how a list of statements ended.
type jump uint8

const (
	onward jump = iota
	broke
	continued
)

type executor interface {
	exec(r *run, f *frame) (jump, error)
}

type stmt struct {
	line int
	do   executor
}

func (r *run) exec(body []stmt, f *frame) (jump, error) {
	for i := range body {
		j, err := body[i].do.exec(r, f)
		if err != nil {
			return onward, located(err, body[i].line)
		}
		if j != onward {
			return j, nil
		}
	}
	return onward, nil
}

// located makes err an *Error that knows the line of the innermost statement.
func located(err error, line int) error {
	var e *Error
	if errors.As(err, &e) {
		if e.Line == 0 {
			e.Line = line
		}
		return e
	}
	return &Error{Message: err.Error(), Line: line}
}

type textStmt string

func (s textStmt) exec(r *run, _ *frame) (jump, error) { return onward, r.write(string(s)) }

type outputStmt struct{ e expr }

func (s outputStmt) exec(r *run, f *frame) (jump, error) {
	v, err := s.e.eval(r, f)
	if err != nil {
		return onward, err
	}
	return onward, r.write(str(v))
}

type jumpStmt string

func (s jumpStmt) exec(*run, *frame) (jump, error) {
	if s == "break" {
		return broke, nil
	}
	return continued, nil
}

type branch struct {
	cond expr
	body []stmt
}

type ifStmt struct {
	branches  []branch
	otherwise []stmt
}

func (s *ifStmt) exec(r *run, f *frame) (jump, error) {
	for _, b := range s.branches {
		v, err := b.cond.eval(r, f)
		if err != nil {
			return onward, err
		}
		if truth(v) {
			return r.exec(b.body, f)
		}
	}
	return r.exec(s.otherwise, f)
}

type forStmt struct {
	targets   []symbol
	loopName  symbol
	over      expr
	filter    expr
	body      []stmt
	otherwise []stmt
}

func (s *forStmt) exec(r *run, f *frame) (jump, error) {
	v, err := s.over.eval(r, f)
	if err != nil {
		return onward, err
	}
	items, err := r.iterate(v)
	if err != nil {
		return onward, err
	}
	if s.filter != nil {
		if items, err = s.selected(r, f, items); err != nil {
			return onward, err
		}
	}
	if len(items) == 0 {
		return r.exec(s.otherwise, &frame{parent: f})
	}
	lp := &loop{items: items, depth: 1}
	if outer, ok := f.get(s.loopName); ok {
		if o, ok := outer.(*loop); ok {
			lp.depth = o.depth + 1
		}
	}
	scope := &frame{parent: f}
	for lp.at = range items {
		if err := r.spend(0); err != nil {
			return onward, err
		}
		scope.names, scope.values = scope.names[:0], scope.values[:0]
		scope.set(s.loopName, lp)
		if err := bind(scope, s.targets, items[lp.at]); err != nil {
			return onward, err
		}
		j, err := r.exec(s.body, scope)
		if err != nil {
			return onward, err
		}
		if j == broke {
			break
		}
		if lp.kept { // a closure may hold the scope
			scope = &frame{parent: f}
		}
	}
	return onward, nil
}

// selected keeps the items for which the loop's own condition holds.
func (s *forStmt) selected(r *run, f *frame, items []Value) ([]Value, error) {
	var kept []Value
	for _, item := range items {
		scope := &frame{parent: f}
		if err := bind(scope, s.targets, item); err != nil {
			return nil, err
		}
		v, err := s.filter.eval(r, scope)
		if err == nil {
			err = r.spend(0)
		}
		if err != nil {
			return nil, err
		}
		if truth(v) {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// bind assigns v to one name, or its items to several.
func bind(f *frame, targets []symbol, v Value) error {
	if len(targets) == 1 {
		f.set(targets[0], v)
		return nil
	}
	l, ok := v.(*List)
	if !ok {
		return fmt.Errorf("TypeError: cannot unpack non-iterable %s object", typeName(v))
	}
	if len(l.Items) != len(targets) {
		return fmt.Errorf("ValueError: expected %d values to unpack, got %d", len(targets), len(l.Items))
	}
	for i, id := range targets {
		f.set(id, l.Items[i])
	}
	return nil
}

type setStmt struct {
	targets []symbol
	field   string // of a namespace; empty: a variable
	value   expr
	body    []stmt // of a block set, whose text value refers to
}

func (s *setStmt) exec(r *run, f *frame) (jump, error) {
	scope := f
	if s.body != nil {
		text, err := r.capture(s.body, &frame{parent: f})
		if err != nil {
			return onward, err
		}
		scope = captured(f, text)
	}
	v, err := s.value.eval(r, scope)
	if err != nil {
		return onward, err
	}
	if s.field == "" {
		return onward, bind(f, s.targets, v)
	}
	object, _ := f.get(s.targets[0])
	ns, ok := object.(*namespace)
	if !ok {
		return onward, errors.New("cannot assign attribute on non-namespace object")
	}
	ns.fields.Set(s.field, v)
	return onward, nil
}

// capturedName is the symbol under which a captured text is passed to its filters; no variable has it.
const capturedName symbol = 0

func captured(f *frame, text string) *frame {
	return &frame{names: []symbol{capturedName}, values: []Value{text}, parent: f}
}

type capturedExpr struct{}

func (capturedExpr) eval(_ *run, f *frame) (Value, error) {
	v, _ := f.get(capturedName)
	return v, nil
}

type captureStmt struct {
	body  []stmt
	chain expr
}

func (s *captureStmt) exec(r *run, f *frame) (jump, error) {
	text, err := r.capture(s.body, &frame{parent: f})
	if err != nil {
		return onward, err
	}
	v, err := s.chain.eval(r, captured(f, text))
	if err != nil {
		return onward, err
	}
	return onward, r.write(str(v))
}

// scopeStmt is a with statement, or any other body with a scope of its own.
type scopeStmt struct {
	names  []symbol
	values []expr
	body   []stmt
}

func (s scopeStmt) exec(r *run, f *frame) (jump, error) {
	scope := &frame{parent: f}
	for i, id := range s.names {
		v, err := s.values[i].eval(r, f)
		if err != nil {
			return onward, err
		}
		scope.set(id, v)
	}
	return r.exec(s.body, scope)
}

type parameter struct {
	name     string
	id       symbol
	fallback expr // nil: undefined when not given
}

type macroDef struct {
	name   string
	params []parameter
	caller symbol
	body   []stmt
}

type macroStmt struct {
	id  symbol
	def *macroDef
}

func (s *macroStmt) exec(_ *run, f *frame) (jump, error) {
	f.set(s.id, &macro{s.def, f})
	markKept(f)
	return onward, nil
}

// markKept tells enclosing loops that their scope outlives the iteration.
func markKept(f *frame) {
	for ; f != nil; f = f.parent {
		for _, v := range f.values {
			if lp, ok := v.(*loop); ok {
				lp.kept = true
			}
		}
	}
}

type callStmt struct {
	call *callExpr
	body *macroDef
}

func (s *callStmt) exec(r *run, f *frame) (jump, error) {
	callee, err := s.call.callee.eval(r, f)
	if err != nil {
		return onward, err
	}
	m, ok := callee.(*macro)
	if !ok {
		return onward, fmt.Errorf("a call block needs a macro, not %s", typeName(callee))
	}
	a, err := s.call.args.eval(r, f)
	if err != nil {
		return onward, err
	}
	a.names, a.named = append(a.names, "caller"), append(a.named, &macro{s.body, f})
	text, err := m.call(r, a)
	if err != nil {
		return onward, err
	}
	return onward, r.write(text)
}

// macro is a macro with the scope it was defined in.
type macro struct {
	def   *macroDef
	scope *frame
}

func (m *macro) call(r *run, a args) (string, error) {
	d := m.def
	if len(a.list) > len(d.params) {
		return "", fmt.Errorf("TypeError: macro '%s' takes not more than %d argument(s)", d.name, len(d.params))
	}
	if r.calls++; r.calls > maxCallDepth {
		return "", fmt.Errorf("macro calls are nested more than %d deep", maxCallDepth)
	}
	defer func() { r.calls-- }()
	if err := r.spend(0); err != nil {
		return "", err
	}
	f := &frame{names: make([]symbol, 0, len(d.params)+2), values: make([]Value, 0, len(d.params)+2), parent: m.scope}
	for i, v := range a.list {
		f.set(d.params[i].id, v)
	}
	for i, name := range a.names {
		if err := m.named(f, name, a.named[i]); err != nil {
			return "", err
		}
	}
	for i := range d.params {
		p := &d.params[i]
		if f.has(p.id) {
			continue
		}
		var v Value = undefined("parameter '" + p.name + "' was not provided")
		if p.fallback != nil {
			var err error
			if v, err = p.fallback.eval(r, f); err != nil {
				return "", err
			}
		}
		f.set(p.id, v)
	}
	return r.capture(d.body, f)
}

func (m *macro) named(f *frame, name string, v Value) error {
	if name == "caller" {
		f.set(m.def.caller, v)
		return nil
	}
	for _, p := range m.def.params {
		if p.name != name {
			continue
		}
		if f.has(p.id) {
			return fmt.Errorf("TypeError: macro '%s' got multiple values for argument '%s'", m.def.name, name)
		}
		f.set(p.id, v)
		return nil
	}
	return fmt.Errorf("TypeError: macro '%s' takes no keyword argument '%s'", m.def.name, name)
}

// namespace is the one object a template may change.
type namespace struct{ fields *Map }

// loop is the variable "loop" of a for statement.
type loop struct {
	items   []Value
	at      int
	depth   int64
	kept    bool
	seen    []Value // by loop.changed
	changed bool
}

func (l *loop) attr(name string) (Value, bool) {
	n := int64(len(l.items))
	at := int64(l.at)
	switch name {
	case "index":
		return at + 1, true
	case "index0":
		return at, true
	case "revindex":
		return n - at, true
	case "revindex0":
		return n - at - 1, true
	case "first":
		return at == 0, true
	case "last":
		return at == n-1, true
	case "length":
		return n, true
	case "depth":
		return l.depth, true
	case "depth0":
		return l.depth - 1, true
	case "previtem":
		if at == 0 {
			return undefined("there is no previous item"), true
		}
		return l.items[at-1], true
	case "nextitem":
		if at == n-1 {
			return undefined("there is no next item"), true
		}
		return l.items[at+1], true
	}
	return nil, false
}

// method runs loop.cycle and loop.changed.
func (l *loop) method(name string, a args) (Value, bool, error) {
	switch name {
	case "cycle":
		if len(a.list) == 0 {
			return nil, true, errors.New("TypeError: no items for cycling given")
		}
		return a.list[l.at%len(a.list)], true, nil
	case "changed":
		same := l.changed && len(l.seen) == len(a.list)
		for i := 0; same && i < len(a.list); i++ {
			same = equal(l.seen[i], a.list[i])
		}
		l.changed, l.seen = true, a.list
		return !same, true, nil
	}
	return nil, false, nil
}
