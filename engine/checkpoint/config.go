package checkpoint

import (
	"fmt"
	"strings"
)

// Config is what the text model needs of config.json (nested or flat), checked.
type Config struct {
	Architecture string // first of architectures, or the class that goes with ModelType
	ModelType    string // outer model_type

	HiddenSize       int
	IntermediateSize int
	Layers           int
	Heads            int // query heads of full attention
	KVHeads          int
	HeadDim          int
	LinearKeyHeads   int
	LinearValueHeads int
	LinearKeyDim     int // of one head
	LinearValueDim   int // of one head
	ConvKernel       int // always 4
	VocabSize        int
	MaxPositions     int
	RMSNormEps       float32
	RopeTheta        float64
	RotaryDims       int    // leading dimensions of a head that are rotated; even
	FullAttention    []bool // [Layers]; the others are GatedDeltaNet
	Tied             bool   // the head is embed_tokens, and lm_head is not stored or not used
	OutputGate       string // of GatedDeltaNet: "silu" or "sigmoid"
	MTPLayers        int    // 0 or 1, as configured; HasMTP says whether the tensors are there
	EOS              []int

	Generation Generation
}

// Generation is generation_config.json; nil members are absent there.
type Generation struct {
	EOS               []int
	BOS               *int
	DoSample          *bool
	Temperature       *float32
	TopP              *float32
	TopK              *int
	MinP              *float32
	RepetitionPenalty *float32
}

// KeyWidth is the width of all GatedDeltaNet query heads, and of all key heads.
func (c Config) KeyWidth() int { return c.LinearKeyHeads * c.LinearKeyDim }

// ValueWidth is the width of all GatedDeltaNet value heads.
func (c Config) ValueWidth() int { return c.LinearValueHeads * c.LinearValueDim }

// ConvChannels is the width of the convolution: queries, keys and values.
func (c Config) ConvChannels() int { return 2*c.KeyWidth() + c.ValueWidth() }

const (
	classConditional = "Qwen3_5ForConditionalGeneration"
	classCausal      = "Qwen3_5ForCausalLM"

	supportedModels = "hearth runs the dense Qwen3.5 and Qwen3.6 text models (" + classConditional + ", " + classCausal + ")"
)

// parseConfig reads config.json; generation is generation_config.json or nil. The quantisation config is read by parseQuant.
func parseConfig(root map[string]any, generation map[string]any) (Config, error) {
	var err error
	top := newFields("config.json", root, &err)
	tc := top
	if top.has("text_config") {
		tc = top.object("text_config")
	}
	var c Config
	c.architecture(top)
	if err != nil {
		return c, err
	}
	if unsupported := c.checkKind(top, tc); unsupported != nil {
		return c, unsupported
	}
	c.readSizes(tc)
	c.readRope(tc)
	if err != nil {
		return c, err
	}
	if err := c.checkSizes(); err != nil {
		return c, err
	}
	c.readLayers(tc)
	c.Tied = top.flagOr("tie_word_embeddings", tc.flagOr("tie_word_embeddings", false))
	c.readGate(tc)
	if c.EOS = tc.ids("eos_token_id", c.VocabSize); c.EOS == nil {
		c.EOS = top.ids("eos_token_id", c.VocabSize)
	}
	if generation != nil {
		c.readGeneration(newFields("generation_config.json", generation, &err))
	}
	return c, err
}

func (c *Config) architecture(top fields) {
	c.ModelType = top.textOr("model_type", "")
	if list := top.texts("architectures", 16); len(list) > 0 {
		c.Architecture = list[0]
		return
	}
	switch c.ModelType {
	case "qwen3_5":
		c.Architecture = classConditional
	case "qwen3_5_text":
		c.Architecture = classCausal
	}
}

