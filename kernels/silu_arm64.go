package kernels

func siluMulVector(y, gate, up []float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		siluMulNEON(&y[0], &gate[0], &up[0], n)
	}
	return n
}

func sigmoidMulVector(y, x, gate []float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		sigmoidMulNEON(&y[0], &x[0], &gate[0], n)
	}
	return n
}

func addVector(y, x []float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		addNEON(&y[0], &y[0], &x[0], n)
	}
	return n
}

//go:noescape
func siluMulNEON(y, a, b *float32, n int)

//go:noescape
func sigmoidMulNEON(y, a, b *float32, n int)

//go:noescape
func addNEON(y, a, b *float32, n int)
