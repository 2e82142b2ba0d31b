//go:build !amd64 && !arm64

package kernels

// fewPanels is 0: tiles do few rows too.
func fewPanels(DenseFormat, int) int { return 0 }

func multiplyFew(DenseFormat, []float32, int, int, []float32, []byte, int, int, []float32) {
	panic("kernels: no kernel of few rows")
}
