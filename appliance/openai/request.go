package openai

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"hearth/engine"
)

// ChatRequest is a decoded body of POST /v1/chat/completions.
type ChatRequest struct {
	engine.Request
	Model        string // as sent, "" if absent
	Stream       bool
	IncludeUsage bool // stream_options.include_usage
}

// chatDecoder collects what the fields of one body say.
type chatDecoder struct {
	out     ChatRequest
	unknown func(name string)

	maxTokens, maxCompletionTokens int
	functions                      bool  // tools came from the old field functions
	choice                         *node // tool_choice, or function_call
	serial                         *node // parallel_tool_calls: false
	kwargs                         []byte
	effort                         string
}

// DecodeChat decodes a body. Errors are *Error with the path of the field at fault. Fields this server does not know are
// passed to unknown by name and ignored; a known field whose feature is not built is refused unless it asks for nothing.
func DecodeChat(body []byte, unknown func(name string)) (*ChatRequest, error) {
	root, err := parse(body)
	if err != nil {
		return nil, err
	}
	d := &chatDecoder{unknown: unknown}
	if err := root.members(d.field); err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return &d.out, nil
}

// field dispatches one member of the body to the group that knows it.
func (d *chatDecoder) field(name string, n *node) error {
	for _, group := range []func(string, *node) (bool, error){d.conversation, d.sampling, d.accepted, d.unbuilt} {
		if known, err := group(name, n); known || err != nil {
			return err
		}
	}
	d.unknown(clip(name))
	return nil
}

// conversation decodes what shapes the prompt and the answer.
func (d *chatDecoder) conversation(name string, n *node) (known bool, err error) {
	switch name {
	case "model":
		d.out.Model, err = n.text()
	case "messages":
		d.out.Messages, err = d.messages(n)
	case "tools":
		d.functions = false
		d.out.Tools, err = tools(n)
	case "functions":
		if d.out.Tools == nil {
			d.functions = true
			d.out.Tools, err = functions(n)
		}
	case "tool_choice":
		d.choice = n
	case "function_call":
		if d.choice == nil {
			d.choice = n
		}
	case "stream":
		d.out.Stream, err = n.boolean()
	case "stream_options":
		err = n.members(func(name string, n *node) (err error) {
			if name == "include_usage" {
				d.out.IncludeUsage, err = n.boolean()
			}
			return err
		})
	case "chat_template_kwargs":
		if n.kind() != "an object" {
			return true, n.wrong("an object")
		}
		d.kwargs = n.raw
	case "reasoning_effort":
		d.effort, err = n.text()
		if err == nil && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh"}, d.effort) {
			err = n.invalidf("must be one of none, minimal, low, medium, high, xhigh")
		}
	case "cache_salt":
		d.out.Namespace, err = n.text()
	default:
		return false, nil
	}
	return true, err
}

// sampling decodes what chooses tokens and ends the answer.
func (d *chatDecoder) sampling(name string, n *node) (known bool, err error) {
	s := &d.out.Sampling
	switch name {
	case "temperature":
		s.Temperature, err = n.float32(0, engine.MaxTemperature)
	case "top_p":
		if s.TopP, err = n.float32(0, 1); err == nil && *s.TopP == 0 {
			err = n.invalidf("must be above 0 and at most 1")
		}
	case "min_p":
		s.MinP, err = n.float32(0, 1)
	case "presence_penalty":
		s.PresencePenalty, err = n.float32(-2, 2)
	case "frequency_penalty":
		s.FrequencyPenalty, err = n.float32(-2, 2)
	case "repetition_penalty":
		if s.RepetitionPenalty, err = n.float32(0, engine.MaxRepetitionPenalty); err == nil && *s.RepetitionPenalty == 0 {
			err = n.invalidf("must be above 0")
		}
	case "top_k":
		var k int64
		k, err = n.integer(-1, math.MaxInt32) // -1 is a common spelling of off
		v := int(max(k, 0))
		s.TopK = &v
	case "seed":
		var v uint64
		v, err = n.seed()
		s.Seed = &v
	case "logit_bias":
		s.LogitBias, err = logitBias(n)
	case "stop":
		d.out.Stop, err = stops(n)
	case "max_tokens":
		d.maxTokens, err = n.count()
	case "max_completion_tokens":
		d.maxCompletionTokens, err = n.count()
	default:
		return false, nil
	}
	return true, err
}

func (n *node) float32(low, high float64) (*float32, error) {
	v, err := n.number(low, high)
	f := float32(v)
	return &f, err
}

func (n *node) count() (int, error) {
	v, err := n.integer(1, math.MaxInt32)
	return int(v), err
}

