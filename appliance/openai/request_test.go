package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"hearth/engine"
)

// with is a minimal request with more fields.
func with(fields string) string {
	return `{"messages":[{"role":"user","content":"hi"}]` + fields + `}`
}

func messages(list string) string { return `{"messages":` + list + `}` }

const (
	aTool  = `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`
	asUser = `{"role":"user","content":"hi"}`
)

func mustDecode(t *testing.T, body string) *ChatRequest {
	t.Helper()
	r, err := DecodeChat([]byte(body), func(name string) { t.Errorf("unknown field %s", name) })
	if err != nil {
		t.Fatalf("%v for %s", err, body)
	}
	return r
}

// Wrong types, values out of range and features that are not built are refused with the path of the field.
func TestRefusals(t *testing.T) {
	call := func(args string) string {
		return messages(`[` + asUser + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":` + args + `}}]}]`)
	}
	const argsPath = "messages[1].tool_calls[0].function.arguments"
	for _, tt := range []struct{ body, param, message string }{
		{``, "", "not valid JSON"},
		{`{"messages":`, "", "not valid JSON"},
		{`[]`, "", "must be an object, not an array"},
		{`null`, "", "must be an object, not null"},
		{"{\"messages\":\"\xff\"}", "", "UTF-8"},
		{`{"messages":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "", "deeper than 96"},
		{`{}`, "messages", "at least one message"},
		{messages(`[]`), "messages", "at least one message"},
		{messages(`null`), "messages", "at least one message"},
		{messages(`"hi"`), "messages", "must be an array, not a string"},
		{messages(`[null]`), "messages[0]", "must be an object, not null"},
		{messages(`[{}]`), "messages[0].role", "missing"},
		{messages(`[{"role":"robot","content":"x"}]`), "messages[0].role", "must be one of"},
		{messages(`[{"role":"user"}]`), "messages[0].content", "missing"},
		{messages(`[{"role":"user","content":5}]`), "messages[0].content", "must be a string or an array of parts, not a number"},
		{messages(`[` + asUser + `,{"role":"user","content":[{"type":"text"}]}]`), "messages[1].content[0].text", "missing"},
		{messages(`[{"role":"user","content":[{"text":"x"}]}]`), "messages[0].content[0].type", "missing"},
		{messages(`[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"x"}}]}]`), "messages[0].content[1].type", "content of type image_url is not supported"},
		{messages(`[{"role":"tool","tool_call_id":"a","content":[{"type":"image","data":"x"}]}]`), "messages[0].content[0].type", "image is not supported"}, // C50
		{messages(`[{"role":"user","content":"x","tool_calls":[{"function":{"name":"f"}}]}]`), "messages[0].tool_calls", "only an assistant"},
		{messages(`[{"role":"assistant","tool_calls":[{}]}]`), "messages[0].tool_calls[0].function", "missing"},
		{messages(`[{"role":"assistant","tool_calls":[{"function":{}}]}]`), "messages[0].tool_calls[0].function.name", "missing"},
		{messages(`[{"role":"assistant","tool_calls":[{"function":{"name":""}}]}]`), "messages[0].tool_calls[0].function.name", "empty"},
		{messages(`[{"role":"assistant","tool_calls":[{"type":"custom","function":{"name":"f"}}]}]`), "messages[0].tool_calls[0].type", "custom"},
		{call(`"{a:1}"`), argsPath, "JSON text of an object"}, // C48
		{call(`"[1]"`), argsPath, "JSON text of an object"},
		{call(`"{} x"`), argsPath, "JSON text of an object"},
		{call(`5`), argsPath, "not a number"},
		{messages(`[` + strings.Repeat(asUser+",", maxMessages) + asUser + `]`), "messages", "more than 10000"},
		{with(`,"max_tokens":0`), "max_tokens", "between 1 and 2147483647"}, // C81
		{with(`,"max_tokens":-1`), "max_tokens", "between 1"},
		{with(`,"max_tokens":1.5`), "max_tokens", "must be an integer"},
		{with(`,"max_tokens":"5"`), "max_tokens", "not a string"},
		{with(`,"max_completion_tokens":0`), "max_completion_tokens", ""},
		{with(`,"max_tokens":1e400`), "max_tokens", "integer"},
		{with(`,"max_tokens":99999999999999999999`), "max_tokens", "between"},
		{with(`,"temperature":-0.1`), "temperature", "between 0 and 2"},
		{with(`,"temperature":"hot"`), "temperature", "must be a number"},
		{with(`,"temperature":1e999`), "temperature", "between"},
		{with(`,"top_p":0`), "top_p", "above 0"},
		{with(`,"top_p":1.1`), "top_p", ""},
		{with(`,"top_k":-2`), "top_k", ""},
		{with(`,"min_p":2`), "min_p", ""},
		{with(`,"presence_penalty":3`), "presence_penalty", ""},
		{with(`,"frequency_penalty":-3`), "frequency_penalty", ""},
		{with(`,"repetition_penalty":0`), "repetition_penalty", ""},
		{with(`,"seed":1.5`), "seed", "integer"},
		{with(`,"seed":99999999999999999999`), "seed", "64 bits"},
		{with(`,"logit_bias":{"x":1}`), "logit_bias.x", "token id"},
		{with(`,"logit_bias":{"5":101}`), "logit_bias.5", "between"},
		{with(`,"stop":""`), "stop", "empty"},
		{with(`,"stop":["a",""]`), "stop[1]", "empty"},
		{with(`,"stop":[` + strings.Repeat(`"a",`, 16) + `"a"]`), "stop", "more than 16"},
		{with(`,"stop":5`), "stop", ""},
		{with(`,"stream":"yes"`), "stream", "boolean"},
		{with(`,"stream_options":{"include_usage":1}`), "stream_options.include_usage", "boolean"},
		{with(`,"stream_options":true`), "stream_options", "object"},
		{with(`,"model":5`), "model", "string"},
		{with(`,"user":5`), "user", "string"},
		{with(`,"metadata":5`), "metadata", "object"},
		{with(`,"store":"x"`), "store", "boolean"},
		{with(`,"chat_template_kwargs":"x"`), "chat_template_kwargs", "object"},
		{with(`,"reasoning_effort":"huge"`), "reasoning_effort", "one of"},
		{with(`,"n":2`), "n", "not supported"},
		{with(`,"n":0`), "n", "between"},
		{with(`,"logprobs":true`), "logprobs", "not supported"},
		{with(`,"top_logprobs":3`), "top_logprobs", "not supported"},
		{with(`,"response_format":{"type":"json_object"}`), "response_format.type", "not supported"},
		{with(`,"response_format":{"type":"json_schema","json_schema":{}}`), "response_format.type", "not supported"},
		{with(`,"response_format":{}`), "response_format.type", "missing"},
		{with(`,"thinking_budget":50`), "thinking_budget", "not supported"},
		{with(`,"modalities":["text","audio"]`), "modalities[1]", "not supported"},
		{with(`,"audio":{"voice":"x"}`), "audio", "not supported"},
		{with(`,"tools":[` + aTool + `],"tool_choice":"required"`), "tool_choice", "not supported"},
		{with(`,"tools":[` + aTool + `],"tool_choice":{"type":"function","function":{"name":"f"}}`), "tool_choice", "not supported"},
		{with(`,"tools":[` + aTool + `],"tool_choice":"maybe"`), "tool_choice", "auto or none"},
		{with(`,"tools":[` + aTool + `],"tool_choice":1`), "tool_choice", ""},
		{with(`,"tools":[` + aTool + `],"parallel_tool_calls":false`), "parallel_tool_calls", "not supported"},
		{with(`,"tools":[` + aTool + `],"parallel_tool_calls":1`), "parallel_tool_calls", "boolean"},
		{with(`,"tools":[{"type":"custom","custom":{}}]`), "tools[0].type", "custom"},
		{with(`,"tools":[{"type":"function"}]`), "tools[0].function", "missing"},
		{with(`,"tools":[` + aTool + `,{"type":"function","function":{"name":5}}]`), "tools[1].function.name", "string"},
		{with(`,"tools":[{"function":{"name":"f","parameters":[]}}]`), "tools[0].function.parameters", "object"},
		{with(`,"tools":[{"function":{"name":"f","parameters":{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}}}]`), "tools[0].function.parameters", "deeper than 64"},
		{with(`,"tools":[` + strings.Repeat(aTool+",", maxTools) + aTool + `]`), "tools", "more than 512"},
	} {
		name := tt.body
		_, err := DecodeChat([]byte(tt.body), func(string) {})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.200s: got %v", name, err)
			continue
		}
		if e.Status != http.StatusBadRequest || e.Type != TypeInvalidRequest || e.Param != tt.param || !strings.Contains(e.Message, tt.message) {
			t.Errorf("%.200s: got param %q, %q", name, e.Param, e.Message)
		}
		if strings.Contains(tt.message, "not supported") != (e.Code == "unsupported_value") && tt.message == "not supported" {
			t.Errorf("%.200s: code %q", name, e.Code)
		}
	}
}

// Defaults of features that are not built, null for anything, and fields that change nothing are accepted.
func TestAccepted(t *testing.T) {
	plain := mustDecode(t, with(""))
	for _, fields := range []string{
		`,"n":1,"logprobs":false,"top_logprobs":0,"response_format":{"type":"text"},"parallel_tool_calls":true,"modalities":["text"]`,
		`,"n":null,"stop":null,"tools":null,"tool_choice":null,"seed":null,"stream":null,"audio":null,"response_format":null,"thinking_budget":null`,
		`,"user":"u","metadata":{"a":1},"store":false,"service_tier":"auto","prompt_cache_key":"k","safety_identifier":"s"`,
		`,"tools":[],"tool_choice":"auto"`, // C56
		`,"tools":[],"tool_choice":"required","parallel_tool_calls":false`,
		`,"tool_choice":"required"`,
		`,"stop":[]`,
	} {
		if got := mustDecode(t, with(fields)); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", plain) {
			t.Errorf("%s: %+v", fields, got)
		}
	}
}

func TestSampling(t *testing.T) {
	r := mustDecode(t, with(`,"temperature":0.0,"top_p":0.9,"top_k":-1,"min_p":0.1,"presence_penalty":-2,"frequency_penalty":2,
		"repetition_penalty":1.05,"seed":42,"logit_bias":{"5":-100},"stop":"END","max_tokens":7,"max_completion_tokens":1024.0,
		"stream":true,"stream_options":{"include_usage":true},"cache_salt":"s","chat_template_kwargs":{"enable_thinking" : false}`))
	s := r.Sampling
	if *s.Temperature != 0 || *s.TopP != 0.9 || *s.TopK != 0 || *s.MinP != 0.1 || *s.PresencePenalty != -2 || *s.FrequencyPenalty != 2 ||
		*s.RepetitionPenalty != 1.05 || *s.Seed != 42 || s.LogitBias[5] != -100 {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(r.Stop, []string{"END"}) || r.MaxTokens != 1024 || !r.Stream || !r.IncludeUsage || r.Namespace != "s" ||
		string(r.TemplateKwargs) != `{"enable_thinking" : false}` {
		t.Errorf("%+v", r)
	}
	if none := mustDecode(t, with("")); fmt.Sprintf("%+v", none.Sampling) != fmt.Sprintf("%+v", engine.Sampling{}) || none.MaxTokens != 0 || none.TemplateKwargs != nil {
		t.Errorf("absent fields: %+v", none)
	}
	for text, want := range map[string]uint64{"-1": 1<<64 - 1, "18446744073709551615": 1<<64 - 1, "9007199254740993": 9007199254740993} {
		if got := *mustDecode(t, with(`,"seed":`+text)).Sampling.Seed; got != want {
			t.Errorf("seed %s: %d", text, got)
		}
	}
}

func TestReasoningEffort(t *testing.T) {
	for fields, want := range map[string]string{
		`,"reasoning_effort":"none"`: `{"enable_thinking":false}`,
		`,"reasoning_effort":"high"`: `{"enable_thinking":true}`,
		`,"reasoning_effort":"high","chat_template_kwargs":{"preserve_thinking":true}`: `{"enable_thinking":true,"preserve_thinking":true}`,
		`,"reasoning_effort":"high","chat_template_kwargs":{"enable_thinking":false}`:  `{"enable_thinking":false}`,
	} {
		if got := string(mustDecode(t, with(fields)).TemplateKwargs); got != want {
			t.Errorf("%s: %s", fields, got)
		}
	}
}

// Bytes that reach the prompt stay as sent: spacing, order, number spelling, escapes, duplicates.
func TestBytesAreKept(t *testing.T) {
	tool := `{ "function" :{"parameters": {"type":"object", "properties":{"z":{"default":1.50e0},"a":{"description":"<b>&\u00e9é\ud83d\ude00"}},"required":["z"]},"name":"f"},"type":"function" , "x":1}`
	args := `{"b": 1.0,  "a":"<é\n>", "n":12345678901234567890}`
	quoted, _ := json.Marshal(args)
	r := mustDecode(t, `{"tools": [ `+tool+` ],"messages":[`+asUser+`,
		{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":`+string(quoted)+`}},
			{"id":"2","function":{"name":"g","arguments":`+args+`}}]}]}`)
	if string(r.Tools[0].Raw) != tool || r.Tools[0].Name != "f" || !strings.HasPrefix(string(r.Tools[0].Schema), `{"type":"object", "properties":{"z"`) {
		t.Errorf("tool: %s", r.Tools[0].Raw)
	}
	for i, c := range r.Messages[1].ToolCalls {
		if c.Arguments != args || c.ID != fmt.Sprint(i+1) {
			t.Errorf("arguments: %s", c.Arguments)
		}
	}
}

func TestMessages(t *testing.T) {
	r := mustDecode(t, messages(`[
		{"role":"system","content":"s","name":"n"},
		{"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":""}]},
		{"role":"user","content":"é\ud83d\ude00"},
		{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":""}},{"id":"c2","function":{"name":"g","arguments":null}},{"id":"c3","function":{"name":"h","arguments":" null "}},{"id":"c4","function":{"name":"h"}}]},
		{"role":"assistant","content":null,"reasoning":"r1"},
		{"role":"assistant","content":"","thinking":"r2","reasoning_content":"r3"},
		{"role":"assistant","content":[{"type":"refusal","refusal":"no"}],"refusal":null},
		{"role":"tool","tool_call_id":"c1","content":"out"},
		{"role":"function","name":"g","content":null},
		{"role":"assistant","function_call":{"name":"old","arguments":"{}"}}]`))
	m := r.Messages
	if m[0].Name != "n" || m[1].Role != "developer" || len(m[1].Parts) != 2 || m[2].Parts[0].Text != "é😀" {
		t.Errorf("%+v", m[:3])
	}
	if m[3].Parts != nil || len(m[3].ToolCalls) != 4 { // C47, C48
		t.Errorf("%+v", m[3])
	}
	for _, c := range m[3].ToolCalls {
		if c.Arguments != "" {
			t.Errorf("%+v", c)
		}
	}
	if m[4].Parts != nil || *m[4].Reasoning != "r1" || m[5].Parts == nil || *m[5].Reasoning != "r3" || m[0].Reasoning != nil { // C51
		t.Errorf("%+v", m[4:6])
	}
	if m[6].Parts[0].Text != "no" || m[7].ToolCallID != "c1" || m[8].Role != "tool" || m[9].ToolCalls[0].Name != "old" {
		t.Errorf("%+v", m[6:])
	}
}

// The call of an answer that ended for length comes back with arguments that break off: what the model sees of it is the
// engine's business.
func TestCutCall(t *testing.T) {
	m := mustDecode(t, messages(`[`+asUser+`,{"role":"assistant","content":"so","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":\"b"}}]}]`)).Messages[1]
	if len(m.ToolCalls) != 1 || len(m.Parts) != 1 || m.ToolCalls[0].Arguments != `{"a":"b` {
		t.Errorf("%+v", m)
	}
}

