package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goldenDir = "../testdata/golden"

// goldenNames are the seventeen small checkpoints.
var goldenNames = []string{
	"tiny-a-bf16", "tiny-a-nvfp4", "tiny-a-mixed", "tiny-a-ct", "tiny-a-fp8",
	"tiny-b-bf16", "tiny-b-nvfp4", "tiny-b-mixed", "tiny-b-ct", "tiny-b-fp8",
	"tiny-c-bf16", "tiny-c-nvfp4", "tiny-c-mixed", "tiny-c-ctw4a16", "tiny-c-fp8",
	"tiny-d-bf16", "tiny-d-fp8",
}

func openGolden(t testing.TB, name string) *Checkpoint {
	t.Helper()
	c, err := Open(filepath.Join(goldenDir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// wantFormat says how a module of a golden checkpoint is stored, from the table in the description of the goldens.
func wantFormat(checkpoint, module string) (Format, Scheme) {
	letter, kind := checkpoint[5:6], checkpoint[7:]
	plain := strings.HasSuffix(module, "in_proj_a") || strings.HasSuffix(module, "in_proj_b") || module == "embed_tokens" || module == "mtp.fc"
	mtp, mlp, head := strings.HasPrefix(module, "mtp."), strings.Contains(module, ".mlp."), module == "lm_head"
	switch {
	case kind == "bf16" || plain || mtp && kind != "fp8" || head && kind != "mixed":
	case kind == "fp8":
		return FP8Block, DynamicFP8Block
	case kind == "mixed" && (mlp || head):
		return NVFP4, None
	case kind == "mixed":
		return FP8Tensor, StaticFP8
	case letter == "a" && strings.HasPrefix(module, "layers.0.linear_attn"):
	case kind == "nvfp4" && letter == "b" && !mlp:
	case kind == "ctw4a16":
		return NVFP4, None
	default:
		return NVFP4, StaticNVFP4
	}
	return BF16, None
}

func TestGoldenMatrices(t *testing.T) {
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			c := openGolden(t, name)
			plain := openGolden(t, name[:7]+"bf16")
			raw := readRaw(t, filepath.Join(goldenDir, name))
			matrices, _ := c.Config.plan(c.HasMTP())
			for _, p := range matrices {
				m, err := c.Matrix(p.name, p.rows, p.cols)
				if err != nil {
					t.Fatal(err)
				}
				format, scheme := wantFormat(name, p.name)
				if m.Format != format || m.Activations != scheme {
					t.Errorf("%s: %v with %v activations, want %v with %v", p.name, m.Format, m.Activations, format, scheme)
				}
				if static := scheme == StaticNVFP4 || scheme == StaticFP8; static != (m.InputScale > 0) {
					t.Errorf("%s: input scale %v with %v activations", p.name, m.InputScale, scheme)
				}
				got := dequantise(m)
				if want := raw.weights(t, p.name, p.rows, p.cols); !equalBits(got, want) {
					t.Errorf("%s: dequantised values differ from the raw bytes", p.name)
				}
				source, err := plain.Matrix(p.name, p.rows, p.cols)
				if err != nil {
					t.Fatal(err)
				}
				limit := map[Format]float64{BF16: 0, NVFP4: 0.12, FP8Tensor: 0.04, FP8Block: 0.04}[m.Format]
				if e := distance(got, dequantise(source)); !(e <= limit) {
					t.Errorf("%s: %v is %.3f away from BF16", p.name, m.Format, e)
				}
				m.Done()
			}
		})
	}
}

