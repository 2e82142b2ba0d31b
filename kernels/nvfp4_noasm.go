//go:build !amd64 && !arm64

package kernels

func (m *NVFP4) mulVector(y []float32, stride int, in *Input, p0, p1 int, s *Scratch) bool {
	return false
}

func quantizeE2M1(dst []E2M1Block, x []float32, gs float32) { quantizeE2M1Reference(dst, x, gs) }

func fixed24(dst []Fixed24Block, x []float32) { fixed24Reference(dst, x) }
