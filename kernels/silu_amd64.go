package kernels

func siluMulVector(y, gate, up []float32) int {
	n := vectorLength(len(y))
	switch {
	case n == 0:
	case level == AVX512:
		siluMulAVX512(&y[0], &gate[0], &up[0], n)
	default:
		siluMulAVX2(&y[0], &gate[0], &up[0], n)
	}
	return n
}

func sigmoidMulVector(y, x, gate []float32) int {
	n := vectorLength(len(y))
	switch {
	case n == 0:
	case level == AVX512:
		sigmoidMulAVX512(&y[0], &x[0], &gate[0], n)
	default:
		sigmoidMulAVX2(&y[0], &x[0], &gate[0], n)
	}
	return n
}

// addVector is bound by memory: AVX-512 has nothing to add.
func addVector(y, x []float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		addAVX2(&y[0], &y[0], &x[0], n)
	}
	return n
}

//go:noescape
func siluMulAVX512(y, a, b *float32, n int)

//go:noescape
func siluMulAVX2(y, a, b *float32, n int)

//go:noescape
func sigmoidMulAVX512(y, a, b *float32, n int)

//go:noescape
func sigmoidMulAVX2(y, a, b *float32, n int)

//go:noescape
func addAVX2(y, a, b *float32, n int)