func TestGoldenVectorsAndLeftovers(t *testing.T) {
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			c := openGolden(t, name)
			matrices, vectors := c.Config.plan(c.HasMTP())
			if len(c.Unused()) == 0 {
				t.Fatal("nothing is unused before anything was asked for")
			}
			for _, p := range matrices {
				if _, err := c.Matrix(p.name, p.rows, p.cols); err != nil {
					t.Error(err)
				}
			}
			for _, p := range vectors {
				var err error
				if len(p.shape) == 3 {
					_, err = c.Conv(p.name)
				} else {
					_, err = c.Vector(p.name, p.shape[0])
				}
				if err != nil {
					t.Error(err)
				}
			}
			if u := c.Unused(); len(u) > 0 {
				t.Errorf("unused: %v", u)
			}
			if got, want := c.HasMTP(), name[:6] != "tiny-d"; got != want {
				t.Errorf("HasMTP %v, want %v", got, want)
			}
			if got := c.NormOffset(); got != 1 {
				t.Errorf("norm offset %v", got)
			}
			_, _, ok := c.KVScales(3)
			if want := name == "tiny-b-mixed"; ok != want {
				t.Errorf("KV scales %v, want %v", ok, want)
			}
			if got, want := c.KVDeclaredFP8(), strings.HasSuffix(name, "-mixed"); got != want {
				t.Errorf("FP8 KV declared %v, want %v", got, want)
			}
			if tpl, err := c.ChatTemplate(); err != nil || !strings.Contains(tpl, "<|im_start|>") {
				t.Errorf("chat template: %v", err)
			}
		})
	}
}

func TestConvIsTapMajor(t *testing.T) {
	c := openGolden(t, "tiny-c-bf16")
	got, err := c.Conv("layers.0.linear_attn.conv1d.weight")
	if err != nil {
		t.Fatal(err)
	}
	raw := readRaw(t, filepath.Join(goldenDir, "tiny-c-bf16")).values(t, "layers.0.linear_attn.conv1d.weight")
	n := c.Config.ConvChannels()
	for ch := range n {
		for tap := range 4 {
			if got[tap*n+ch] != raw[4*ch+tap] {
				t.Fatalf("channel %d tap %d: %v, want %v", ch, tap, got[tap*n+ch], raw[4*ch+tap])
			}
		}
	}
}

func TestGoldenConfigs(t *testing.T) {
	a := openGolden(t, "tiny-a-mixed").Config
	b := openGolden(t, "tiny-b-ct").Config
	c := openGolden(t, "tiny-c-fp8").Config
	for _, tt := range []struct {
		what      string
		got, want any
	}{
		{"a tied", a.Tied, true}, {"b tied", b.Tied, false}, {"c tied", c.Tied, false},
		{"a class", a.Architecture, "Qwen3_5ForConditionalGeneration"}, {"c class", c.Architecture, "Qwen3_5ForCausalLM"},
		{"a hidden", a.HiddenSize, 64}, {"b layers", b.Layers, 8}, {"c heads", c.Heads, 6}, {"c kv heads", c.KVHeads, 1},
		{"a theta", a.RopeTheta, 1e4}, {"b theta", b.RopeTheta, 1e7}, {"a rotary", a.RotaryDims, 8},
		{"b full", fmt.Sprint(b.FullAttention), "[false false false true false false false true]"},
		{"c full without layer_types", fmt.Sprint(c.FullAttention), "[false false false true]"},
		{"c value heads", c.LinearValueHeads, 6}, {"c conv channels", c.ConvChannels(), 320},
		{"a eos", fmt.Sprint(a.EOS), "[487]"}, {"a generation eos", fmt.Sprint(a.Generation.EOS), "[489 487]"},
		{"a top_k", *a.Generation.TopK, 20}, {"a top_p", *a.Generation.TopP, float32(0.95)}, {"a temperature", *a.Generation.Temperature, float32(1)},
		{"a do_sample", *a.Generation.DoSample, true}, {"a bos", *a.Generation.BOS, 487}, {"a min_p", a.Generation.MinP, (*float32)(nil)},
		{"a gate", a.OutputGate, "silu"}, {"a eps", a.RMSNormEps, float32(1e-6)}, {"a mtp", a.MTPLayers, 1}, {"a positions", a.MaxPositions, 4096},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.what, tt.got, tt.want)
		}
	}
}

// --- A second reading of the files, from the description of the formats.

// raw is a folder read with the standard library's JSON.
type raw map[string]rawTensor

type rawTensor struct {
	DType       string  `json:"dtype"`
	Shape       []int   `json:"shape"`
	DataOffsets []int64 `json:"data_offsets"`
	data        []byte
}

func readRaw(t *testing.T, dir string) raw {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	out := raw{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n := binary.LittleEndian.Uint64(b)
		var header map[string]json.RawMessage
		if err := json.Unmarshal(b[8:8+n], &header); err != nil {
			t.Fatal(err)
		}
		for name, v := range header {
			var r rawTensor
			if name == "__metadata__" || json.Unmarshal(v, &r) != nil {
				continue
			}
			r.data = b[8+n:][r.DataOffsets[0]:r.DataOffsets[1]]
			out[name] = r
		}
	}
	return out
}

