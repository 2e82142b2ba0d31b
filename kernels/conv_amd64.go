package kernels

func convVector(y []float32, x, w *[ConvTaps][]float32) int {
	n := vectorLength(len(y))
	switch {
	case n == 0:
	case level == AVX512:
		convAVX512(&y[0], &x[0][0], &x[1][0], &x[2][0], &x[3][0], &w[0][0], &w[1][0], &w[2][0], &w[3][0], n)
	default:
		convAVX2(&y[0], &x[0][0], &x[1][0], &x[2][0], &x[3][0], &w[0][0], &w[1][0], &w[2][0], &w[3][0], n)
	}
	return n
}

//go:noescape
func convAVX512(y, x0, x1, x2, x3, w0, w1, w2, w3 *float32, n int)

//go:noescape
func convAVX2(y, x0, x1, x2, x3, w0, w1, w2, w3 *float32, n int)
