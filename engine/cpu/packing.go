package cpu

import (
	"fmt"

	"hearth/engine/checkpoint"
	"hearth/kernels"
)

// packing is a matrix under construction: ranges of panels are filled independently.
type packing struct {
	matrix kernels.Matrix
	pack   func(p0, p1 int) error
}

// newPacking chooses the kernel for a checkpoint's matrix: its weight format, and the treatment of activations that the
// checkpoint declares, or none when f32 is set.
func newPacking(src checkpoint.Matrix, f32 bool) (packing, error) {
	switch src.Format {
	case checkpoint.F32:
		return densePacking(src, kernels.DenseF32), nil
	case checkpoint.BF16:
		return densePacking(src, kernels.DenseBF16), nil
	case checkpoint.F16:
		return densePacking(src, kernels.DenseF16), nil
	case checkpoint.NVFP4:
		key := kernels.InputKey{Kind: kernels.InputFixed24}
		if src.Activations == checkpoint.StaticNVFP4 && !f32 {
			key = kernels.InputKey{Kind: kernels.InputE2M1, Scale: src.InputScale}
		}
		m, err := kernels.NewNVFP4(src.Rows, src.Cols, src.Scale, key)
		if err != nil {
			return packing{}, err
		}
		return packing{m, func(p0, p1 int) error { return m.Pack(src.Codes, src.BlockScales, p0, p1) }}, nil
	case checkpoint.FP8Tensor, checkpoint.FP8Channel, checkpoint.FP8Block:
		return fp8Packing(src, f32)
	}
	return packing{}, fmt.Errorf("weight format %v has no kernel", src.Format)
}

func densePacking(src checkpoint.Matrix, format kernels.DenseFormat) packing {
	m := kernels.NewDense(format, src.Rows, src.Cols)
	return packing{m, func(p0, p1 int) error { m.Pack(src.Codes, p0, p1); return nil }}
}

func fp8Packing(src checkpoint.Matrix, f32 bool) (packing, error) {
	scheme := map[checkpoint.Format]kernels.FP8Scheme{
		checkpoint.FP8Tensor: kernels.FP8PerTensor, checkpoint.FP8Channel: kernels.FP8PerChannel, checkpoint.FP8Block: kernels.FP8Block128,
	}[src.Format]
	var key kernels.InputKey // InputF32
	if !f32 {
		switch src.Activations {
		case checkpoint.StaticFP8:
			key = kernels.InputKey{Kind: kernels.InputE4M3, Scale: src.InputScale}
		case checkpoint.DynamicFP8Token:
			key = kernels.InputKey{Kind: kernels.InputE4M3Row}
		case checkpoint.DynamicFP8Block:
			key = kernels.InputKey{Kind: kernels.InputE4M3Groups}
		}
	}
	m, err := kernels.NewFP8(src.Rows, src.Cols, scheme, src.Scales, key)
	if err != nil {
		return packing{}, err
	}
	return packing{m, func(p0, p1 int) error { return m.Pack(src.Codes, p0, p1) }}, nil
}
