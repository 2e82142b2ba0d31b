package chat

import (
	"strings"
	"testing"
	"time"
)

// A schema must not stop the world each time the model calls its tool: everybody waits for the engine meanwhile.
func TestExpensiveSchemas(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s+",", n-1) + s }
	for name, c := range map[string]struct{ schema, want string }{
		"many references to a long enum": {`{"properties":{"a":{"anyOf":[` + many(`{"$ref":"#/e"}`, 990) + `]}},"e":{"enum":[` + many("1", 100_000) + `]}}`, "1"},
		"many references to many types":  {`{"properties":{"a":{"anyOf":[` + many(`{"$ref":"#/e"}`, 990) + `]}},"e":{"type":[` + many(`"integer"`, 100_000) + `]}}`, "1"},
		"branches that lead back":        {`{"properties":{"a":{"anyOf":[` + many(`{"$ref":"#/properties/a"}`, 20_000) + `]}}}`, `"1"`},
		"all that lead back":             {`{"properties":{"a":{"allOf":[` + many(`{"$ref":"#/properties/a"}`, 20_000) + `]}}}`, `"1"`},
		"long references":                {`{"properties":{"a":{"anyOf":[` + many(`{"$ref":"#`+strings.Repeat("/", 1000)+`"}`, 900) + `]}}}`, `"1"`},
		"a long text":                    {`{` + many(`"x":{"a":1}`, 100_000) + `,"properties":{"a":{"type":"integer"}}}`, "1"},
	} {
		s := NewScanner(ScannerOptions{Tools: []Tool{{Name: "f", Schema: []byte(c.schema)}}})
		start := time.Now()
		for range 100 {
			s.Feed([]byte("<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n"), func(Event) {})
		}
		if took := time.Since(start); took > 4*time.Second { // it was 2 to 80 s
			t.Errorf("%s: 100 calls took %v", name, took)
		}
		if got := s.Calls()[99].Arguments; got != `{"a":`+c.want+`}` {
			t.Errorf("%s: arguments %s", name, got)
		}
	}
}