// checkKind refuses models whose arithmetic is another one.
func (c *Config) checkKind(top, tc fields) error {
	const file = "config.json"
	kind := strings.ToLower(c.Architecture + " " + c.ModelType + " " + tc.textOr("model_type", ""))
	switch {
	case strings.Contains(kind, "moe") || tc.has("num_experts") && tc.integerOr("num_experts", 0, 0, 1<<20) > 0:
		return unsupportedf(file, fmt.Sprintf("mixture-of-experts model %s (%s)", c.Architecture, c.ModelType), supportedModels)
	case c.Architecture == "" && c.ModelType == "":
		return unsupportedf(file, "a model without architectures and model_type", supportedModels)
	case c.Architecture != classConditional && c.Architecture != classCausal:
		return unsupportedf(file, fmt.Sprintf("architecture %s (%s)", c.Architecture, c.ModelType), supportedModels)
	case len(tc.texts("mlp_only_layers", maxLayers)) > 0:
		return unsupportedf(file, "mlp_only_layers", supportedModels)
	}
	for _, f := range []struct {
		key, want string
	}{{"hidden_act", "silu"}} {
		if got := tc.textOr(f.key, f.want); got != f.want {
			return unsupportedf(file, fmt.Sprintf("%s %q", f.key, clip(got)), "want "+f.want)
		}
	}
	for _, f := range []struct {
		key  string
		want bool
	}{{"attention_bias", false}, {"attn_output_gate", true}, {"mtp_use_dedicated_embeddings", false}} {
		if got := tc.flagOr(f.key, f.want); got != f.want {
			return unsupportedf(file, fmt.Sprintf("%s %v", f.key, got), fmt.Sprintf("want %v", f.want))
		}
	}
	if k := tc.integerOr("linear_conv_kernel_dim", 4, 1, 1024); *tc.err == nil && k != 4 {
		return unsupportedf(file, fmt.Sprintf("linear_conv_kernel_dim %d", k), "want 4")
	}
	return *tc.err
}

func (c *Config) readSizes(tc fields) {
	c.HiddenSize = tc.integer("hidden_size", 1, maxHidden)
	c.IntermediateSize = tc.integer("intermediate_size", 1, maxIntermediate)
	c.Layers = tc.integer("num_hidden_layers", 1, maxLayers)
	c.Heads = tc.integer("num_attention_heads", 1, maxHeads)
	c.KVHeads = tc.integer("num_key_value_heads", 1, maxHeads)
	c.HeadDim = tc.integer("head_dim", 1, maxHeadDim)
	c.LinearKeyHeads = tc.integer("linear_num_key_heads", 1, maxHeads)
	c.LinearValueHeads = tc.integer("linear_num_value_heads", 1, maxHeads)
	c.LinearKeyDim = tc.integer("linear_key_head_dim", 1, maxHeadDim)
	c.LinearValueDim = tc.integer("linear_value_head_dim", 1, maxHeadDim)
	c.ConvKernel = 4
	c.VocabSize = tc.integer("vocab_size", 1, maxVocab)
	c.MaxPositions = tc.integer("max_position_embeddings", 1, maxPositions)
	c.RMSNormEps = float32(tc.numberOr("rms_norm_eps", 1e-6, 1e-12, 1e-1))
	c.MTPLayers = tc.integerOr("mtp_num_hidden_layers", 0, 0, 1)
}

// readRope looks in rope_parameters, then rope_scaling, then the flat members.
func (c *Config) readRope(tc fields) {
	rope := tc.object("rope_parameters")
	if !tc.has("rope_parameters") {
		rope = tc.object("rope_scaling")
	}
	kind := rope.textOr("rope_type", rope.textOr("type", "default"))
	if kind != "default" && *tc.err == nil {
		*tc.err = unsupportedf("config.json", fmt.Sprintf("rope_type %q", clip(kind)), "want default; remove the scaling to run at the trained length")
		return
	}
	theta := tc.numberOr("rope_theta", 0, 1, 1e12)
	if c.RopeTheta = rope.numberOr("rope_theta", theta, 1, 1e12); c.RopeTheta == 0 {
		rope.fail("rope_theta", "missing")
	}
	factor := rope.numberOr("partial_rotary_factor", tc.numberOr("partial_rotary_factor", 1, 0, 1), 0, 1)
	c.RotaryDims = int(float64(c.HeadDim) * factor)
	if c.RotaryDims < 2 || c.RotaryDims%2 != 0 {
		rope.fail("partial_rotary_factor", "%g of head_dim %d is %d dimensions, want an even number of at least 2", factor, c.HeadDim, c.RotaryDims)
	}
}

