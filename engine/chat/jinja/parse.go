package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Template is a parsed template. It is immutable.
type Template struct {
	body    []stmt
	symbols map[string]symbol
}

// symbol stands for a variable's name, so that looking it up compares numbers.
type symbol int32

// Parse reads a template source. Constructs that need other templates (include, import, extends) and unknown filters,
// tests and statements are refused here.
func Parse(source string) (*Template, error) {
	if len(source) > maxSourceBytes {
		return nil, &Error{Message: fmt.Sprintf("template of %d bytes is longer than the limit of %d", len(source), maxSourceBytes)}
	}
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, symbols: map[string]symbol{}}
	body, _, err := p.block()
	if err != nil {
		return nil, err
	}
	return &Template{body: body, symbols: p.symbols}, nil
}

type parser struct {
	tokens  []token
	at      int
	depth   int
	loops   int // enclosing for statements, for break and continue
	symbols map[string]symbol
}

func (p *parser) cur() token { return p.tokens[p.at] }

func (p *parser) fail(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Line: p.cur().line}
}

func (p *parser) unexpected() error {
	t := p.cur()
	if t.kind == tokEOF {
		return p.fail("unexpected end of template")
	}
	return p.fail("unexpected %q", t.text)
}

func (p *parser) is(kind tokenKind, text string) bool {
	return p.cur().kind == kind && p.cur().text == text
}

