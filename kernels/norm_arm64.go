package kernels

// sumSquaresVector takes a positive multiple of 16 entries.
func sumSquaresVector(x []float32) (sum float32, ok bool) {
	if level == NEON {
		return sumSquaresNEON(&x[0], len(x)), true
	}
	return 0, false
}

func scaleMulVector(y, x, weight []float32, inv float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		scaleMulNEON(&y[0], &x[0], &weight[0], inv, n)
	}
	return n
}

func gateMulVector(y, o, z, weight []float32, inv float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		gateMulNEON(&y[0], &o[0], &z[0], &weight[0], inv, n)
	}
	return n
}

func scaleVector(y, x []float32, inv, scale float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		scaleNEON(&y[0], &x[0], inv, scale, n)
	}
	return n
}

//go:noescape
func sumSquaresNEON(x *float32, n int) float32

//go:noescape
func scaleMulNEON(y, x, weight *float32, inv float32, n int)

//go:noescape
func gateMulNEON(y, o, z, weight *float32, inv float32, n int)

//go:noescape
func scaleNEON(y, x *float32, inv, scale float32, n int)