func (r raw) find(name string) (rawTensor, bool) {
	for _, prefix := range []string{"", "model.", "model.language_model."} {
		if t, ok := r[prefix+name]; ok {
			return t, true
		}
	}
	return rawTensor{}, false
}

func (r raw) values(t *testing.T, name string) []float32 {
	x, ok := r.find(name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	var out []float32
	switch x.DType {
	case "F32":
		for i := 0; i < len(x.data); i += 4 {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(x.data[i:])))
		}
	case "BF16":
		for i := 0; i < len(x.data); i += 2 {
			out = append(out, math.Float32frombits(uint32(x.data[i])<<16|uint32(x.data[i+1])<<24))
		}
	case "F8_E4M3":
		for _, b := range x.data {
			out = append(out, e4m3(b))
		}
	default:
		t.Fatalf("%s is %s", name, x.DType)
	}
	return out
}

// weights dequantises a module by the formulas of each export.
func (r raw) weights(t *testing.T, module string, rows, cols int) []float32 {
	t.Helper()
	at := func(x []float32, o, i, edge int) float32 { return x[o/edge*((cols+edge-1)/edge)+i/edge] }
	out := make([]float32, rows*cols)
	packed, compressed := r.find(module + ".weight_packed")
	if !compressed {
		packed, _ = r.find(module + ".weight")
	}
	if packed.DType == "U8" {
		scales := r.values(t, module+".weight_scale")
		for n := range out {
			b := packed.data[n/2]
			code := b & 15
			if n%2 == 1 {
				code = b >> 4
			}
			exact := float64(e2m1(code)) * float64(scales[n/16])
			if compressed {
				out[n] = float32(exact) * (1 / r.values(t, module+".weight_global_scale")[0])
			} else {
				out[n] = float32(exact) * r.values(t, module+".weight_scale_2")[0]
			}
		}
		return out
	}
	copy(out, r.values(t, module+".weight"))
	if _, ok := r.find(module + ".weight_scale_inv"); ok {
		scales := r.values(t, module+".weight_scale_inv")
		for n := range out {
			out[n] *= at(scales, n/cols, n%cols, 128)
		}
	} else if _, ok := r.find(module + ".weight_scale"); ok {
		scales := r.values(t, module+".weight_scale")
		for n := range out {
			out[n] *= scales[0]
		}
	}
	return out
}

func e4m3(b byte) float32 {
	sign, e, m := 1.0, int(b>>3&15), float64(b&7)
	if b >= 128 {
		sign = -1
	}
	if b&127 == 127 {
		return float32(math.NaN())
	}
	if e == 0 {
		return float32(sign * m / 512)
	}
	return float32(sign * (1 + m/8) * math.Pow(2, float64(e-7)))
}

func e2m1(code byte) float32 {
	v := []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6}[code&7]
	if code >= 8 {
		return -v
	}
	return v
}

// dequantise evaluates a Matrix as its documentation says.
func dequantise(m Matrix) []float32 {
	out := make([]float32, m.Rows*m.Cols)
	for n := range out {
		o, i := n/m.Cols, n%m.Cols
		switch m.Format {
		case F32:
			out[n] = math.Float32frombits(binary.LittleEndian.Uint32(m.Codes[4*n:]))
		case BF16:
			out[n] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(m.Codes[2*n:])) << 16)
		case F16:
			out[n] = halfToFloat(binary.LittleEndian.Uint16(m.Codes[2*n:]))
		case NVFP4:
			out[n] = e2m1(m.Codes[n/2]>>(4*(n%2))&15) * e4m3(m.BlockScales[n/16]) * m.Scale
		case FP8Tensor:
			out[n] = e4m3(m.Codes[n]) * m.Scales[0]
		case FP8Channel:
			out[n] = e4m3(m.Codes[n]) * m.Scales[o]
		case FP8Block:
			out[n] = e4m3(m.Codes[n]) * m.Scales[o/128*((m.Cols+127)/128)+i/128]
		}
	}
	return out
}

func equalBits(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return true
}

// distance is the error of a relative to the size of b, both as root mean squares.
func distance(a, b []float32) float64 {
	var e, s float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		e += d * d
		s += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(e / s)
}
