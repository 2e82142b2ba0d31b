package kernels

import "fmt"

func init() { registerCheck("nvfp4", checkNVFP4Kernels) }

// checkNVFP4Kernels compares quantisers and products with the references, for 1 row and for several tiles.
func checkNVFP4Kernels() error {
	const rows, cols = 150, 208
	for _, key := range []InputKey{{InputE2M1, 0.01}, {InputFixed24, 0}} {
		m, err := NewNVFP4(rows, cols, 0.75, key)
		if err != nil {
			return err
		}
		for i := range m.codes {
			m.codes[i] = byte(i * 37)
		}
		for i := range m.scales {
			m.scales[i] = byte(i*29) % 0x7F
		}
		if err := checkMul(m, m.mulReference); err != nil {
			return fmt.Errorf("activations of kind %d: %w", key.Kind, err)
		}
	}
	return checkQuantizers()
}

// checkQuantizers takes blocks of many sizes, one of zeros among them.
func checkQuantizers() error {
	const blocks, gs = 40, 100
	x := make([]float32, blocks*BlockCols)
	size := float32(0x1p-20)
	for b := range blocks {
		for i := range BlockCols {
			x[b*BlockCols+i] = float32((b*BlockCols+i)*29%101-50) * size / 7
		}
		size *= 3
	}
	clear(x[5*BlockCols : 6*BlockCols])
	var e2m1, wantE2M1 [blocks]E2M1Block
	quantizeE2M1(e2m1[:], x, gs)
	quantizeE2M1Reference(wantE2M1[:], x, gs)
	var fixed, wantFixed [blocks]Fixed24Block
	fixed24(fixed[:], x)
	fixed24Reference(wantFixed[:], x)
	for b := range blocks {
		if e2m1[b] != wantE2M1[b] {
			return fmt.Errorf("block %d in E2M1 is %v, want %v", b, e2m1[b], wantE2M1[b])
		}
		if fixed[b] != wantFixed[b] {
			return fmt.Errorf("block %d in fixed point is %v, want %v", b, fixed[b], wantFixed[b])
		}
	}
	return nil
}
