package cpu

import (
	"math"
	"path/filepath"
	"testing"

	"hearth/engine/checkpoint"
)

// TestSigmoidGate: where the configuration asks for it, GatedDeltaNet's output is gated by σ(z). The first layer's inputs do
// not depend on the gate, so there its output times z is that of a SiLU gate.
func TestSigmoidGate(t *testing.T) {
	outputs := map[string][]float32{}
	var z []float32
	for _, gate := range []string{"silu", "sigmoid"} {
		ck, err := checkpoint.Open(filepath.Join(goldenDir, "tiny-a-bf16"))
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		ck.Config.OutputGate = gate
		r := rigOf(t, ck, "f32", false, 64)
		if r.m.layers[0].gdn == nil {
			t.Fatal("the first layer is no GatedDeltaNet")
		}
		n := 3 * ck.Config.ValueWidth()
		r.tap = func(layer int, _ []float32) {
			if layer == 1 {
				outputs[gate] = append([]float32{}, r.w.o[:n]...)
				z = append([]float32{}, r.w.z[:n]...)
			}
		}
		r.run(t, []int32{5, 6, 7}, 0)
	}
	differ := 0
	for i, want := range outputs["silu"] {
		got := outputs["sigmoid"][i] * z[i]
		if !(math.Abs(float64(got-want)) <= 1e-6*math.Abs(float64(want))+1e-30) {
			t.Fatalf("output %d is %v by a gate of %v, want %v", i, got, z[i], want)
		}
		if outputs["sigmoid"][i] != want {
			differ++
		}
	}
	if differ < len(z)/2 {
		t.Errorf("%d of %d outputs differ between the gates", differ, len(z))
	}
}
