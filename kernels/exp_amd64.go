package kernels

// vectorLength is the part of n that the level in use does in whole registers; the reference does the rest.
func vectorLength(n int) int {
	switch level {
	case AVX512:
		return n &^ 15
	case AVX2:
		return n &^ 7
	}
	return 0
}

// expVector and its like return how many entries they computed.
func expVector(dst, x []float32) int {
	n := vectorLength(len(x))
	switch {
	case n == 0:
	case level == AVX512:
		expAVX512(&dst[0], &x[0], n)
	default:
		expAVX2(&dst[0], &x[0], n)
	}
	return n
}

// n is a positive multiple of the register's length in all assembly of this package's vector operations.

//go:noescape
func expAVX512(dst, x *float32, n int)

//go:noescape
func expAVX2(dst, x *float32, n int)
