package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

// built is a checkpoint put together for one test: tensors by stored name, over the config of a golden one.
type built struct {
	quant   string // quantization_config, or ""
	tensors map[string]rawTensor
}

func (b built) open(t *testing.T) (*Checkpoint, error) {
	t.Helper()
	base := openGolden(t, "tiny-c-bf16")
	config, err := base.File("config.json")
	if err != nil {
		t.Fatal(err)
	}
	if b.quant != "" {
		config = []byte(strings.TrimSuffix(strings.TrimSpace(string(config)), "}") + `,"quantization_config":` + b.quant + "}")
	}
	var header []string
	var data []byte
	for _, name := range sortedKeys(b.tensors) {
		x := b.tensors[name]
		shape := strings.ReplaceAll(fmt.Sprint(x.Shape), " ", ",")
		header = append(header, fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, x.DType, shape, len(data), len(data)+len(x.data)))
		data = append(data, x.data...)
	}
	file := image("{"+strings.Join(header, ",")+"}", 0)
	return OpenFS(fstest.MapFS{"config.json": {Data: config}, "model.safetensors": {Data: append(file, data...)}}, ".")
}

// tensorOf makes a tensor of random bytes without NaN, or of the given numbers.
func tensorOf(dtype string, shape []int, values ...float32) rawTensor {
	x := rawTensor{DType: dtype, Shape: shape}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for _, v := range values {
		switch dtype {
		case "F32":
			x.data = binary.LittleEndian.AppendUint32(x.data, math.Float32bits(v))
		case "BF16":
			x.data = binary.LittleEndian.AppendUint16(x.data, roundBF16(v))
		}
	}
	if len(values) == 0 {
		x.data = make([]byte, int64(n)*dtypeBits[DType(dtype)]/8)
		maskedBytes(0x20, 0x1F)(newStream(1, dtype), x.data)
	}
	return x
}

func ramp(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i+1) / 8
	}
	return out
}

const (
	ctMixed = `{"quant_method":"compressed-tensors","format":"mixed-precision","ignore":["re:.*in_proj_[ab]$"],"config_groups":{
		"group_0":{"format":"nvfp4-pack-quantized","targets":["re:.*mlp.*"],"weights":{"num_bits":4,"type":"float","group_size":16},
			"input_activations":{"num_bits":4,"type":"float","strategy":"tensor_group","group_size":16,"dynamic":"local"}},
		"group_1":{"format":"float-quantized","targets":["re:.*self_attn.*","lm_head"],"weights":{"num_bits":8,"type":"float","strategy":"channel"},
			"input_activations":{"num_bits":8,"type":"float","strategy":"token","dynamic":true}}}}`
	ctStatic = `{"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{"g":{"targets":["Linear"],
		"weights":{"num_bits":8,"type":"float"},"input_activations":{"num_bits":8,"type":"float","strategy":"tensor","dynamic":false}}}}`
	perChannel = `{"quant_method":"modelopt","quant_algo":"FP8_PER_CHANNEL_PER_TOKEN","ignore":[]}`
	weightOnly = `{"quant_method":"modelopt","quant_algo":"FP8_PB_WO","ignore":[]}`
	plainNVFP4 = `{"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["lm_head"]}`
	blockFP8   = `{"quant_method":"fp8","activation_scheme":"dynamic","weight_block_size":[128,128]}`
)

