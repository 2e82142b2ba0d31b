package kernels

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// fp8Golden returns the bytes and the shape of a recorded tensor fp8block/name.
func fp8Golden(t *testing.T, name, dtype string) ([]byte, []int) {
	t.Helper()
	b, err := os.ReadFile("testdata/ops.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(b)
	var header map[string]struct {
		Dtype   string
		Shape   []int
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	x, ok := header["fp8block/"+name]
	if !ok || x.Dtype != dtype {
		t.Fatalf("fp8block/%s of type %s: found %v, type %q", name, dtype, ok, x.Dtype)
	}
	data := b[8+n:]
	return data[x.Offsets[0]:x.Offsets[1]], x.Shape
}

func fp8GoldenFloats(t *testing.T, name string) ([]float32, []int) {
	t.Helper()
	b, shape := fp8Golden(t, name, "F32")
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, shape
}

// TestGoldenFP8Block compares with float64 sums, 1e-5 of the largest value allowed.
func TestGoldenFP8Block(t *testing.T) {
	codes, shape := fp8Golden(t, "weight", "F8_E4M3")
	scaleBytes, _ := fp8Golden(t, "weight_scale_inv", "BF16")
	scales := make([]float32, len(scaleBytes)/2)
	for i := range scales {
		scales[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(scaleBytes[2*i:])) << 16)
	}
	x, xShape := fp8GoldenFloats(t, "x")
	eachLevel(t, func(t *testing.T) {
		for name, kind := range map[string]InputKind{"y_weights": InputF32, "y_activations": InputE4M3Groups} {
			want, _ := fp8GoldenFloats(t, name)
			var largest float64
			for _, v := range want {
				largest = max(largest, math.Abs(float64(v)))
			}
			k := fp8Kind{FP8Block128, InputKey{Kind: kind}}
			f := newFP8(t, k, shape[0], shape[1], scales, codes)
			var in Input
			in.Resize(k.key, xShape[0], xShape[1])
			f.Prepare(&in, x, 0, xShape[0])
			got := make([]float32, len(want))
			f.Mul(got, shape[0], &in, 0, Panels(f), new(Scratch))
			for i := range want {
				if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= 1e-5*largest) {
					t.Fatalf("%s %d is %v, want %v", name, i, got[i], want[i])
				}
			}
		}
	})
}
