package checkpoint

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Shape is a model size with a choice of formats, for checkpoints of random weights.
type Shape struct {
	Name  string
	About string // one line for people

	Hidden, Intermediate, Layers     int
	Heads, KVHeads, HeadDim          int
	LinearKeyHeads, LinearValueHeads int
	LinearDim                        int // of key and value heads
	Vocab, MaxPositions              int
	RopeTheta                        float64
	Tied                             bool
	EOS                              int

	// Algorithm is the quant_algo of a module by logical name, "" for BF16. Embeddings, in_proj_a/b and the MTP head are
	// never asked about: published exports leave them in BF16.
	Algorithm func(module string) string
}

// Algorithms of ModelOpt that shapes use.
const (
	algoNVFP4     = "NVFP4"
	algoWeight4   = "W4A16_NVFP4"
	algoFP8       = "FP8"
	algoMixed     = "MIXED_PRECISION"
	classPrefix   = "model." // of classCausal
	producerLabel = "hearth synthetic"
)

// Shapes lists what Synthetic makes.
func Shapes() []Shape {
	small := Shape{ // Qwen3.5-0.8B, untied so that the head can have a format of its own
		Hidden: 1024, Intermediate: 3584, Layers: 24, Heads: 8, KVHeads: 2, HeadDim: 256,
		LinearKeyHeads: 16, LinearValueHeads: 16, LinearDim: 128,
		Vocab: 248320, MaxPositions: 262144, RopeTheta: 1e7, EOS: 248044,
	}
	w4a4, w4a16 := small, small
	w4a4.Name, w4a4.About, w4a4.Algorithm = "qwen3.5-0.8b", "0.8B, body NVFP4 W4A4, head NVFP4 W4A16", bodyAndHead(algoNVFP4)
	w4a16.Name, w4a16.About, w4a16.Algorithm = "qwen3.5-0.8b-w4a16", "0.8B, NVFP4 W4A16", bodyAndHead(algoWeight4)
	medium := w4a4
	medium.Name, medium.About = "qwen3.5-2b", "2B, untied, body NVFP4 W4A4, head NVFP4 W4A16"
	medium.Hidden, medium.Intermediate = 2048, 6144
	return []Shape{
		{
			Name: "demo", About: "the embedded demo model, NVFP4 W4A4",
			Hidden: 256, Intermediate: 512, Layers: 4, Heads: 4, KVHeads: 2, HeadDim: 64,
			LinearKeyHeads: 2, LinearValueHeads: 4, LinearDim: 64,
			Vocab: 4096, MaxPositions: 65536, RopeTheta: 1e6, Tied: true, EOS: 4083,
			Algorithm: bodyAndHead(algoNVFP4),
		},
		w4a4, w4a16, medium,
		{
			Name: "qwen3.6-27b-layer", About: "four layers of the 27B with a short vocabulary: attention FP8, MLP and head NVFP4 W4A16",
			Hidden: 5120, Intermediate: 17408, Layers: 4, Heads: 24, KVHeads: 4, HeadDim: 256,
			LinearKeyHeads: 16, LinearValueHeads: 48, LinearDim: 128,
			Vocab: 8192, MaxPositions: 262144, RopeTheta: 1e7, EOS: 8000,
			Algorithm: func(module string) string {
				if module == "lm_head" || strings.Contains(module, ".mlp.") {
					return algoWeight4
				}
				return algoFP8
			},
		},
	}
}

// bodyAndHead gives the layers an algorithm, and an untied head weight-only NVFP4.
func bodyAndHead(body string) func(string) string {
	return func(module string) string {
		if module == "lm_head" {
			return algoWeight4
		}
		return body
	}
}

// algorithm is the format of any module of the shape.
func (s Shape) algorithm(module string) string {
	switch {
	case module == "embed_tokens", strings.HasPrefix(module, "mtp."), strings.HasSuffix(module, ".in_proj_a"), strings.HasSuffix(module, ".in_proj_b"):
		return ""
	}
	return s.Algorithm(module)
}

// configJSON is the shape's config.json, in the flat naming of the text-only class.
func (s Shape) configJSON() ([]byte, error) {
	root := map[string]any{
		"architectures": []string{classCausal}, "model_type": "qwen3_5_text", "dtype": "bfloat16", "hidden_act": "silu",
		"attention_bias": false, "attn_output_gate": true, "mamba_ssm_dtype": "float32", "rms_norm_eps": 1e-6,
		"hidden_size": s.Hidden, "intermediate_size": s.Intermediate, "num_hidden_layers": s.Layers,
		"num_attention_heads": s.Heads, "num_key_value_heads": s.KVHeads, "head_dim": s.HeadDim,
		"linear_num_key_heads": s.LinearKeyHeads, "linear_num_value_heads": s.LinearValueHeads,
		"linear_key_head_dim": s.LinearDim, "linear_value_head_dim": s.LinearDim, "linear_conv_kernel_dim": 4,
		"full_attention_interval": 4, "vocab_size": s.Vocab, "max_position_embeddings": s.MaxPositions,
		"mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": false,
		"tie_word_embeddings": s.Tied, "eos_token_id": s.EOS,
		"rope_parameters": map[string]any{"rope_type": "default", "rope_theta": s.RopeTheta, "partial_rotary_factor": 0.25},
	}
	config, err := s.parse(root)
	if err != nil {
		return nil, err
	}
	root["quantization_config"] = s.quantJSON(config)
	return json.MarshalIndent(root, "", "  ")
}

// parse reads the shape as a checkpoint's config is read, so that both obey one set of rules.
func (s Shape) parse(root map[string]any) (Config, error) {
	b, err := json.Marshal(root)
	if err != nil {
		return Config{}, err
	}
	object, err := parseObject("config.json", b)
	if err != nil {
		return Config{}, err
	}
	c, err := parseConfig(object, nil)
	if err != nil {
		return c, fmt.Errorf("shape %s: %w", s.Name, err)
	}
	return c, nil
}

// quantJSON is one quant_algo with a list of exceptions where one does, else an algorithm for each module.
func (s Shape) quantJSON(config Config) map[string]any {
	matrices, _ := config.plan(true)
	layers, algos := map[string]any{}, map[string]bool{}
	ignore := []string{"mtp*"}
	for _, m := range matrices {
		name := storedName(m.name)
		switch algo := s.algorithm(m.name); {
		case algo != "":
			algos[algo] = true
			layers[name] = map[string]any{"quant_algo": algo}
		case strings.HasPrefix(m.name, "layers."):
			ignore = append(ignore, name)
		}
	}
	q := map[string]any{"quant_method": "modelopt", "ignore": ignore, "producer": map[string]any{"name": producerLabel}}
	if len(algos) == 1 {
		q["quant_algo"] = sortedKeys(algos)[0]
	} else {
		q["quant_algo"], q["quantized_layers"] = algoMixed, layers
	}
	return q
}

// storedName puts a logical name where the text-only class keeps it.
func storedName(logical string) string {
	if strings.HasPrefix(logical, "mtp.") || strings.HasPrefix(logical, "lm_head") {
		return logical
	}
	return classPrefix + logical
}