// checkSizes holds the relations between sizes. Each size is below 2^22, so products of two cannot overflow.
func (c *Config) checkSizes() error {
	if c.Heads%c.KVHeads != 0 {
		return fmt.Errorf("config.json: num_attention_heads %d is not a multiple of num_key_value_heads %d", c.Heads, c.KVHeads)
	}
	if c.LinearValueHeads%c.LinearKeyHeads != 0 {
		return fmt.Errorf("config.json: linear_num_value_heads %d is not a multiple of linear_num_key_heads %d", c.LinearValueHeads, c.LinearKeyHeads)
	}
	for _, w := range []struct {
		what string
		n    int
	}{
		{"num_attention_heads × head_dim", c.Heads * c.HeadDim},
		{"the width of the convolution", c.ConvChannels()},
	} {
		if w.n > maxIntermediate {
			return fmt.Errorf("config.json: %s is %d, the limit is %d", w.what, w.n, maxIntermediate)
		}
	}
	return nil
}

// readLayers takes layer_types, or every full_attention_interval-th layer.
func (c *Config) readLayers(tc fields) {
	c.FullAttention = make([]bool, c.Layers)
	if !tc.has("layer_types") {
		interval := tc.integerOr("full_attention_interval", 4, 1, maxLayers)
		for i := range c.FullAttention {
			c.FullAttention[i] = interval > 0 && (i+1)%interval == 0
		}
		return
	}
	types := tc.texts("layer_types", maxLayers)
	if len(types) != c.Layers {
		tc.fail("layer_types", "%d entries for num_hidden_layers %d", len(types), c.Layers)
		return
	}
	for i, t := range types {
		switch t {
		case "full_attention":
			c.FullAttention[i] = true
		case "linear_attention":
		default:
			tc.fail("layer_types", "entry %d is %q, want linear_attention or full_attention", i, clip(t))
		}
	}
}

func (c *Config) readGate(tc fields) {
	switch gate := tc.textOr("output_gate_type", "silu"); gate {
	case "silu", "swish":
		c.OutputGate = "silu"
	case "sigmoid":
		c.OutputGate = "sigmoid"
	default:
		if *tc.err == nil {
			*tc.err = unsupportedf("config.json", fmt.Sprintf("output_gate_type %q", clip(gate)), "want silu, swish or sigmoid")
		}
	}
}

func (c *Config) readGeneration(f fields) {
	g := &c.Generation
	g.EOS = f.ids("eos_token_id", c.VocabSize)
	if ids := f.ids("bos_token_id", c.VocabSize); len(ids) > 0 {
		g.BOS = &ids[0]
	}
	if f.has("do_sample") {
		v := f.flagOr("do_sample", false)
		g.DoSample = &v
	}
	number := func(key string, lo, hi float64) *float32 {
		if !f.has(key) {
			return nil
		}
		v := float32(f.numberOr(key, 0, lo, hi))
		return &v
	}
	g.Temperature = number("temperature", 0, 100)
	g.TopP = number("top_p", 0, 1)
	g.MinP = number("min_p", 0, 1)
	g.RepetitionPenalty = number("repetition_penalty", 1e-3, 1e3)
	if f.has("top_k") {
		v := max(0, f.integerOr("top_k", 0, -1, maxVocab)) // -1 is another way to say off
		g.TopK = &v
	}
}
