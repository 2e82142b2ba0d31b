package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

// image builds a safetensors file of a header as given and n bytes of data.
func image(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func TestHostileSafetensors(t *testing.T) {
	entry := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"a":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	two := func(a, b string) string {
		return fmt.Sprintf(`{"a":{"dtype":"U8","shape":[4],"data_offsets":%s},"b":{"dtype":"U8","shape":[4],"data_offsets":%s}}`, a, b)
	}
	long := binary.LittleEndian.AppendUint64(nil, 1<<40)
	for _, tt := range []struct {
		name  string
		image []byte
		want  string // the error, after the file name
	}{
		{"empty", nil, "0 bytes is too short for a safetensors file: truncated?"},
		{"seven bytes", make([]byte, 7), "7 bytes is too short for a safetensors file: truncated?"},
		{"no header", make([]byte, 8), "header does not begin with {: damaged, or not a safetensors file"},
		{"header beyond the limit", append(long, "{}"...), "header of 1099511627776 bytes, the limit is 104857600: damaged, or not a safetensors file"},
		{"header past the end", append(binary.LittleEndian.AppendUint64(nil, 100), "{}"...), "header of 100 bytes in a file of 10: truncated?"},
		{"length with its top bit set", append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "{}"...), "header of 18446744073709551615 bytes, the limit"},
		{"lfs pointer", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), "a Git LFS pointer, not the weights"},
		{"not JSON", image(`{"a":`, 0), "header: not JSON: unexpected end of JSON input"},
		{"two values", image(`{}{}`, 0), "header: not JSON: invalid character '{' after top-level value"},
		{"a list", image(` []`, 0), "header does not begin with {"},
		{"deep", image(`{"a":`+strings.Repeat(`[`, 5000)+strings.Repeat(`]`, 5000)+`}`, 0), "header: tensor a: nested deeper than 32"},
		{"many values", image(`{"a":[`+strings.Repeat(`0,`, 100)+`0]}`, 0), "header: tensor a: more than 32 values"},
		{"much metadata", image(`{"__metadata__":[`+strings.Repeat(`0,`, 1<<20)+`0]}`, 0), "header: tensor __metadata__: more than 1048576 values"},
		{"very deep", image(`{"a":`+strings.Repeat(`[`, 1<<20)+strings.Repeat(`]`, 1<<20)+`}`, 0), "header: not JSON: "},
		{"name twice", image(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4), "header: tensor a appears twice"},
		{"member twice", image(`{"a":{"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]}}`, 4), `header: tensor a: key "dtype" appears twice`},
		{"unknown member", image(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}}`, 4), `header: tensor a: unknown member "x"`},
		{"entry is a number", image(`{"a":1}`, 0), "header: tensor a: want an object of dtype, shape and data_offsets"},
		{"empty name", image(`{"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), "header: tensor : name of 0 bytes, want 1 to 512"},
		{"long name", image(`{"`+strings.Repeat("n", 600)+`":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), "header: tensor \"nnn"},
		{"no dtype", image(`{"a":{"shape":[4],"data_offsets":[0,4]}}`, 4), "header: tensor a: dtype is missing"},
		{"unknown dtype", image(entry(`"F128"`, "[1]", "[0,16]"), 16), `header: tensor a: unknown dtype "F128"`},
		{"no shape", image(`{"a":{"dtype":"U8","data_offsets":[0,4]}}`, 4), "header: tensor a: shape: missing"},
		{"negative shape", image(entry(`"U8"`, "[-4]", "[0,4]"), 4), "header: tensor a: shape: want whole numbers below 2^63, got -4"},
		{"fraction in shape", image(entry(`"U8"`, "[4.5]", "[0,4]"), 4), "header: tensor a: shape: want whole numbers below 2^63, got 4.5"},
		{"huge dimension", image(entry(`"U8"`, "[18446744073709551616]", "[0,4]"), 4), "header: tensor a: shape: want whole numbers below 2^63"},
		{"shape overflows", image(entry(`"U8"`, "[4294967296,4294967296]", "[0,0]"), 0), "header: tensor a: shape [4294967296 4294967296] overflows"},
		{"bits overflow", image(entry(`"F64"`, "[1152921504606846976]", "[0,0]"), 0), "header: tensor a: shape [1152921504606846976] overflows"},
		{"many dimensions", image(entry(`"U8"`, "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1), "header: tensor a: shape: 9 numbers, the limit is 8"},
		{"text in shape", image(entry(`"U8"`, `["4"]`, "[0,4]"), 4), `header: tensor a: shape: want whole numbers, got "4"`},
		{"half a byte", image(entry(`"F4"`, "[3]", "[0,2]"), 2), "header: tensor a: shape [3] of 4-bit elements does not fill bytes"},
		{"one offset", image(entry(`"U8"`, "[4]", "[4]"), 4), "header: tensor a: data_offsets [4]: want begin and end"},
		{"offsets backwards", image(entry(`"U8"`, "[4]", "[4,0]"), 4), "header: tensor a: data_offsets [4 0]: want begin and end"},
		{"offsets and shape differ", image(entry(`"F32"`, "[4]", "[0,4]"), 4), "header: tensor a: dtype F32 and shape [4] need 16 bytes, data_offsets [0 4] hold 4"},
		{"past the end", image(entry(`"U8"`, "[8]", "[0,8]"), 4), "tensor a ends at byte 8 of 4: truncated?"},
		{"far past the end", image(entry(`"U8"`, "[1]", "[9223372036854775806,9223372036854775807]"), 4), "tensor a ends at byte 9223372036854775807 of 4: truncated?"},
		{"overlap", image(two("[0,4]", "[2,6]"), 6), "tensor b overlaps a at byte 2"},
		{"same place", image(two("[0,4]", "[0,4]"), 4), "overlaps"},
		{"hole", image(two("[0,4]", "[6,10]"), 10), "2 bytes between a and tensor b belong to nothing"},
		{"hole in front", image(two("[2,6]", "[6,10]"), 10), "2 bytes between the header and tensor a belong to nothing"},
		{"bytes after the end", image(two("[0,4]", "[4,8]"), 9), "1 bytes after the last tensor (b) belong to nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseSafetensors("x.safetensors", tt.image)
			if err == nil || !strings.HasPrefix(err.Error(), "x.safetensors: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want x.safetensors: %s", err, tt.want)
			}
			if got != nil {
				t.Errorf("%d tensors with the error", len(got))
			}
		})
	}
}

func TestSafetensorsAccepts(t *testing.T) {
	for name, b := range map[string][]byte{
		"no tensors":   image(`{"__metadata__":{"format":"pt"}}`, 0),
		"padding":      image(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}      `, 4),
		"empty tensor": image(`{"a":{"dtype":"U8","shape":[0,4],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4),
		"any order":    image(`{"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"a":{"dtype":"I64","shape":[],"data_offsets":[6,14]},"c":{"dtype":"F4","shape":[4,2],"data_offsets":[0,4]}}`, 14),
	} {
		if _, err := parseSafetensors("x.safetensors", b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// goldenFiles copies a golden checkpoint into a file system of memory, to be damaged.
func goldenFiles(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	c := openGolden(t, name)
	files := fstest.MapFS{}
	for _, f := range append([]string{indexFile}, smallFiles...) {
		if b, err := c.File(f); err == nil {
			files[f] = &fstest.MapFile{Data: b}
		}
	}
	for _, w := range c.weights {
		files[w.info.Path[strings.LastIndexByte(w.info.Path, '/')+1:]] = &fstest.MapFile{Data: append([]byte{}, w.image...)}
	}
	return files
}

func replace(files fstest.MapFS, name, old, with string) error {
	text := string(files[name].Data)
	if !strings.Contains(text, old) {
		return fmt.Errorf("%s does not contain %s", name, old)
	}
	files[name].Data = []byte(strings.Replace(text, old, with, 1))
	return nil
}

func TestHostileConfig(t *testing.T) {
	for _, tt := range []struct {
		checkpoint, old, with string // of config.json
		want                  string
		unsupported           bool
	}{
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 0`, "config.json: text_config.hidden_size: want a whole number from 1 to 65536, got 0", false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": -64`, "text_config.hidden_size: want a whole number from 1 to 65536, got -64", false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 64.5`, "text_config.hidden_size: want a whole number", false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": "64"`, `text_config.hidden_size: want a whole number from 1 to 65536, got "64"`, false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 1e400`, "text_config.hidden_size: want a whole number", false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 9223372036854775807`, "text_config.hidden_size: want a whole number", false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": null`, "text_config.hidden_size: missing", false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 64, "hidden_size": 64`, `config.json: key "hidden_size" appears twice`, false},
		{"tiny-a-bf16", `"num_hidden_layers": 4`, `"num_hidden_layers": 1000000000`, "text_config.num_hidden_layers: want a whole number from 1 to 1024", false},
		{"tiny-a-bf16", `"num_hidden_layers": 4`, `"num_hidden_layers": 5`, "text_config.layer_types: 4 entries for num_hidden_layers 5", false},
		{"tiny-a-bf16", `"full_attention"`, `"sliding_attention"`, `text_config.layer_types: entry 3 is "sliding_attention"`, false},
		{"tiny-a-bf16", `"num_key_value_heads": 2`, `"num_key_value_heads": 3`, "num_attention_heads 4 is not a multiple of num_key_value_heads 3", false},
		{"tiny-b-bf16", `"linear_num_key_heads": 2`, `"linear_num_key_heads": 3`, "linear_num_value_heads 4 is not a multiple of linear_num_key_heads 3", false},
		{"tiny-a-bf16", `"partial_rotary_factor": 0.25`, `"partial_rotary_factor": 1.5`, "rope_parameters.partial_rotary_factor: want a number from 0 to 1, got 1.5", false},
		{"tiny-a-bf16", `"partial_rotary_factor": 0.25`, `"partial_rotary_factor": 0.1`, "partial_rotary_factor: 0.1 of head_dim 32 is 3 dimensions, want an even number", false},
		{"tiny-a-bf16", `"rope_theta": 10000.0`, `"rope_theta": -1`, "rope_parameters.rope_theta: want a number from 1", false},
		{"tiny-a-bf16", `"rope_theta": 10000.0,`, ``, "rope_parameters.rope_theta: missing", false},
		{"tiny-a-bf16", `"rope_type": "default"`, `"rope_type": "yarn"`, `config.json: rope_type "yarn" is not supported`, true},
		{"tiny-a-bf16", `"rms_norm_eps": 1e-06`, `"rms_norm_eps": 0`, "text_config.rms_norm_eps: want a number", false},
		{"tiny-a-bf16", `"text_config": {`, `"text_config": 5, "x": {`, "config.json: text_config: want an object, got 5", false},
		{"tiny-a-bf16", `"eos_token_id": 487`, `"eos_token_id": 512`, "eos_token_id: want a token id below the vocabulary size 512, got 512", false},
		{"tiny-a-bf16", `"tie_word_embeddings": true`, `"tie_word_embeddings": "yes"`, `tie_word_embeddings: want true or false, got "yes"`, false},
		{"tiny-a-bf16", `"Qwen3_5ForConditionalGeneration"`, `"Qwen3_5MoeForConditionalGeneration"`, "mixture-of-experts model Qwen3_5MoeForConditionalGeneration (qwen3_5) is not supported; hearth runs the dense", true},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 64, "num_experts": 8`, "mixture-of-experts model", true},
		{"tiny-a-bf16", `"Qwen3_5ForConditionalGeneration"`, `"LlamaForCausalLM"`, "architecture LlamaForCausalLM (qwen3_5) is not supported", true},
		{"tiny-a-bf16", `"attention_bias": false`, `"attention_bias": true`, "attention_bias true is not supported; want false", true},
		{"tiny-a-bf16", `"attn_output_gate": true`, `"attn_output_gate": false`, "attn_output_gate false is not supported", true},
		{"tiny-a-bf16", `"linear_conv_kernel_dim": 4`, `"linear_conv_kernel_dim": 3`, "linear_conv_kernel_dim 3 is not supported; want 4", true},
		{"tiny-a-bf16", `"hidden_act": "silu"`, `"hidden_act": "gelu"`, `hidden_act "gelu" is not supported; want silu`, true},
		{"tiny-a-bf16", `"mtp_use_dedicated_embeddings": false`, `"mtp_use_dedicated_embeddings": true`, "mtp_use_dedicated_embeddings true is not supported", true},
		{"tiny-a-bf16", `"mtp_num_hidden_layers": 1`, `"mtp_num_hidden_layers": 2`, "mtp_num_hidden_layers: want a whole number from 0 to 1, got 2", false},
		{"tiny-a-bf16", `"hidden_size": 64`, `"hidden_size": 64, "output_gate_type": "tanh"`, `output_gate_type "tanh" is not supported`, true},
		{"tiny-a-ct", `"quant_method": "compressed-tensors"`, `"quant_method": "gptq"`, `quant_method "gptq" is not supported; supported are ModelOpt`, true},
		{"tiny-a-ct", `"quant_method": "compressed-tensors"`, `"quant_method": "awq"`, `quant_method "awq" is not supported`, true},
		{"tiny-a-ct", `"quant_method": "compressed-tensors"`, `"quant_method": "bitsandbytes"`, `quant_method "bitsandbytes" is not supported`, true},
		{"tiny-a-ct", `"format": "nvfp4-pack-quantized"`, `"format": "mxfp4-pack-quantized"`, `format "mxfp4-pack-quantized" is not supported`, true},
		{"tiny-a-ct", `"transform_config": {}`, `"transform_config": {"config_groups": {"R1": {}}}`, "transform_config (rotated weights) is not supported", true},
		{"tiny-a-ct", `"sparsity_config": {}`, `"sparsity_config": {"format": "sparse-24-bitmask"}`, `sparsity_config.format "sparse-24-bitmask" is not supported`, true},
		{"tiny-a-nvfp4", `"quant_algo": "NVFP4"`, `"quant_algo": "MIXED_PRECISION"`, "MIXED_PRECISION without quantized_layers", false},
		{"tiny-a-ct", `"num_bits": 4`, `"num_bits": 6`, "6 bits, type float", true},
		{"tiny-a-ct", `"re:.*in_proj_[ab]$"`, `"re:(("`, "config.json: quantization_config.ignore: re:((: error parsing regexp", false},
		{"tiny-a-nvfp4", `"quant_algo": "NVFP4"`, `"quant_algo": "MXFP8"`, `quant_algo "MXFP8" is not supported`, true},
		{"tiny-a-nvfp4", `"quant_algo": "NVFP4"`, `"quant_algo": "NVFP4_AWQ"`, `quant_algo "NVFP4_AWQ" is not supported`, true},
		{"tiny-a-nvfp4", `"mtp*"`, `"mtp["`, "pattern mtp[: syntax error in pattern", false},
		{"tiny-a-mixed", `"quant_algo": "FP8"`, `"quant_algo": "W4A8_AWQ"`, `in_proj_qkv: quant_algo "W4A8_AWQ" is not supported`, true},
		{"tiny-a-fp8", `"activation_scheme": "dynamic"`, `"activation_scheme": "odd"`, `activation_scheme "odd" is not supported`, true},
		{"tiny-a-fp8", "\"weight_block_size\": [\n      128", "\"weight_block_size\": [\n      64", "weight_block_size other than [128, 128] is not supported", true},
	} {
		t.Run(tt.with, func(t *testing.T) {
			files := goldenFiles(t, tt.checkpoint)
			if err := replace(files, "config.json", tt.old, tt.with); err != nil {
				t.Fatal(err)
			}
			c, err := OpenFS(files, ".")
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %s", err, tt.want)
			}
			if errors.Is(err, ErrUnsupported) != tt.unsupported {
				t.Errorf("ErrUnsupported is %v in %v", !tt.unsupported, err)
			}
		})
	}
}

func TestHostileFolder(t *testing.T) {
	const shard1, shard2 = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	for _, tt := range []struct {
		name, checkpoint string
		damage           func(files fstest.MapFS) error
		want             string
	}{
		{"no config", "tiny-a-bf16", func(f fstest.MapFS) error { delete(f, "config.json"); return nil }, "config.json is missing: not a Hugging Face model folder"},
		{"no weights", "tiny-a-bf16", func(f fstest.MapFS) error { delete(f, "model.safetensors"); return nil }, "no *.safetensors file"},
		{"only .bin", "tiny-a-bf16", func(f fstest.MapFS) error {
			delete(f, "model.safetensors")
			f["pytorch_model.bin"] = &fstest.MapFile{}
			return nil
		}, "pytorch_model.bin: a weight file of this kind is not supported; want safetensors"},
		{"GGUF", "tiny-a-bf16", func(f fstest.MapFS) error {
			delete(f, "model.safetensors")
			f["model.gguf"] = &fstest.MapFile{}
			return nil
		}, "model.gguf: a weight file of this kind is not supported"},
		{"truncated", "tiny-a-bf16", func(f fstest.MapFS) error {
			f["model.safetensors"].Data = f["model.safetensors"].Data[:300_000]
			return nil
		}, "model.safetensors: tensor "},
		{"shard missing", "tiny-b-bf16", func(f fstest.MapFS) error { delete(f, shard2); return nil }, shard2 + " is named by model.safetensors.index.json and does not exist"},
		{"shard outside", "tiny-b-bf16", func(f fstest.MapFS) error { return replace(f, indexFile, shard1, "../"+shard1) }, "want the name of a .safetensors file in the same folder"},
		{"shard missing without index", "tiny-b-bf16", func(f fstest.MapFS) error { delete(f, shard2); delete(f, indexFile); return nil },
			shard2 + " does not exist beside " + shard1},
		{"wrong shard", "tiny-b-bf16", func(f fstest.MapFS) error {
			return replace(f, indexFile, `"lm_head.weight": "`+shard1, `"lm_head.weight": "`+shard2)
		}, "tensor lm_head.weight is not in " + shard2},
		{"index names nothing", "tiny-b-bf16", func(f fstest.MapFS) error { return replace(f, indexFile, `"lm_head.weight"`, `"other.weight"`) }, "tensor other.weight is not in " + shard1},
		{"stored twice", "tiny-b-bf16", func(f fstest.MapFS) error {
			delete(f, indexFile)
			f["copy.safetensors"] = f[shard2]
			return nil
		}, "stored in copy.safetensors too"},
		{"MTP in part", "tiny-a-bf16", func(f fstest.MapFS) error {
			return replace(f, "model.safetensors", `"mtp.norm.weight"`, `"mtp.n0rm.weight"`)
		}, "MTP head is incomplete, 1 of 15 tensors are missing: mtp.norm.weight"},
		{"two names for one", "tiny-c-bf16", func(f fstest.MapFS) error {
			return renameTensor(f["model.safetensors"], "mtp.norm.weight", "norm.weight")
		}, "tensor norm.weight: means the same as model.norm.weight in model.safetensors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := goldenFiles(t, tt.checkpoint)
			if err := tt.damage(files); err != nil {
				t.Fatal(err)
			}
			c, err := OpenFS(files, ".")
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestShardsWithoutIndex(t *testing.T) {
	files := goldenFiles(t, "tiny-b-bf16")
	delete(files, indexFile)
	c, err := OpenFS(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Files()); n != 2 || !c.Has("layers.7.self_attn.q_proj.weight") || !c.Has("embed_tokens.weight") {
		t.Errorf("%d files, tensors missing", n)
	}
}

// patch overwrites the first bytes of a tensor.
func patch(name string, b ...byte) func(map[string][]byte) {
	return func(m map[string][]byte) { copy(m[name], b) }
}

func TestHostileTensors(t *testing.T) {
	f32 := func(x float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)) }
	nan := float32(math.NaN())
	const up = "layers.0.mlp.up_proj"
	const stored = "model.language_model." + up
	for _, tt := range []struct {
		name, checkpoint string
		damage           func(map[string][]byte)
		rename           [2]string // in the header, of equal length
		want             string
	}{
		{"NaN scale", "tiny-a-nvfp4", patch(stored+".weight_scale_2", f32(nan)...), [2]string{}, stored + ".weight_scale_2: scale is NaN"},
		{"zero scale", "tiny-a-nvfp4", patch(stored+".weight_scale_2", f32(0)...), [2]string{}, stored + ".weight_scale_2: scale is 0, want a finite number above zero"},
		{"negative scale", "tiny-a-nvfp4", patch(stored+".weight_scale_2", f32(-1)...), [2]string{}, "scale is -1"},
		{"infinite input scale", "tiny-a-nvfp4", patch(stored+".input_scale", f32(float32(math.Inf(1)))...), [2]string{}, stored + ".input_scale: scale is +Inf"},
		{"no input scale", "tiny-a-nvfp4", nil, [2]string{up + ".input_scale", up + ".input_scala"}, "tensor is missing: " + up + ".input_scale"},
		{"NaN block scale", "tiny-a-nvfp4", patch(stored+".weight_scale", 0x38, 0x7F), [2]string{}, stored + ".weight_scale: block scale 1 is 0x7f: NaN or negative"},
		{"negative block scale", "tiny-a-nvfp4", patch(stored+".weight_scale", 0xB8), [2]string{}, "block scale 0 is 0xb8"},
		{"no block scales", "tiny-a-nvfp4", nil, [2]string{up + `.weight_scale"`, up + `.weight_scala"`}, "tensor is missing: " + up + ".weight_scale"},
		{"no second scale", "tiny-a-nvfp4", nil, [2]string{up + ".weight_scale_2", up + ".weight_scale_3"}, "U8 weights without weight_scale_2 is not supported"},
		{"AWQ", "tiny-a-nvfp4", nil, [2]string{"layers.1.mlp.up_proj.weight_scale_2", up + ".pre_quant_scale"}, "NVFP4_AWQ (pre_quant_scale) is not supported"},
		{"no weight", "tiny-a-bf16", nil, [2]string{up + ".weight", up + ".weihgt"}, "tensor is missing: " + up + ".weight"},
		{"GPTQ", "tiny-a-bf16", nil, [2]string{up + ".weight", up + ".qweight"}, "GPTQ or AWQ (qweight) is not supported"},
		{"tiny divisor", "tiny-a-ct", patch(stored+".weight_global_scale", f32(1e-45)...), [2]string{}, "its reciprocal is no float32"},
		{"zero input divisor", "tiny-a-ct", patch(stored+".input_global_scale", f32(0)...), [2]string{}, stored + ".input_global_scale: scale is 0"},
		{"no input divisor", "tiny-a-ct", nil, [2]string{up + ".input_global_scale", up + ".input_global_scala"}, "tensor is missing: " + up + ".input_global_scale"},
		{"NaN in FP8 scales", "tiny-a-fp8", patch(stored+".weight_scale_inv", 0xC0, 0x7F), [2]string{}, stored + ".weight_scale_inv: element 0 is NaN"},
		{"negative FP8 scale", "tiny-a-fp8", patch(stored+".weight_scale_inv", 0x80, 0xBF), [2]string{}, "scale 0 is -1"},
		{"no FP8 scales", "tiny-a-fp8", nil, [2]string{up + ".weight_scale_inv", up + ".weight_scale_1nv"}, "tensor is missing: " + up + ".weight_scale"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := goldenFiles(t, tt.checkpoint)
			if tt.rename[0] != "" {
				if err := renameTensor(files["model.safetensors"], tt.rename[0], tt.rename[1]); err != nil {
					t.Fatal(err)
				}
			}
			c, err := OpenFS(files, ".")
			if err != nil {
				t.Fatal(err)
			}
			if tt.damage != nil {
				m := map[string][]byte{}
				for _, s := range c.stored {
					m[s.Name] = s.Data()
				}
				tt.damage(m)
			}
			_, err = c.Matrix(up, 128, 64)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// renameTensor edits the header of a safetensors file, whose length may change.
func renameTensor(f *fstest.MapFile, old, with string) error {
	n := binary.LittleEndian.Uint64(f.Data)
	header := string(f.Data[8 : 8+n])
	if !strings.Contains(header, old) {
		return fmt.Errorf("the header does not contain %s", old)
	}
	header = strings.Replace(header, old, with, 1)
	f.Data = append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), f.Data[8+n:]...)
	return nil
}

func TestWrongShapes(t *testing.T) {
	for _, name := range []string{"tiny-a-bf16", "tiny-a-nvfp4", "tiny-a-ct", "tiny-a-fp8"} {
		c := openGolden(t, name)
		for _, shape := range [][2]int{{64, 128}, {128, 32}, {129, 64}, {128, 72}} {
			if _, err := c.Matrix("layers.0.mlp.up_proj", shape[0], shape[1]); err == nil || !strings.Contains(err.Error(), "up_proj.weight") {
				t.Errorf("%s as %v: error %v", name, shape, err)
			}
		}
	}
	c := openGolden(t, "tiny-a-bf16")
	if _, err := c.Vector("norm.weight", 63); err == nil || !strings.Contains(err.Error(), "shape [64], want [63]") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Vector("nrom.weight", 64); !errors.Is(err, ErrMissing) {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"../config.json", "a/b", "..", "."} {
		if _, err := c.File(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("File(%q): %v", name, err)
		}
	}
}

func TestLogicalNames(t *testing.T) {
	for stored, want := range map[string]string{
		"model.language_model.layers.0.mlp.up_proj.weight": "layers.0.mlp.up_proj.weight",
		"model.layers.0.mlp.up_proj.weight":                "layers.0.mlp.up_proj.weight",
		"language_model.model.norm.weight":                 "norm.weight",
		"language_model.layers.1.linear_attn.A_log":        "layers.1.linear_attn.A_log",
		"language_model.lm_head.weight":                    "lm_head.weight",
		"lm_head.weight":                                   "lm_head.weight",
		"mtp.fc.weight":                                    "mtp.fc.weight",
		"model.mtp.fc.weight":                              "mtp.fc.weight",
		"language_model.mtp.norm.weight":                   "mtp.norm.weight",
		"model.visual.blocks.0.norm1.weight":               "vision",
		"visual.patch_embed.proj.weight":                   "vision",
	} {
		got, vision := logicalName(stored)
		if vision {
			got = "vision"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", stored, got, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	names := moduleNames("layers.3.self_attn.q_proj", "model.language_model.layers.3.self_attn.q_proj")
	for pattern, want := range map[string]bool{
		"model.language_model.layers.3.self_attn*": true, "model.layers.*.self_attn.q_proj": true, "layers.3*": true,
		"*": true, "*q_proj": true, "layers.[!0-2].*": true, "layers.[!3].*": false, "lm_head": false, "mtp*": false, "layers.3": false,
	} {
		if got := wildcard(pattern, names); got != want {
			t.Errorf("%s matches: %v", pattern, got)
		}
	}
	for text, want := range map[string]bool{
		"Linear": true, "Embedding": false, "re:.*self_attn.*": true, "re:self_attn": false, "re:.*layers\\.3\\..*q_proj$": true,
		"re:^(?!.*self_attn).*": false, "re:(?=model).*": true, "layers.3.self_attn.q_proj": true, "layers.3": false,
	} {
		var err error
		list, merr := matchers(newFields("config.json", map[string]any{"targets": []any{text}}, &err), "targets")
		if err != nil || merr != nil {
			t.Fatal(err, merr)
		}
		if got, err := list[0].matches(names, "Linear"); got != want || err != nil {
			t.Errorf("%s matches: %v, %v", text, got, err)
		}
	}
}

func TestRunawayExpression(t *testing.T) {
	var err error
	list, _ := matchers(newFields("config.json", map[string]any{"targets": []any{"re:(?=x)?((.*)*)*$[^.]"}}, &err), "targets")
	if len(list) != 1 {
		t.Fatal("not compiled")
	}
	if ok, err := list[0].matches([]string{strings.Repeat("a", 400)}, "Linear"); ok || err == nil || !strings.Contains(err.Error(), "expression re:") {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestTemplateForms(t *testing.T) {
	files := goldenFiles(t, "tiny-a-bf16")
	delete(files, "chat_template.jinja")
	for _, tt := range []struct{ config, want, fails string }{
		{`{"chat_template": "A"}`, "A", ""},
		{`{"chat_template": [{"name": "tool_use", "template": "B"}, {"name": "default", "template": "C"}]}`, "C", ""},
		{`{"chat_template": [{"name": "x", "template": "D"}]}`, "D", ""},
		{`{"chat_template": [{"name": "x", "template": "D"}, {"name": "y", "template": "E"}]}`, "", `no entry named default, only ["x" "y"]`},
		{`{"chat_template": 5}`, "", "chat_template: want a string or a list, got 5"},
		{`{}`, "", "has no chat template"},
	} {
		files["tokenizer_config.json"] = &fstest.MapFile{Data: []byte(tt.config)}
		c, err := OpenFS(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.ChatTemplate()
		if got != tt.want || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %q, %v", tt.config, got, err)
		}
	}
}

func TestForeignConvLayout(t *testing.T) {
	files := goldenFiles(t, "tiny-c-bf16")
	f := files["model.safetensors"]
	for range 3 {
		if err := renameTensor(f, "[320,1,4]", "[320,4,1]"); err != nil {
			t.Fatal(err)
		}
	}
	c, err := OpenFS(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.NormOffset(); got != 0 {
		t.Errorf("norm offset %v", got)
	}
	want, err := openGolden(t, "tiny-c-bf16").Conv("layers.1.linear_attn.conv1d.weight")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Conv("layers.1.linear_attn.conv1d.weight"); err != nil || !equalBits(got, want) {
		t.Errorf("convolution differs, %v", err)
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(image(`{"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`, 8))
	f.Add(image(`{"a":{"dtype":"BF16","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0))
	f.Add(image(`{"a":{"dtype":"F4","shape":[0,3],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}  `, 1))
	f.Add([]byte("version https://git-lfs"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tensors, err := parseSafetensors("x.safetensors", b)
		if err != nil {
			return
		}
		var sum int64
		for _, x := range tensors {
			if x.offset < 8 || x.offset+x.Bytes > int64(len(b)) || int64(x.elements())*dtypeBits[x.DType]/8 != x.Bytes {
				t.Errorf("%+v in a file of %d", x, len(b))
			}
			sum += x.Bytes
		}
		if header := int64(binary.LittleEndian.Uint64(b)); 8+header+sum != int64(len(b)) {
			t.Errorf("%d bytes of tensors and a header of %d in a file of %d", sum, header, len(b))
		}
	})
}

func FuzzConfig(f *testing.F) {
	for _, name := range []string{"tiny-a-mixed", "tiny-b-ct", "tiny-c-fp8", "tiny-a-nvfp4"} {
		c := openGolden(f, name)
		b, err := c.File("config.json")
		if err != nil {
			f.Fatal(err)
		}
		hf, _ := c.File("hf_quant_config.json")
		f.Add(b, hf)
	}
	f.Fuzz(func(t *testing.T, config, modelopt []byte) {
		root, err := parseObject("config.json", config)
		if err != nil {
			return
		}
		if c, err := parseConfig(root, maps.Clone(root)); err == nil {
			if c.HiddenSize < 1 || c.HiddenSize > maxHidden || len(c.FullAttention) != c.Layers || c.RotaryDims > c.HeadDim || c.RotaryDims%2 != 0 || c.Heads%c.KVHeads != 0 {
				t.Errorf("accepted %+v", c)
			}
			c.plan(true)
		}
		hf, _ := parseObject("hf_quant_config.json", modelopt)
		if q, err := parseQuant(root, hf); err == nil {
			if _, err := q.scheme(moduleNames("layers.0.mlp.up_proj", "model.layers.0.mlp.up_proj"), true); err != nil && !strings.Contains(err.Error(), "expression") {
				t.Error(err)
			}
		}
	})
}
