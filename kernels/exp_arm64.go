package kernels

// vectorLength is the part of n that the level in use does in whole registers; the reference does the rest.
func vectorLength(n int) int {
	if level == NEON {
		return n &^ 3
	}
	return 0
}

// expVector and its like return how many entries they computed.
func expVector(dst, x []float32) int {
	n := vectorLength(len(x))
	if n > 0 {
		expNEON(&dst[0], &x[0], n)
	}
	return n
}

// n is a positive multiple of 4 in all assembly of this package's vector operations.

//go:noescape
func expNEON(dst, x *float32, n int)
