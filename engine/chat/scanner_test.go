package chat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// bashTool and friends are the tools most cases declare.
var scanTools = []Tool{
	{Name: "bash", Schema: []byte(`{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"}}}`)},
	{Name: "edit", Schema: []byte(`{"type":"object","$defs":{"Mode":{"enum":["fast","slow"]},"N":{"type":"integer"}},"properties":{
		"path":{"type":"string"},"text":{"type":"string"},"n":{"type":"integer"},"x":{"type":"number"},"on":{"type":"boolean"},
		"list":{"type":"array"},"obj":{"type":"object"},"any":{},"nothing":{"type":"null"},
		"maybe":{"type":["string","null"]},"count":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"either":{"type":["array","string"]},"mode":{"$ref":"#/$defs/Mode"},"ref":{"$ref":"#/$defs/N"},
		"one":{"oneOf":[{"const":1},{"const":true}]},"all":{"allOf":[{"type":["integer","string"]},{"type":"integer"}]}}}`)},
	{Name: "get weather.v2"},
	{Name: "noargs"},
}

// scan joins the events of one cutting into a readable form: R(…) C(…) name(…) with ! on a call that did not end.
func scan(t testing.TB, opts ScannerOptions, pieces ...string) (string, *Scanner) {
	t.Helper()
	s := NewScanner(opts)
	var out strings.Builder
	var last *Event
	open := -1
	emit := func(e Event) {
		if e.Text == "" && e.Kind != CallStart && e.Kind != CallEnd {
			t.Errorf("empty event of kind %d", e.Kind)
		}
		if last == nil || last.Kind != e.Kind || e.Kind >= CallStart && e.Kind != CallArgs {
			switch e.Kind {
			case Reasoning:
				out.WriteString("|R ")
			case Content:
				out.WriteString("|C ")
			case CallStart:
				fmt.Fprintf(&out, "|%d:%s ", e.Index, e.Name)
				open = e.Index
			case CallEnd:
				out.WriteString(" end")
				open = -1
			}
		}
		if e.Kind >= CallArgs && e.Kind != CallEnd && e.Index != open {
			t.Errorf("arguments for call %d while %d is open", e.Index, open)
		}
		out.WriteString(e.Text)
		last = &e
	}
	for _, p := range pieces {
		s.Feed([]byte(p), emit)
	}
	s.Finish(emit)
	return out.String(), s
}

const call1 = "<tool_call>\n<function=bash>\n<parameter=command>\nls -l\n</parameter>\n</function>\n</tool_call>"

func call(fn string, pairs ...string) string {
	var b strings.Builder
	b.WriteString("<tool_call>\n<function=" + fn + ">\n")
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("<parameter=" + pairs[i] + ">\n" + pairs[i+1] + "\n</parameter>\n")
	}
	b.WriteString("</function>\n</tool_call>")
	return b.String()
}

type scanCase struct {
	name string // with the catalogue's number where it has one
	opts ScannerOptions
	in   string
	want string
	raw  string // of the incomplete call
}