func TestOldSpelling(t *testing.T) {
	r := mustDecode(t, with(`,"functions":[{"name":"f","parameters":{"type":"object"}}],"function_call":"none"`))
	if len(r.Tools) != 1 || !r.ToolsOff || string(r.Tools[0].Raw) != `{"type": "function", "function": {"name":"f","parameters":{"type":"object"}}}` {
		t.Errorf("%+v %s", r, r.Tools[0].Raw)
	}
	if r = mustDecode(t, with(`,"tools":[`+aTool+`],"tool_choice":"none","parallel_tool_calls":false`)); !r.ToolsOff {
		t.Error("tool_choice none")
	}
}

func TestUnknownFields(t *testing.T) {
	var names []string
	_, err := DecodeChat([]byte(`{"messages":[{"role":"user","content":"x","cache_control":{}}],"Model":5,"verbosity":"low","`+strings.Repeat("y", 200)+`":1,"gone":null}`),
		func(name string) { names = append(names, name) })
	want := []string{"messages[].cache_control", "Model", "verbosity", strings.Repeat("y", maxEchoBytes) + "…"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%v %q", err, names)
	}
}

func TestErrorBody(t *testing.T) {
	b, err := json.Marshal(Invalidf("a.b", "no %d", 5))
	if err != nil || string(b) != `{"error":{"message":"no 5","type":"invalid_request_error","param":"a.b","code":null}}` {
		t.Errorf("%s %v", b, err)
	}
}

// Whatever comes in, decoding neither panics nor fails with anything but a 400; what decodes is within the limits.
func FuzzDecodeChat(f *testing.F) {
	for _, seed := range []string{with(""), with(`,"tools":[` + aTool + `]`), with(`,"stop":["a"],"logit_bias":{"1":2},"seed":-5`),
		messages(`[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a"}}]},{"role":"tool","content":[{"type":"text","text":"é"}]}]`),
		`{"messages":[{"role":"user","content":"\ud800"}]}`, "{\"\":[[]],\"a\" : { } }", `{"a":tru`, `{"messages":[1e5,-0.0,true]}`, "[", `"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := DecodeChat(body, func(string) {})
		var e *Error
		switch {
		case err == nil:
			if len(r.Messages) == 0 || len(r.Messages) > maxMessages || len(r.Stop) > engine.MaxStops || r.MaxTokens < 0 {
				t.Errorf("%+v", r)
			}
			for _, tool := range r.Tools {
				if !json.Valid(tool.Raw) || tool.Name == "" {
					t.Errorf("tool %q", tool.Raw)
				}
			}
		case !errors.As(err, &e) || e.Status != http.StatusBadRequest || e.Message == "":
			t.Errorf("%v", err)
		}
	})
}