func TestOtherFormats(t *testing.T) {
	const q, head = "model.layers.3.self_attn.q_proj", "lm_head"
	for _, tt := range []struct {
		name    string
		b       built
		module  string
		rows    int
		cols    int
		format  Format
		scheme  Scheme
		scales  []float32
		input   float32
		product float32 // NVFP4's scale
	}{
		{"per channel BF16", built{ctMixed, map[string]rawTensor{
			q + ".weight": tensorOf("F8_E4M3", []int{8, 32}), q + ".weight_scale": tensorOf("BF16", []int{8, 1}, ramp(8)...)}},
			"layers.3.self_attn.q_proj", 8, 32, FP8Channel, DynamicFP8Token, ramp(8), 0, 0},
		{"FP8 head by exact name", built{ctMixed, map[string]rawTensor{
			head + ".weight": tensorOf("F8_E4M3", []int{8, 32}), head + ".weight_scale": tensorOf("BF16", []int{8, 1}, ramp(8)...)}},
			"lm_head", 8, 32, FP8Channel, DynamicFP8Token, ramp(8), 0, 0},
		{"NVFP4 of a mixed export", built{ctMixed, map[string]rawTensor{
			"model.layers.0.mlp.up_proj.weight_packed": tensorOf("U8", []int{8, 16}), "model.layers.0.mlp.up_proj.weight_scale": tensorOf("F8_E4M3", []int{8, 2}),
			"model.layers.0.mlp.up_proj.weight_global_scale": tensorOf("F32", []int{1}, 4), "model.layers.0.mlp.up_proj.input_global_scale": tensorOf("F32", []int{1}, 8)}},
			"layers.0.mlp.up_proj", 8, 32, NVFP4, StaticNVFP4, nil, 0.125, 0.25},
		{"static, scale of shape [1]", built{ctStatic, map[string]rawTensor{
			q + ".weight": tensorOf("F8_E4M3", []int{8, 32}), q + ".weight_scale": tensorOf("F32", []int{1}, 0.5), q + ".input_scale": tensorOf("F32", []int{1}, 0.25)}},
			"layers.3.self_attn.q_proj", 8, 32, FP8Tensor, StaticFP8, []float32{0.5}, 0.25, 0},
		{"ModelOpt per channel", built{perChannel, map[string]rawTensor{
			q + ".weight": tensorOf("F8_E4M3", []int{8, 32}), q + ".weight_scale": tensorOf("F32", []int{8}, ramp(8)...)}},
			"layers.3.self_attn.q_proj", 8, 32, FP8Channel, DynamicFP8Token, ramp(8), 0, 0},
		{"ModelOpt blocks, weight-only", built{weightOnly, map[string]rawTensor{
			q + ".weight": tensorOf("F8_E4M3", []int{256, 128}), q + ".weight_scale": tensorOf("F32", []int{2, 1, 1, 1}, ramp(2)...)}},
			"layers.3.self_attn.q_proj", 256, 128, FP8Block, None, ramp(2), 0, 0},
		{"blocks with F32 scales", built{blockFP8, map[string]rawTensor{
			q + ".weight": tensorOf("F8_E4M3", []int{130, 260}), q + ".weight_scale_inv": tensorOf("F32", []int{2, 3}, ramp(6)...)}},
			"layers.3.self_attn.q_proj", 130, 260, FP8Block, DynamicFP8Block, ramp(6), 0, 0},
		{"an excluded module is weight-only", built{plainNVFP4, map[string]rawTensor{
			head + ".weight": tensorOf("U8", []int{8, 16}), head + ".weight_scale": tensorOf("F8_E4M3", []int{8, 2}),
			head + ".weight_scale_2": tensorOf("F32", []int{1}, 2), head + ".input_scale": tensorOf("F32", []int{}, 3)}},
			"lm_head", 8, 32, NVFP4, None, nil, 0, 2},
		{"no config at all", built{"", map[string]rawTensor{
			q + ".weight": tensorOf("U8", []int{8, 16}), q + ".weight_scale": tensorOf("F8_E4M3", []int{8, 2}),
			q + ".weight_scale_2": tensorOf("F32", []int{}, 2), q + ".input_scale": tensorOf("F32", []int{}, 3)}},
			"layers.3.self_attn.q_proj", 8, 32, NVFP4, None, nil, 0, 2},
		{"F16", built{"", map[string]rawTensor{q + ".weight": tensorOf("F16", []int{8, 32})}}, "layers.3.self_attn.q_proj", 8, 32, F16, None, nil, 0, 0},
		{"F32, name with .weight", built{"", map[string]rawTensor{q + ".weight": tensorOf("F32", []int{8, 32})}}, "layers.3.self_attn.q_proj.weight", 8, 32, F32, None, nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := tt.b.open(t)
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.Matrix(tt.module, tt.rows, tt.cols)
			if err != nil {
				t.Fatal(err)
			}
			if m.Format != tt.format || m.Activations != tt.scheme || !equalBits(m.Scales, tt.scales) || m.InputScale != tt.input || m.Scale != tt.product {
				t.Errorf("%v with %v activations, scales %v, input %v, scale %v", m.Format, m.Activations, m.Scales, m.InputScale, m.Scale)
			}
			if u := c.Unused(); len(u) > 0 {
				t.Errorf("unused: %v", u)
			}
		})
	}
}