func scanCases() []scanCase {
	tools := ScannerOptions{Tools: scanTools}
	think := ScannerOptions{Tools: scanTools, ThinkOpen: true}
	stop := func(texts ...string) ScannerOptions {
		return ScannerOptions{Tools: scanTools, ThinkOpen: true, Stop: texts}
	}
	return []scanCase{
		{name: "C1 markup in an argument", opts: tools, in: call("bash", "command", `<div=foo> <b>x</b> &amp; "q" \n`),
			want: `|0:bash {"command":"<div=foo> <b>x</b> &amp; \"q\" \\n"} end`},
		{name: "C2 a close tag in the middle of a value", opts: tools, in: call("bash", "command", "echo '</parameter>' and more"),
			want: `|0:bash {"command":"echo '</parameter>' and more"} end`},
		{name: "C2 a close tag at the end of a line", opts: tools, in: call("bash", "command", "a\n</parameter>\nb"),
			want: `|0:bash {"command":"a\n</parameter>\nb"} end`},
		{name: "C2 a close tag before a tag that is none", opts: tools, in: call("bash", "command", "a</parameter> <parameter=x\n</parameter> </func"),
			want: `|0:bash {"command":"a</parameter> <parameter=x\n</parameter> </func"} end`},
		{name: "C3 content ends in <", opts: tools, in: "if a <", want: "|C if a <"},
		{name: "C3 content ends in a newline", opts: tools, in: "done.\n\n", want: "|C done.\n\n"},
		{name: "C3 content ends in half a tag", opts: tools, in: "x\n<tool_call>\n<function=ba", want: "|C x\n<tool_call>\n<function=ba"},
		{name: "C4 a call inside reasoning", opts: think, in: "I look. \n" + call1, want: `|R I look.|0:bash {"command":"ls -l"} end`},
		{name: "C4 a call instead of reasoning", opts: think, in: call1, want: `|0:bash {"command":"ls -l"} end`},
		{name: "C4 an undeclared call inside reasoning", opts: think, in: "say <tool_call>\n<function=foo>\n</function></think>ok",
			want: "|R say <tool_call>\n<function=foo>\n</function>|C ok"},
		{name: "C4 a call inside reasoning that is none", opts: think, in: "say <tool_call> <function=bash> <b>",
			want: "|R say|C <tool_call> <function=bash> <b>"},
		{name: "C5 strings that look like something else", opts: tools,
			in:   call("edit", "path", "null", "text", "true") + call("edit", "path", "12", "text", `{"a":1}`),
			want: `|0:edit {"path":"null","text":"true"} end|1:edit {"path":"12","text":"{\"a\":1}"} end`},
		{name: "C6 two functions in a block", opts: tools,
			in:   "<tool_call>\n<function=bash>\n<parameter=command>\na\n</parameter>\n</function>\n<function=other>\n</function>\n</tool_call>",
			want: `|0:bash {"command":"a"} end|1:other {} end`},
		{name: "C7 a doubled close tag", opts: tools, in: call1 + "</tool_call>\n</tool_call>\nnext\n" + call1,
			want: "|0:bash {\"command\":\"ls -l\"} end|C next|1:bash {\"command\":\"ls -l\"} end"},
		{name: "C8 a sentence before the call", opts: tools, in: "Let me look.\n\n" + call1,
			want: `|C Let me look.|0:bash {"command":"ls -l"} end`},
		{name: "C9 an undeclared name", opts: tools, in: call("frobnicate", "a", "1"), want: `|0:frobnicate {"a":"1"} end`},
		{name: "C10 cut off inside an argument", opts: tools, in: "Go.\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n-l",
			want: `|C Go.|0:bash {"command":"ls\n-l`, raw: "\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n-l"},
		{name: "C10 cut off inside a close tag", opts: tools, in: "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</param",
			want: `|0:bash {"command":"ls\n</param`, raw: "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</param"},
		{name: "C10 cut off behind an argument", opts: tools, in: "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n",
			want: `|0:bash {"command":"ls"`, raw: "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n"},
		{name: "C10 cut off inside a key", opts: tools, in: "<tool_call>\n<function=bash>\n<parameter=comm",
			want: `|0:bash {`, raw: "<tool_call>\n<function=bash>\n<parameter=comm"},
		{name: "C10 cut off inside a typed value", opts: tools, in: "<tool_call>\n<function=edit>\n<parameter=n>\n12",
			want: `|0:edit {"n":`, raw: "<tool_call>\n<function=edit>\n<parameter=n>\n12"},
		{name: "C10 the second call cut off", opts: tools, in: call1 + "\n<tool_call>\n<function=noargs>\n</function",
			want: "|0:bash {\"command\":\"ls -l\"} end|C <tool_call>\n<function=noargs>\n</function"},
		{name: "C11 names and keys", opts: tools, in: call("get weather.v2", "Stadt äö", "x", "a.b", "y", `q"k`, "z"),
			want: `|0:get weather.v2 {"Stadt äö":"x","a.b":"y","q\"k":"z"} end`},
		{name: "C11 quotes around a declared name", opts: tools, in: call(`"bash"`, `'timeout'`, "5", " command ", "x"),
			want: `|0:bash {"timeout":5,"command":"x"} end`},
		{name: "C11 quotes around an undeclared name", opts: tools, in: call(`"foo"`), want: `|0:"foo" {} end`},
		{name: "C12 newlines at the ends of a value", opts: tools, in: call("bash", "command", "\n\nls\n\n"),
			want: `|0:bash {"command":"\n\nls\n\n"} end`},
		{name: "C12 a value of one newline", opts: tools, in: "<tool_call><function=bash><parameter=command>\n</parameter></function></tool_call>",
			want: `|0:bash {"command":""} end`},
		{name: "C12 a value without newlines", opts: tools, in: "<tool_call><function=bash><parameter=command>ls</parameter></function></tool_call>",
			want: `|0:bash {"command":"ls"} end`},
		{name: "C12 spaces are kept", opts: tools, in: call("bash", "command", "  ls\t"), want: `|0:bash {"command":"  ls\t"} end`},
		{name: "C13 integers", opts: tools, in: call("edit", "n", "123456789012345678901", "ref", "+5", "count", "007", "all", "-0"),
			want: `|0:edit {"n":123456789012345678901,"ref":5,"count":"007","all":-0} end`},
		{name: "C14 numbers", opts: tools, in: call("edit", "n", "3.0", "x", "1e5") + call("edit", "x", ".5") + call("edit", "x", "NaN") + call("edit", "x", "-3.", "n", "3.5"),
			want: `|0:edit {"n":3,"x":1e5} end|1:edit {"x":0.5} end|2:edit {"x":"NaN"} end|3:edit {"x":-3.0,"n":"3.5"} end`},
		{name: "C15 a Python list", opts: tools, in: call("edit", "list", `['a', "b's", True, None, (1, 2.50), {'k': 'v',},]`),
			want: `|0:edit {"list":["a", "b's", true, null, [1, 2.50], {"k": "v"}]} end`},
		{name: "C15 not even Python", opts: tools, in: call("edit", "list", `[a, b]`, "obj", "{'a': }"),
			want: `|0:edit {"list":"[a, b]","obj":"{'a': }"} end`},
		{name: "JSON values pass unchanged", opts: tools, in: call("edit", "list", "[1,  \"ä\",\n 1e400]", "obj", `{"b":1, "a":{"c":[]}}`),
			want: "|0:edit {\"list\":[1,  \"ä\",\n 1e400],\"obj\":{\"b\":1, \"a\":{\"c\":[]}}} end"},
		{name: "C16 array or string", opts: tools, in: call("edit", "either", "[1]") + call("edit", "either", "[draft] x"),
			want: `|0:edit {"either":[1]} end|1:edit {"either":"[draft] x"} end`},
		{name: "nulls", opts: tools, in: call("edit", "maybe", "null", "count", "NULL", "n", "null", "path", "null", "nothing", "x"),
			want: `|0:edit {"maybe":null,"count":null,"n":null,"path":"null","nothing":"x"} end`},
		{name: "booleans and references", opts: tools, in: call("edit", "on", "True", "mode", "fast", "ref", "7", "one", "1", "all", "3"),
			want: `|0:edit {"on":true,"mode":"fast","ref":7,"one":1,"all":3} end`},
		{name: "untyped is text", opts: tools, in: call("edit", "any", "12", "on", "yes"), want: `|0:edit {"any":"12","on":"yes"} end`},
		{name: "C17 an unknown parameter", opts: tools, in: call("bash", "command", "a", "speed", "12"),
			want: `|0:bash {"command":"a","speed":"12"} end`},
		{name: "C18 a parameter twice", opts: tools, in: call("bash", "command", "a", "command", "b", "timeout", "1", "timeout", "x"),
			want: `|0:bash {"command":"a","timeout":1} end`},
		{name: "C19 blank lines around calls", opts: tools, in: "\n\n" + call1 + "\n\n\n" + call1 + "\n\n ",
			want: `|0:bash {"command":"ls -l"} end|1:bash {"command":"ls -l"} end`},
		{name: "C20 almost tags", opts: tools, in: "<tool_callx <functional a<b <tool_call> x", want: "|C <tool_callx <functional a<b <tool_call> x"},
		{name: "C20 a tag quoted twice", opts: tools, in: "a <tool_call><tool_call>\n<function=noargs></function>", want: "|C a <tool_call>|0:noargs {} end"},
		{name: "C22 several calls", opts: tools, in: call("noargs") + call("noargs") + call("noargs"), want: "|0:noargs {} end|1:noargs {} end|2:noargs {} end"},
		{name: "C23 text after a call, then another", opts: tools, in: call1 + "\nAnd then:\n" + call1,
			want: "|0:bash {\"command\":\"ls -l\"} end|C And then:|1:bash {\"command\":\"ls -l\"} end"},
		{name: "C30 a split character", opts: tools, in: "ä€😀", want: "|C ä€😀"},
		{name: "C30 invalid bytes", opts: tools, in: "a\xff\xfe\xe2\x82b\xe2\x82", want: "|C a\ufffdb\ufffd"},
		{name: "C31 a stop text", opts: stop("\nUser:"), in: "</think>Hello\nUser: more", want: "|C Hello"},
		{name: "C31 almost a stop text", opts: stop("abcabd"), in: "</think>abcabcabx", want: "|C abcabcabx"},
		{name: "C31 overlapping itself", opts: stop("abcabd"), in: "</think>xabcabcabdy", want: "|C xabc"},
		{name: "C32 a stop text in reasoning and arguments", opts: stop("STOP"), in: "a STOP b</think>" + call("bash", "command", "STOP") + "x STOP y",
			want: `|R a STOP b|0:bash {"command":"STOP"} end|C x `},
		{name: "C33 one stop text begins another", opts: stop("abc", "ab"), in: "</think>xxabcab", want: "|C xx"},
		{name: "C33 one stop text inside another", opts: stop("xabcd", "bc"), in: "</think>..xabcd", want: "|C ..xa"},
		{name: "C33 two end together", opts: stop("bc", "abc"), in: "</think>..abcd", want: "|C .."},
		{name: "a stop text of white space", opts: stop("\n\n"), in: "</think>\n\na\n\n" + call1, want: "|C a"},
		{name: "no stop text over a call", opts: stop("ab"), in: "</think>a" + call1 + "b", want: `|C a|0:bash {"command":"ls -l"} end|C b`},
		{name: "a stop text cut by the end", opts: stop("stop"), in: "</think>a sto", want: "|C a sto"},
		{name: "a stop text that begins like a tag", opts: stop("<b>"), in: "</think>a <b> c", want: "|C a "},
		{name: "reasoning then content", opts: think, in: "\n think \n hard \n</think>\n\nAnswer \n", want: "|R think \n hard|C Answer \n"},
		{name: "a repeated think tag", opts: think, in: "<think>\na <think> b</think>c", want: "|R a <think> b|C c"},
		{name: "empty reasoning", opts: think, in: "\n\n</think>\n\nc", want: "|C c"},
		{name: "cut off in reasoning", opts: think, in: "because \n", want: "|R because"},
		{name: "cut off in the close of reasoning", opts: think, in: "because\n</thin", want: "|R because\n</thin"},
		{name: "a surplus close of reasoning", opts: tools, in: " \n</think>\n\nHi</think>!", want: "|C Hi</think>!"},
		{name: "a close of reasoning after a call", opts: tools, in: call1 + "\n</think>\nx", want: "|0:bash {\"command\":\"ls -l\"} end|C x"},
		{name: "a close of reasoning twice", opts: think, in: "r</think>\n</think> c", want: "|R r|C c"},
		{name: "leading space of content is kept", opts: tools, in: "  x", want: "|C   x"},
		{name: "no tools", opts: ScannerOptions{ThinkOpen: true}, in: "r " + call1 + "</think>\n" + call1, want: "|R r " + call1 + "|C " + call1},
		{name: "tools off", opts: ScannerOptions{Tools: scanTools, ToolsOff: true}, in: "a\n" + call1, want: "|C a\n" + call1},
		{name: "a bare function", opts: tools, in: "Hm\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>\nok",
			want: "|C Hm|0:bash {\"command\":\"ls\"} end|C ok"},
		{name: "a bare function, not declared", opts: tools, in: "<function=foo>\n</function>", want: "|C <function=foo>\n</function>"},
		{name: "a bare function in a line", opts: tools, in: "use <function=noargs></function>", want: "|C use <function=noargs></function>"},
		{name: "a missing close", opts: tools, in: "<tool_call><function=noargs></function>\n<tool_call><function=noargs></function>", want: "|0:noargs {} end|1:noargs {} end"},
		{name: "a name that is too long", opts: tools, in: "<tool_call><function=" + strings.Repeat("n", 300) + "></function>",
			want: "|C <tool_call><function=" + strings.Repeat("n", 300) + "></function>"},
		{name: "an empty name", opts: tools, in: "<tool_call><function=></function>", want: "|C <tool_call><function=></function>"},
		{name: "nothing", opts: think, in: "", want: ""},
	}
}