func (p *parser) skip(kind tokenKind, text string) bool {
	if p.is(kind, text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(kind tokenKind, text string) error {
	if p.skip(kind, text) {
		return nil
	}
	if t := p.cur(); t.kind != tokEOF {
		return p.fail("expected %q, found %q", text, t.text)
	}
	return p.fail("expected %q before the end", text)
}

func (p *parser) name() (string, error) {
	t := p.cur()
	if t.kind != tokName {
		return "", p.unexpected()
	}
	p.at++
	return t.text, nil
}

func (p *parser) symbol(name string) symbol {
	id, ok := p.symbols[name]
	if !ok {
		id = symbol(len(p.symbols) + 1)
		p.symbols[name] = id
	}
	return id
}

func (p *parser) variable() (symbol, error) {
	name, err := p.name()
	return p.symbol(name), err
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxParseDepth {
		return p.fail("nested more than %d deep", maxParseDepth)
	}
	return nil
}

// block reads statements up to one of the named end statements, whose name it consumes and returns (its arguments and
// close are the caller's), or to the end of the template if there are none.
func (p *parser) block(ends ...string) ([]stmt, string, error) {
	if err := p.enter(); err != nil {
		return nil, "", err
	}
	defer func() { p.depth-- }()
	var body []stmt
	for {
		t := p.cur()
		switch {
		case t.kind == tokEOF:
			if len(ends) > 0 {
				return nil, "", p.fail("missing %s", strings.Join(ends, " or "))
			}
			return body, "", nil
		case t.kind == tokData:
			p.at++
			body = append(body, stmt{t.line, textStmt(t.text)})
			continue
		case t.text == "{{":
			p.at++
			e, err := p.tuple()
			if err == nil {
				err = p.expect(tokClose, "}}")
			}
			if err != nil {
				return nil, "", err
			}
			body = append(body, stmt{t.line, outputStmt{e}})
			continue
		}
		p.at++ // {%
		name, err := p.name()
		if err != nil {
			return nil, "", err
		}
		if slices.Contains(ends, name) {
			return body, name, nil
		}
		s, err := p.statement(name)
		if err != nil {
			return nil, "", err
		}
		body = append(body, stmt{t.line, s})
	}
}

// body reads "%}", statements up to the end statement, and its "%}".
func (p *parser) body(end string) ([]stmt, error) {
	if err := p.expect(tokClose, "%}"); err != nil {
		return nil, err
	}
	body, _, err := p.block(end)
	if err != nil {
		return nil, err
	}
	if end == "endmacro" && p.cur().kind == tokName {
		p.at++ // the macro's name may be repeated
	}
	return body, p.expect(tokClose, "%}")
}

func (p *parser) statement(name string) (executor, error) {
	switch name {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement()
	case "set":
		return p.setStatement()
	case "macro":
		return p.macroStatement()
	case "call":
		return p.callStatement()
	case "filter":
		return p.filterStatement()
	case "with":
		return p.withStatement()
	case "generation": // marks the model's own text for training; it renders as its body
		body, err := p.body("endgeneration")
		return scopeStmt{body: body}, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.fail("%s outside of a loop", name)
		}
		return jumpStmt(name), p.expect(tokClose, "%}")
	}
	return nil, p.fail("unknown statement %q", name)
}

func (p *parser) ifStatement() (executor, error) {
	s := &ifStmt{}
	for {
		cond, err := p.tuple()
		if err != nil {
			return nil, err
		}
		if err := p.expect(tokClose, "%}"); err != nil {
			return nil, err
		}
		body, end, err := p.block("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		s.branches = append(s.branches, branch{cond, body})
		switch end {
		case "elif":
			continue
		case "else":
			s.otherwise, err = p.body("endif")
			return s, err
		}
		return s, p.expect(tokClose, "%}")
	}
}

// targets reads the names a value is bound to.
func (p *parser) targets() ([]symbol, error) {
	paren := p.skip(tokOp, "(")
	var names []symbol
	for {
		id, err := p.variable()
		if err != nil {
			return nil, err
		}
		names = append(names, id)
		if !p.skip(tokOp, ",") {
			break
		}
	}
	if paren {
		return names, p.expect(tokOp, ")")
	}
	return names, nil
}

func (p *parser) forStatement() (executor, error) {
	s := &forStmt{loopName: p.symbol("loop")}
	var err error
	if s.targets, err = p.targets(); err != nil {
		return nil, err
	}
	if err = p.expect(tokName, "in"); err != nil {
		return nil, err
	}
	if s.over, err = p.tupleWithoutCondition(); err != nil {
		return nil, err
	}
	if p.skip(tokName, "if") {
		if s.filter, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.is(tokName, "recursive") {
		return nil, p.fail("recursive loops are not supported")
	}
	if err = p.expect(tokClose, "%}"); err != nil {
		return nil, err
	}
	p.loops++
	body, end, err := p.block("else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	if s.body = body; end == "else" {
		s.otherwise, err = p.body("endfor")
		return s, err
	}
	return s, p.expect(tokClose, "%}")
}

func (p *parser) setStatement() (executor, error) {
	if p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == "." && p.tokens[p.at+1].kind == tokOp {
		object, err := p.variable()
		if err != nil {
			return nil, err
		}
		p.at++
		field, err := p.name()
		if err != nil {
			return nil, err
		}
		value, body, err := p.assigned()
		return &setStmt{targets: []symbol{object}, field: field, value: value, body: body}, err
	}
	targets, err := p.targets()
	if err != nil {
		return nil, err
	}
	value, body, err := p.assigned()
	return &setStmt{targets: targets, value: value, body: body}, err
}

// assigned reads what follows a set statement's target: "= value", or filters and a body up to endset.
func (p *parser) assigned() (expr, []stmt, error) {
	if p.skip(tokOp, "=") {
		value, err := p.tuple()
		if err != nil {
			return nil, nil, err
		}
		return value, nil, p.expect(tokClose, "%}")
	}
	captured, err := p.filters(capturedExpr{})
	if err != nil {
		return nil, nil, err
	}
	body, err := p.body("endset")
	return captured, append([]stmt{}, body...), err
}

func (p *parser) macroStatement() (executor, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	m := &macroDef{name: name, caller: p.symbol("caller")}
	if err := p.expect(tokOp, "("); err != nil {
		return nil, err
	}
	if err := p.parameters(m); err != nil {
		return nil, err
	}
	loops := p.loops
	p.loops = 0
	m.body, err = p.body("endmacro")
	p.loops = loops
	return &macroStmt{p.symbol(name), m}, err
}

// parameters reads a macro's parameters up to the closing parenthesis.
func (p *parser) parameters(m *macroDef) error {
	for !p.skip(tokOp, ")") {
		if len(m.params) > 0 {
			if err := p.expect(tokOp, ","); err != nil {
				return err
			}
		}
		name, err := p.name()
		if err != nil {
			return err
		}
		param := parameter{name: name, id: p.symbol(name)}
		if p.skip(tokOp, "=") {
			if param.fallback, err = p.expression(); err != nil {
				return err
			}
		}
		m.params = append(m.params, param)
	}
	return nil
}

func (p *parser) callStatement() (executor, error) {
	m := &macroDef{name: "caller", caller: p.symbol("caller")}
	if p.skip(tokOp, "(") {
		if err := p.parameters(m); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	call, ok := e.(*callExpr)
	if !ok {
		return nil, p.fail("expected a call")
	}
	loops := p.loops
	p.loops = 0
	m.body, err = p.body("endcall")
	p.loops = loops
	return &callStmt{call, m}, err
}

func (p *parser) filterStatement() (executor, error) {
	p.at-- // filters expects the bar that the name filter stands for
	p.tokens[p.at] = token{tokOp, "|", p.tokens[p.at].line}
	chain, err := p.filters(capturedExpr{})
	if err != nil {
		return nil, err
	}
	body, err := p.body("endfilter")
	return &captureStmt{body, chain}, err
}

func (p *parser) withStatement() (executor, error) {
	var s scopeStmt
	for !p.is(tokClose, "%}") {
		if len(s.names) > 0 {
			if err := p.expect(tokOp, ","); err != nil {
				return nil, err
			}
		}
		id, err := p.variable()
		if err == nil {
			err = p.expect(tokOp, "=")
		}
		if err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.names, s.values = append(s.names, id), append(s.values, value)
	}
	var err error
	s.body, err = p.body("endwith")
	return s, err
}

// tuple reads one expression, or several with commas between them, which make a tuple.
func (p *parser) tuple() (expr, error) { return p.tupleOf(p.expression) }

// tupleWithoutCondition is tuple where a following "if" belongs to the statement.
func (p *parser) tupleWithoutCondition() (expr, error) { return p.tupleOf(p.or) }

func (p *parser) tupleOf(one func() (expr, error)) (expr, error) {
	first, err := one()
	if err != nil || !p.is(tokOp, ",") {
		return first, err
	}
	t := &listExpr{items: []expr{first}, tuple: true}
	for p.skip(tokOp, ",") {
		if p.cur().kind == tokClose || p.is(tokOp, ")") || p.is(tokOp, "=") {
			break
		}
		e, err := one()
		if err != nil {
			return nil, err
		}
		t.items = append(t.items, e)
	}
	return t, nil
}

// expression reads "a if b else c" or anything that binds closer.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.or()
	for err == nil && p.skip(tokName, "if") {
		c := &condExpr{then: e}
		if c.cond, err = p.or(); err != nil {
			return nil, err
		}
		if p.skip(tokName, "else") {
			if c.otherwise, err = p.expression(); err != nil {
				return nil, err
			}
		}
		e = c
	}
	return e, err
}

func (p *parser) or() (expr, error) {
	left, err := p.and()
	for err == nil && p.skip(tokName, "or") {
		var right expr
		right, err = p.and()
		left = &orExpr{left, right}
	}
	return left, err
}

func (p *parser) and() (expr, error) {
	left, err := p.not()
	for err == nil && p.skip(tokName, "and") {
		var right expr
		right, err = p.not()
		left = &andExpr{left, right}
	}
	return left, err
}

func (p *parser) not() (expr, error) {
	if !p.skip(tokName, "not") {
		return p.compare()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.not()
	return &notExpr{e}, err
}

func (p *parser) compare() (expr, error) {
	left, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	var chain *compareExpr
	for {
		op, t := "", p.cur()
		switch {
		case t.kind == tokOp && slices.Contains(comparisons, t.text):
			op = t.text
			p.at++
		case p.skip(tokName, "in"):
			op = "in"
		case p.is(tokName, "not") && p.tokens[p.at+1].kind == tokName && p.tokens[p.at+1].text == "in":
			p.at += 2
			op = "not in"
		case chain == nil:
			return left, nil
		default:
			return chain, nil
		}
		right, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		if chain == nil {
			chain = &compareExpr{first: left}
		}
		chain.ops = append(chain.ops, op)
		chain.rest = append(chain.rest, right)
	}
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

// binaryLevels are the left-associative operators from loosest to tightest.
var binaryLevels = [][]string{{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}}

func (p *parser) binary(level int) (expr, error) {
	if level == len(binaryLevels) {
		return p.unary(true)
	}
	left, err := p.binary(level + 1)
	for err == nil && p.cur().kind == tokOp && slices.Contains(binaryLevels[level], p.cur().text) {
		op := p.cur().text
		p.at++
		var right expr
		right, err = p.binary(level + 1)
		left = &binaryExpr{op, left, right}
	}
	return left, err
}

func (p *parser) unary(withFilters bool) (expr, error) {
	var e expr
	var err error
	if p.is(tokOp, "-") || p.is(tokOp, "+") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		negative := p.cur().text == "-"
		p.at++
		e, err = p.unary(false)
		e = &signExpr{negative, e}
		p.depth--
	} else {
		e, err = p.primary()
	}
	if err != nil {
		return nil, err
	}
	if e, err = p.postfix(e); err != nil || !withFilters {
		return e, err
	}
	return p.filters(e)
}

func (p *parser) primary() (expr, error) {
	t := p.cur()
	p.at++
	switch t.kind {
	case tokName:
		switch t.text {
		case "true", "True":
			return &constExpr{true}, nil
		case "false", "False":
			return &constExpr{false}, nil
		case "none", "None":
			return &constExpr{nil}, nil
		}
		return &nameExpr{p.symbol(t.text), undefined("'" + t.text + "' is undefined")}, nil
	case tokString:
		text := t.text
		for p.cur().kind == tokString {
			text += p.cur().text
			p.at++
		}
		return &constExpr{text}, nil
	case tokInt, tokFloat:
		return p.number(t)
	case tokOp:
		switch t.text {
		case "(":
			if p.skip(tokOp, ")") {
				return &listExpr{tuple: true}, nil
			}
			e, err := p.tuple()
			if err != nil {
				return nil, err
			}
			return e, p.expect(tokOp, ")")
		case "[":
			return p.list()
		case "{":
			return p.dict()
		}
	}
	p.at--
	return nil, p.unexpected()
}

func (p *parser) number(t token) (expr, error) {
	text := strings.ReplaceAll(t.text, "_", "")
	if t.kind == tokFloat {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, p.fail("malformed number %q", t.text)
		}
		return &constExpr{f}, nil
	}
	base := 10
	if len(text) > 1 && text[0] == '0' && text[1]|0x20 >= 'a' {
		base = 0
	}
	i, err := strconv.ParseInt(text, base, 64)
	if err != nil {
		return nil, p.fail("malformed number %q", t.text)
	}
	return &constExpr{i}, nil
}

func (p *parser) list() (expr, error) {
	l := &listExpr{}
	for !p.skip(tokOp, "]") {
		if len(l.items) > 0 {
			if err := p.expect(tokOp, ","); err != nil {
				return nil, err
			}
			if p.skip(tokOp, "]") {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, e)
	}
	return l, nil
}

func (p *parser) dict() (expr, error) {
	d := &dictExpr{}
	for !p.skip(tokOp, "}") {
		if len(d.keys) > 0 {
			if err := p.expect(tokOp, ","); err != nil {
				return nil, err
			}
			if p.skip(tokOp, "}") {
				break
			}
		}
		key, err := p.expression()
		if err == nil {
			err = p.expect(tokOp, ":")
		}
		if err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, key), append(d.values, value)
	}
	return d, nil
}

// postfix reads attributes, subscripts and calls.
func (p *parser) postfix(e expr) (expr, error) {
	for {
		var err error
		switch {
		case p.skip(tokOp, "."):
			t := p.cur()
			p.at++
			switch t.kind {
			case tokName:
				e = &attrExpr{e, t.text}
			case tokInt:
				i, bad := strconv.ParseInt(t.text, 10, 64)
				e, err = &itemExpr{e, &constExpr{i}}, bad
			default:
				p.at--
				err = p.unexpected()
			}
		case p.skip(tokOp, "["):
			e, err = p.subscript(e)
		case p.skip(tokOp, "("):
			c := &callExpr{callee: e}
			c.args, err = p.arguments()
			e = c
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) subscript(of expr) (expr, error) {
	var parts [3]expr
	n := 0
	for {
		if p.skip(tokOp, ":") {
			if n++; n > 2 {
				return nil, p.unexpected()
			}
			continue
		}
		if p.skip(tokOp, "]") {
			break
		}
		if parts[n] != nil {
			return nil, p.unexpected()
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		parts[n] = e
	}
	if n > 0 {
		return &sliceExpr{of, parts[0], parts[1], parts[2]}, nil
	}
	if parts[0] == nil {
		return nil, p.fail("empty subscript")
	}
	return &itemExpr{of, parts[0]}, nil
}

// arguments reads call arguments up to the closing parenthesis.
func (p *parser) arguments() (a argExprs, err error) {
	for count := 0; !p.skip(tokOp, ")"); count++ {
		if count > 0 {
			if err := p.expect(tokOp, ","); err != nil {
				return a, err
			}
			if p.skip(tokOp, ")") {
				break
			}
		}
		keyword := ""
		if p.cur().kind == tokName && p.tokens[p.at+1].kind == tokOp && p.tokens[p.at+1].text == "=" {
			keyword = p.cur().text
			p.at += 2
		}
		e, err := p.expression()
		if err != nil {
			return a, err
		}
		switch {
		case keyword != "":
			a.names, a.named = append(a.names, keyword), append(a.named, e)
		case len(a.named) > 0:
			return a, p.fail("positional argument after a named one")
		default:
			a.list = append(a.list, e)
		}
	}
	return a, nil
}

// filters reads "| filter", "is test" and calls behind an operand.
func (p *parser) filters(e expr) (expr, error) {
	for {
		var err error
		switch {
		case p.skip(tokOp, "|"):
			e, err = p.filter(e)
		case p.skip(tokName, "is"):
			e, err = p.test(e)
		case p.skip(tokOp, "("):
			c := &callExpr{callee: e}
			c.args, err = p.arguments()
			e = c
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) filter(e expr) (expr, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	f, ok := filterByName(name)
	if !ok {
		return nil, p.fail("No filter named '%s'.", name)
	}
	node := &filterExpr{of: e, apply: f}
	if p.skip(tokOp, "(") {
		node.args, err = p.arguments()
	}
	return node, err
}

func (p *parser) test(e expr) (expr, error) {
	negated := p.skip(tokName, "not")
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	f, ok := testByName(name)
	if !ok {
		return nil, p.fail("No test named '%s'.", name)
	}
	node := &testExpr{of: e, check: f, negated: negated}
	t := p.cur()
	switch {
	case p.skip(tokOp, "("):
		node.args, err = p.arguments()
	case t.kind == tokString, t.kind == tokInt, t.kind == tokFloat,
		t.kind == tokOp && (t.text == "[" || t.text == "{"),
		t.kind == tokName && !slices.Contains([]string{"else", "or", "and", "if", "is", "in", "not", "recursive"}, t.text):
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		node.args.list = []expr{arg}
	}
	return node, err
}
