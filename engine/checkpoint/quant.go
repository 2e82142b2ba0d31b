package checkpoint

import (
	"fmt"
	"strings"
)

// Scheme says how activations are quantised before a matrix. Formulas: NVFP4 uses a static tensor scale and a dynamic E4M3
// scale per 16 columns; static FP8 one scale; dynamic FP8 one scale per token, or per token and 128 columns.
type Scheme uint8

const (
	None Scheme = iota
	StaticNVFP4
	StaticFP8
	DynamicFP8Token
	DynamicFP8Block
)

func (s Scheme) String() string {
	return [...]string{"none", "NVFP4", "FP8 static", "FP8 per token", "FP8 per token and 128 columns"}[s]
}

const supportedQuant = "supported are ModelOpt (NVFP4, W4A16_NVFP4, FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MIXED_PRECISION), " +
	"compressed-tensors NVFP4 and FP8, and fp8 in 128×128 blocks"

// quantConfig is what the quantisation config says about activations and the KV cache.
type quantConfig struct {
	file   string // where it was read
	scheme func(names []string, linear bool) (Scheme, error)
	kvFP8  bool
}

// parseQuant reads quantization_config of config.json and hf_quant_config.json (nil where absent).
func parseQuant(root, modelopt map[string]any) (quantConfig, error) {
	var err error
	top := newFields("config.json", root, &err)
	q := top.object("quantization_config")
	if !top.has("quantization_config") {
		q = top.object("text_config").object("quantization_config")
	}
	if q.m == nil {
		q = top.object("compression_config")
	}
	if err != nil {
		return quantConfig{}, err
	}
	hf := newFields("hf_quant_config.json", modelopt, &err).object("quantization")
	if q.m == nil && hf.m == nil {
		return quantConfig{scheme: func([]string, bool) (Scheme, error) { return None, nil }}, err
	}
	method := q.textOr("quant_method", "")
	if method == "" && (hf.m != nil || q.has("quant_algo")) {
		method = "modelopt"
	}
	var c quantConfig
	var unsupported error
	switch {
	case strings.HasPrefix(method, "modelopt"):
		c, unsupported = parseModelOpt(q, hf)
	case method == "compressed-tensors":
		c, unsupported = parseCompressedTensors(q)
	case method == "fp8":
		c, unsupported = parseFineFP8(q)
	default:
		unsupported = unsupportedf(q.file, fmt.Sprintf("quant_method %q", clip(method)), supportedQuant)
	}
	if err != nil {
		return quantConfig{}, err
	}
	return c, unsupported
}

// kvScheme tells whether kv_cache_scheme is FP8.
func kvScheme(q fields) bool {
	s := q.object("kv_cache_scheme")
	return s.m != nil && s.integerOr("num_bits", 0, 0, 64) == 8 && s.textOr("type", "") == "float"
}

// parseFineFP8 reads quant_method fp8, as the official -FP8 repositories have it. Modules that stayed in BF16 need no list: their
// dtype says so.
func parseFineFP8(q fields) (quantConfig, error) {
	c := quantConfig{file: q.file, kvFP8: kvScheme(q)}
	if f := q.textOr("fmt", "e4m3"); f != "e4m3" {
		return c, unsupportedf(q.file, fmt.Sprintf("quantization_config.fmt %q", clip(f)), "want e4m3")
	}
	scheme := DynamicFP8Token
	if v, ok := q.get("weight_block_size").([]any); ok {
		scheme = DynamicFP8Block
		for _, n := range v {
			if edge, ok := toInteger(n); !ok || edge != 128 || len(v) != 2 {
				return c, unsupportedf(q.file, "quantization_config.weight_block_size other than [128, 128]", supportedQuant)
			}
		}
	}
	switch a := q.textOr("activation_scheme", "dynamic"); a {
	case "dynamic":
	case "static":
		scheme = StaticFP8
	default:
		return c, unsupportedf(q.file, fmt.Sprintf("quantization_config.activation_scheme %q", clip(a)), "want dynamic or static")
	}
	c.scheme = func([]string, bool) (Scheme, error) { return scheme, nil }
	return c, nil
}