func TestScanner(t *testing.T) {
	for _, c := range scanCases() {
		t.Run(c.name, func(t *testing.T) {
			got, s := scan(t, c.opts, c.in)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if raw, ok := s.Incomplete(); raw != c.raw || ok != (c.raw != "") {
				t.Errorf("incomplete %q, want %q", raw, c.raw)
			}
			checkCalls(t, s)
			checkCuts(t, c.opts, c.in, got)
		})
	}
}

// checkCalls: completed arguments are JSON objects.
func checkCalls(t testing.TB, s *Scanner) {
	t.Helper()
	for _, c := range s.Calls() {
		var v map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.Arguments), &v); err != nil {
			t.Errorf("arguments of %s: %v in %s", c.Name, err, c.Arguments)
		}
	}
}

// checkCuts feeds in at every place cut in two, byte by byte and at random.
func checkCuts(t testing.TB, opts ScannerOptions, in, want string) {
	t.Helper()
	for i := range len(in) + 1 {
		if got, _ := scan(t, opts, in[:i], in[i:]); got != want {
			t.Fatalf("cut at %d (%q): got %q\nwant %q", i, in[i:], got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(in))))
	for _, longest := range []int{1, 2, 7, 40} {
		var pieces []string
		for at := 0; at < len(in); {
			n := min(1+rng.IntN(longest), len(in)-at)
			pieces = append(pieces, in[at:at+n])
			at += n
		}
		if got, _ := scan(t, opts, pieces...); got != want {
			t.Fatalf("pieces %q: got %q\nwant %q", pieces, got, want)
		}
	}
}
