package kernels

import (
	"math"
	"testing"
)

// TestGoldenFP8Block compares with float64 sums, 1e-5 of the largest value allowed.
func TestGoldenFP8Block(t *testing.T) {
	tensors := goldenTensors(t)
	golden := func(name string) goldenTensor {
		x, ok := tensors["fp8block/"+name]
		if !ok {
			t.Fatalf("no tensor fp8block/%s", name)
		}
		return x
	}
	weight, x := golden("weight"), golden("x")
	scales, values := golden("weight_scale_inv").floats(t), x.floats(t)
	eachLevel(t, func(t *testing.T) {
		for name, kind := range map[string]InputKind{"y_weights": InputF32, "y_activations": InputE4M3Groups} {
			want := golden(name).floats(t)
			var largest float64
			for _, v := range want {
				largest = max(largest, math.Abs(float64(v)))
			}
			k := fp8Kind{FP8Block128, InputKey{Kind: kind}}
			f := newFP8(t, k, weight.shape[0], weight.shape[1], scales, weight.bytes)
			var in Input
			in.Resize(k.key, x.shape[0], x.shape[1])
			f.Prepare(&in, values, 0, x.shape[0])
			got := make([]float32, len(want))
			f.Mul(got, weight.shape[0], &in, 0, Panels(f), new(Scratch))
			for i := range want {
				if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= 1e-5*largest) {
					t.Fatalf("%s %d is %v, want %v", name, i, got[i], want[i])
				}
			}
		}
	})
}