func TestForeignFormats(t *testing.T) {
	const q = "model.layers.3.self_attn.q_proj"
	for _, tt := range []struct {
		name    string
		quant   string
		tensors map[string]rawTensor
		want    string
	}{
		{"MXFP8", "", map[string]rawTensor{q + ".weight": tensorOf("F8_E4M3", []int{8, 32}), q + ".weight_scale": tensorOf("U8", []int{8, 1})}, "8-bit weights with U8 block scales (MXFP8)"},
		{"MXFP4", "", map[string]rawTensor{q + ".weight_packed": tensorOf("U8", []int{8, 16}), q + ".weight_scale": tensorOf("U8", []int{8, 1})}, "weight_packed of U8 without weight_global_scale"},
		{"packed integers", "", map[string]rawTensor{q + ".weight_packed": tensorOf("I32", []int{8, 4}), q + ".weight_scale": tensorOf("BF16", []int{8, 1})}, "weight_packed of I32"},
		{"INT8", "", map[string]rawTensor{q + ".weight": tensorOf("I8", []int{8, 32}), q + ".weight_scale": tensorOf("BF16", []int{8, 1})}, "weight dtype I8"},
		{"MLX", "", map[string]rawTensor{q + ".weight": tensorOf("U32", []int{8, 4}), q + ".scales": tensorOf("BF16", []int{8, 1})}, "MLX or GPTQ quantisation (scales)"},
		{"bitsandbytes", "", map[string]rawTensor{q + ".weight": tensorOf("U8", []int{128, 1}), q + ".weight.absmax": tensorOf("F32", []int{4})}, "bitsandbytes (absmax)"},
		{"bias", "", map[string]rawTensor{q + ".weight": tensorOf("BF16", []int{8, 32}), q + ".bias": tensorOf("BF16", []int{8})}, "a projection with a bias"},
		{"block activations for a tensor scale", blockFP8, map[string]rawTensor{q + ".weight": tensorOf("F8_E4M3", []int{8, 32}), q + ".weight_scale": tensorOf("F32", []int{}, 1)},
			"FP8 per tensor weights with FP8 per token and 128 columns activations"},
		{"4-bit activations for FP8", plainNVFP4, map[string]rawTensor{q + ".weight": tensorOf("F8_E4M3", []int{8, 32}), q + ".weight_scale": tensorOf("F32", []int{}, 1)},
			"FP8 per tensor weights with NVFP4 activations"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := built{tt.quant, tt.tensors}.open(t)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Matrix("layers.3.self_attn.q_proj", 8, 32)
			if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), q) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestKVScales(t *testing.T) {
	const attn = "model.layers.3.self_attn."
	one := func(name string, v float32) map[string]rawTensor {
		return map[string]rawTensor{attn + name: tensorOf("F32", []int{1}, v)}
	}
	if _, err := (built{"", one("k_proj.k_scale", 0.5)}).open(t); err == nil || !strings.Contains(err.Error(), "layer 3 has one of") {
		t.Errorf("one of two: %v", err)
	}
	for v, want := range map[float32]string{0: "scale is 0", -1: "scale is -1", float32(math.Inf(1)): "scale is +Inf"} {
		both := one("k_scale", 0.5)
		both[attn+"v_scale"] = tensorOf("F32", []int{1}, v)
		if _, err := (built{"", both}).open(t); err == nil || !strings.Contains(err.Error(), attn+"v_scale: "+want) {
			t.Errorf("scale %v: %v", v, err)
		}
	}
	both := one("k_scale", 0.5)
	both[attn+"v_scale"] = tensorOf("F32", []int{1}, 0.25)
	c, err := built{`{"quant_method":"compressed-tensors","kv_cache_scheme":{"num_bits":8,"type":"float","dynamic":false}}`, both}.open(t)
	if err != nil {
		t.Fatal(err)
	}
	if k, v, ok := c.KVScales(3); k != 0.5 || v != 0.25 || !ok || !c.KVDeclaredFP8() {
		t.Errorf("%v %v %v, FP8 declared %v", k, v, ok, c.KVDeclaredFP8())
	}
	if _, _, ok := c.KVScales(0); ok {
		t.Error("layer 0 has no keys")
	}
	if u := c.Unused(); len(u) > 0 {
		t.Errorf("unused: %v", u)
	}
}

// TestReadRules: where fields are looked for when they are not in their first place.
func TestReadRules(t *testing.T) {
	for _, tt := range []struct {
		checkpoint, old, with string
		want                  func(Config) bool
	}{
		{"tiny-b-bf16", `"tie_word_embeddings": false`, `"tie_word_embeddings": true`, func(c Config) bool { return c.Tied }},
		{"tiny-a-bf16", `"tie_word_embeddings": true`, `"tie_word_embeddings": false`, func(c Config) bool { return c.Tied }}, // no head stored
		{"tiny-a-bf16", `"rope_parameters"`, `"rope_scaling"`, func(c Config) bool { return c.RopeTheta == 1e4 && c.RotaryDims == 8 }},
		{"tiny-a-bf16", `"rope_parameters"`, `"rope_theta": 5e5, "partial_rotary_factor": 0.5, "other"`, func(c Config) bool { return c.RopeTheta == 5e5 && c.RotaryDims == 16 }},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 64.0, "output_gate_type": "sigmoid"`, func(c Config) bool { return c.OutputGate == "sigmoid" && c.HiddenSize == 64 }},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 64, "output_gate_type": "swish"`, func(c Config) bool { return c.OutputGate == "silu" }},
		{"tiny-a-bf16", `"eos_token_id": 487`, `"eos_token_id": null`, func(c Config) bool { return c.EOS == nil }},
		{"tiny-c-bf16", `"full_attention_interval": 4`, `"full_attention_interval": 2`, func(c Config) bool { return c.FullAttention[1] && c.FullAttention[3] && !c.FullAttention[0] }},
	} {
		files := goldenFiles(t, tt.checkpoint)
		if err := replace(files, "config.json", tt.old, tt.with); err != nil {
			t.Fatal(err)
		}
		c, err := OpenFS(files, ".")
		if err != nil {
			t.Errorf("%s: %v", tt.with, err)
		} else if !tt.want(c.Config) {
			t.Errorf("%s: %+v", tt.with, c.Config)
		}
	}
}

// TestQuantisationInOnePlace: hf_quant_config.json alone says the same as both.
func TestQuantisationInOnePlace(t *testing.T) {
	for _, name := range []string{"tiny-a-nvfp4", "tiny-a-mixed"} {
		files := goldenFiles(t, name)
		if err := replace(files, "config.json", `"quantization_config"`, `"unread"`); err != nil {
			t.Fatal(err)
		}
		c, err := OpenFS(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		matrices, _ := c.Config.plan(true)
		for _, p := range matrices {
			m, err := c.Matrix(p.name, p.rows, p.cols)
			if err != nil {
				t.Fatal(err)
			}
			if _, want := wantFormat(name, p.name); m.Activations != want {
				t.Errorf("%s %s: %v activations, want %v", name, p.name, m.Activations, want)
			}
		}
		if got, want := c.KVDeclaredFP8(), name == "tiny-a-mixed"; got != want {
			t.Errorf("%s: FP8 KV declared %v", name, got)
		}
	}
}
