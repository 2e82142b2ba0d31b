package kernels

func convVector(y []float32, x, w *[ConvTaps][]float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		convNEON(&y[0], &x[0][0], &x[1][0], &x[2][0], &x[3][0], &w[0][0], &w[1][0], &w[2][0], &w[3][0], n)
	}
	return n
}

//go:noescape
func convNEON(y, x0, x1, x2, x3, w0, w1, w2, w3 *float32, n int)