// logitBias decodes {"token id": bias}.
func logitBias(n *node) (map[int]float32, error) {
	bias := map[int]float32{}
	err := n.members(func(name string, n *node) error {
		id, err := strconv.ParseUint(name, 10, 31)
		if err != nil {
			return n.invalidf("is not named by a token id")
		}
		v, err := n.number(-100, 100)
		if err != nil {
			return err
		}
		bias[int(id)] = float32(v)
		if len(bias) > engine.MaxLogitBias {
			return n.up.invalidf("has more than %d entries", engine.MaxLogitBias)
		}
		return nil
	})
	return bias, err
}

// stops decodes stop: a string or up to 16.
func stops(n *node) ([]string, error) {
	var list []string
	add := func(n *node) error {
		s, err := n.text()
		switch {
		case err != nil:
			return err
		case s == "":
			return n.invalidf("must not be empty")
		case len(s) > engine.MaxStopBytes:
			return n.invalidf("is longer than %d bytes", engine.MaxStopBytes)
		}
		list = append(list, s)
		return nil
	}
	switch n.kind() {
	case "a string":
		return list, add(n)
	case "an array":
		return list, n.elements(engine.MaxStops, add)
	}
	return nil, n.wrong("a string or an array of strings")
}

// accepted checks the type of fields that change nothing here.
func (d *chatDecoder) accepted(name string, n *node) (known bool, err error) {
	switch name {
	case "user", "service_tier", "prompt_cache_key", "safety_identifier":
		_, err = n.text()
	case "store":
		_, err = n.boolean()
	case "metadata":
		if n.kind() != "an object" {
			err = n.wrong("an object")
		}
	default:
		return false, nil
	}
	return true, err
}

// unbuilt accepts fields of features that do not exist yet only where they ask for nothing.
func (d *chatDecoder) unbuilt(name string, n *node) (known bool, err error) {
	switch name {
	case "n":
		var v int64
		if v, err = n.integer(1, 8); err == nil && v != 1 {
			err = Unsupported("n", "more than one choice")
		}
	case "logprobs":
		var on bool
		if on, err = n.boolean(); err == nil && on {
			err = Unsupported("logprobs", "logprobs")
		}
	case "top_logprobs":
		var v int64
		if v, err = n.integer(0, 20); err == nil && v != 0 {
			err = Unsupported("top_logprobs", "top_logprobs")
		}
	case "parallel_tool_calls":
		var on bool
		if on, err = n.boolean(); err == nil && !on {
			d.serial = n
		}
	case "response_format":
		err = responseFormat(n)
	case "thinking_budget":
		if _, err = n.integer(0, math.MaxInt32); err == nil {
			err = Unsupported("thinking_budget", "a thinking budget")
		}
	case "modalities":
		err = n.elements(8, func(n *node) error {
			s, err := n.text()
			if err == nil && s != "text" {
				err = Unsupported(n.path(), "a modality other than text")
			}
			return err
		})
	case "audio":
		err = Unsupported("audio", "audio")
	default:
		return false, nil
	}
	return true, err
}

func responseFormat(n *node) error {
	kind := ""
	err := n.members(func(name string, n *node) (err error) {
		if name == "type" {
			kind, err = n.text()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return Invalidf("response_format.type", "response_format.type is missing")
	case kind != "text":
		return Unsupported("response_format.type", "a response_format other than text")
	}
	return nil
}

// finish checks what depends on several fields.
func (d *chatDecoder) finish() error {
	if len(d.out.Messages) == 0 {
		return Invalidf("messages", "messages must hold at least one message")
	}
	d.out.MaxTokens = d.maxCompletionTokens
	if d.out.MaxTokens == 0 {
		d.out.MaxTokens = d.maxTokens
	}
	if err := d.toolChoice(); err != nil {
		return err
	}
	var err error
	d.out.TemplateKwargs, err = templateKwargs(d.kwargs, d.effort)
	return err
}

// templateKwargs adds enable_thinking to the template variables when reasoning_effort asks for it and they do not say.
func templateKwargs(sent []byte, effort string) ([]byte, error) {
	if effort == "" {
		return sent, nil
	}
	vars := map[string]json.RawMessage{}
	if sent != nil {
		if err := json.Unmarshal(sent, &vars); err != nil {
			return nil, Invalidf("chat_template_kwargs", "chat_template_kwargs: %v", err)
		}
	}
	if _, given := vars["enable_thinking"]; given {
		return sent, nil
	}
	vars["enable_thinking"] = json.RawMessage(strconv.FormatBool(effort != "none"))
	return json.Marshal(vars)
}
