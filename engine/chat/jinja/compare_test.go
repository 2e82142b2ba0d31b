package jinja

import (
	"strings"
	"testing"
)

// Comparing long values over and over ends at the limit of steps.
func TestComparisonsArePaid(t *testing.T) {
	l := NewList(int64(1))
	for range 60 {
		l = NewList(l, l)
	}
	for _, source := range []string{
		"{% set s = 'x' * 1000000 %}{% set t = 'x' * 1000000 %}{% for i in range(100000) %}{{ s == t }}{{ s < t }}{% endfor %}",
		"{% for i in range(100000) %}{{ [x] == [y] }}{% endfor %}",
	} {
		tm, err := Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tm.Render([]Var{{"x", l}, {"y", NewList(l.Items...)}}); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestRangeUpToTheLastInteger(t *testing.T) {
	tm, err := Parse("{{ range(9223372036854775806, 9223372036854775807, 2)|list }}")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tm.Render(nil); err != nil || got != "[9223372036854775806]" {
		t.Errorf("%q, %v", got, err)
	}
}
