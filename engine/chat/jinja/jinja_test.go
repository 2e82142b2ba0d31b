package jinja

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// reference is testdata/jinja2.json: templates and what Jinja2 3.1 made of them, in its immutable sandbox with
// trim_blocks, lstrip_blocks, loop controls, and tojson and raise_exception as model publishers define them.
func reference(t *testing.T) (vars []Var, cases []*Map) {
	t.Helper()
	text, err := os.ReadFile("testdata/jinja2.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseJSON(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	given, _ := v.(*Map).Get("vars")
	for i := range given.(*Map).Len() {
		name, value := given.(*Map).At(i)
		vars = append(vars, Var{name, value})
	}
	list, _ := v.(*Map).Get("cases")
	for _, c := range list.(*List).Items {
		cases = append(cases, c.(*Map))
	}
	return vars, cases
}

func render(source string, vars []Var) (string, error) {
	t, err := Parse(source)
	if err != nil {
		return "", err
	}
	return t.Render(vars)
}

func TestLikeReference(t *testing.T) {
	vars, cases := reference(t)
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		source, _ := c.Get("template")
		got, err := render(source.(string), vars)
		if want, ok := c.Get("text"); ok {
			if err != nil || got != want {
				t.Errorf("%s: error %v\ngot  %q\nwant %q", source, err, got, want)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: rendered %q, want an error", source, got)
			continue
		}
		if raised, ok := c.Get("raised"); ok != e.Raised || ok && e.Message != raised {
			t.Errorf("%s: error %v, want %v", source, err, raised)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, source := range []string{"{{", "{% if %}", "{% if x %}", "{% for x y %}{% endfor %}", "{{ x|nofilter }}", "{{ x is notest }}", "{% include 'x' %}",
		"{# open", "{{ 'open }}", "{% endif %}", "{{ a b }}", "{% set %}", "{{ [1, }}", "{{ f(a=1, 2) }}", "{% break %}", "{% raw %}", "{{ 1..2 }}", "{{ ! }}",
		"{{ " + strings.Repeat("(", 5000), strings.Repeat("{% if x %}", 500), "{{ " + strings.Repeat("not ", 5000), strings.Repeat("x", maxSourceBytes+1)} {
		if _, err := Parse(source); err == nil {
			t.Errorf("%.60s: parsed", source)
		}
	}
}

// A hostile template ends with an error, soon and without much memory.
func TestRenderBounds(t *testing.T) {
	for _, source := range []string{
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(1000) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
		"{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}{% endfor %}{% endfor %}{% endfor %}",
		"{{ 'x' * 10000000000 }}",
		"{% set ns = namespace(x=1) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x|tojson }}",
		"{% set ns = namespace(x=1) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x|list }}{{ ns.x|tojson }}",
		"{{ range(10000000) }}",
		"{{ 9223372036854775807 + 1 }}",
		"{{ 10 ** 100 }}",
	} {
		if _, err := render(source, nil); err == nil {
			t.Errorf("%s: rendered", source)
		}
	}
}

// What is too deep to print is printed in part, and ends.
func TestDeepValue(t *testing.T) {
	got, err := render("{% set ns = namespace(x=1) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}{{ ns.x == [ns.x] }}", nil)
	if err != nil || !strings.HasSuffix(got, "]False") || len(got) > 4*maxValueDepth {
		t.Errorf("error %v, rendered %d bytes", err, len(got))
	}
}

func TestParseJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":[1.50,1E5,1e16,1e-7,-0.0,-0,1e400,12345678901234567890],"b":2}`: `{"b": 2, "a": [1.5, 100000.0, 1e+16, 1e-07, -0.0, 0, Infinity, 12345678901234567890]}`,
		`"\u00e9\ud83d\ude00\ud800x\/\"\\\b\u0001` + "\u007f\u2028" + `"`:           "\"é😀\ufffdx/\\\"\\\\\\b\\u0001\u007f\u2028\"",
		" [ ] ": "[]", "{}": "{}", "null": "null", "true": "true",
	} {
		v, err := ParseJSON([]byte(in), 8)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, _ := AppendJSON(nil, v); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	for in, cut := range map[string]bool{"": true, `{"a"`: true, `{"a":tru`: true, `"\u00`: true, `[1,`: true, `{"a":1.`: true, "[[[[[[[[[1]]]]]]]]]": false,
		"01": false, "[1,]": false, "{a:1}": false, "\"\n\"": false, "1 2": false, `"\x"`: false, "nul1": false, "NaN": false} {
		_, err := ParseJSON([]byte(in), 8)
		var e *SyntaxError
		if !errors.As(err, &e) || e.AtEnd != cut {
			t.Errorf("%s: error %v, at the end %v", in, err, !cut)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"{{ a.b[1:2]|trim is defined }}", "{% for x in y if z %}{{ loop.index }}{% else %}{% endfor %}", "{%- set a = 'b' -%}", "{% macro f(a=1) %}{% endmacro %}{{ f() }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if strings.Contains(source, "range") || strings.Contains(source, "*") {
			return // slow on purpose: TestRenderBounds
		}
		_, _ = render(source, []Var{{"y", NewList(int64(1), "x")}, {"a", "text"}})
	})
}
