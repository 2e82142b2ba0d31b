package kernels

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// goldenTensor is a recorded operand or result of an operation.
type goldenTensor struct {
	dtype string
	shape []int
	bytes []byte
}

// goldenTensors reads testdata/ops.safetensors.
func goldenTensors(t *testing.T) map[string]goldenTensor {
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
	delete(header, "__metadata__")
	tensors := map[string]goldenTensor{}
	for name, x := range header {
		tensors[name] = goldenTensor{x.Dtype, x.Shape, b[8+n:][x.Offsets[0]:x.Offsets[1]]}
	}
	return tensors
}

// floats are the values of F32, I32 and BF16 tensors.
func (x goldenTensor) floats(t *testing.T) []float32 {
	t.Helper()
	var v []float32
	switch x.dtype {
	case "F32":
		for b := x.bytes; len(b) > 0; b = b[4:] {
			v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case "I32":
		for b := x.bytes; len(b) > 0; b = b[4:] {
			v = append(v, float32(int32(binary.LittleEndian.Uint32(b))))
		}
	case "BF16":
		for b := x.bytes; len(b) > 0; b = b[2:] {
			v = append(v, math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16))
		}
	default:
		t.Fatalf("a tensor of type %q where numbers are wanted", x.dtype)
	}
	return v
}

// TestGoldenGroups: every group of recorded tensors belongs to a test of this package, which reads all of it.
func TestGoldenGroups(t *testing.T) {
	tested := map[string]bool{"attention": true, "conv": true, "delta": true, "fp8block": true, "gated_norm": true, "gemm": true,
		"rmsnorm": true, "rope": true, "unary": true}
	found := map[string]bool{}
	for name := range goldenTensors(t) {
		group, _, _ := strings.Cut(name, "/")
		if found[group] = true; !tested[group] {
			t.Errorf("no test reads %s", name)
		}
	}
	if len(found) != len(tested) {
		t.Errorf("found the groups %v, want %v", found, tested)
	}
}

// vecGoldenTensors are the values and shapes of the tensors that hold plain numbers.
func vecGoldenTensors(t *testing.T) (values map[string][]float32, shapes map[string][]int) {
	values, shapes = map[string][]float32{}, map[string][]int{}
	for name, x := range goldenTensors(t) {
		if x.dtype == "F32" || x.dtype == "I32" {
			values[name], shapes[name] = x.floats(t), x.shape
		}
	}
	return values, shapes
}
