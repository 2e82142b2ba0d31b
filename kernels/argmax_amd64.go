package kernels

// maxFloat is the largest value, −∞ for none; NaN does not count.
func maxFloat(x []float32) float32 {
	n := 0
	m := maxReference(nil)
	switch level {
	case AVX512:
		if n = len(x) &^ 63; n > 0 {
			m = maxAVX512(&x[0], n)
		}
	case AVX2:
		if n = len(x) &^ 31; n > 0 {
			m = maxAVX2(&x[0], n)
		}
	}
	return max(m, maxReference(x[n:]))
}

// maxAVX512 takes n > 0, a multiple of 64.
//
//go:noescape
func maxAVX512(x *float32, n int) float32

// maxAVX2 takes n > 0, a multiple of 32.
//
//go:noescape
func maxAVX2(x *float32, n int) float32
