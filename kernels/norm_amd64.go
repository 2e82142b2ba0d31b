package kernels

// sumSquaresVector takes a positive multiple of 16 entries.
func sumSquaresVector(x []float32) (sum float32, ok bool) {
	switch level {
	case AVX512:
		return sumSquaresAVX512(&x[0], len(x)), true
	case AVX2:
		return sumSquaresAVX2(&x[0], len(x)), true
	}
	return 0, false
}

func scaleMulVector(y, x, weight []float32, inv float32) int {
	n := vectorLength(len(y))
	switch {
	case n == 0:
	case level == AVX512:
		scaleMulAVX512(&y[0], &x[0], &weight[0], inv, n)
	default:
		scaleMulAVX2(&y[0], &x[0], &weight[0], inv, n)
	}
	return n
}

func gateMulVector(y, o, z, weight []float32, inv float32) int {
	n := vectorLength(len(y))
	switch {
	case n == 0:
	case level == AVX512:
		gateMulAVX512(&y[0], &o[0], &z[0], &weight[0], inv, n)
	default:
		gateMulAVX2(&y[0], &o[0], &z[0], &weight[0], inv, n)
	}
	return n
}

// scaleVector serves heads of 128 entries, too short for AVX-512 to matter.
func scaleVector(y, x []float32, inv, scale float32) int {
	n := vectorLength(len(y))
	if n > 0 {
		scaleAVX2(&y[0], &x[0], inv, scale, n)
	}
	return n
}

//go:noescape
func sumSquaresAVX512(x *float32, n int) float32

//go:noescape
func sumSquaresAVX2(x *float32, n int) float32

//go:noescape
func scaleMulAVX512(y, x, weight *float32, inv float32, n int)

//go:noescape
func scaleMulAVX2(y, x, weight *float32, inv float32, n int)

//go:noescape
func gateMulAVX512(y, o, z, weight *float32, inv float32, n int)

//go:noescape
func gateMulAVX2(y, o, z, weight *float32, inv float32, n int)

//go:noescape
func scaleAVX2(y, x *float32, inv, scale float32, n int)
