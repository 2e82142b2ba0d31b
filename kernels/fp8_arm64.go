package kernels

// absMax is the largest |x|, 0 for none; NaN does not count.
func absMax(x []float32) float32 {
	n := 0
	var m float32
	if level == NEON {
		if n = len(x) &^ 3; n > 0 {
			m = absMaxNEON(&x[0], n)
		}
	}
	return max(m, absMaxReference(x[n:]))
}

// roundE4M3 writes E4M3(clamp(x/scale, ±448)) as float32. dst may be x.
func roundE4M3(dst, x []float32, scale float32) {
	dst = dst[:len(x)]
	n := 0
	if level == NEON {
		if n = len(x) &^ 3; n > 0 {
			roundE4M3NEON(&dst[0], &x[0], n, scale)
		}
	}
	roundE4M3Reference(dst[n:], x[n:], scale)
}

//go:noescape
func absMaxNEON(x *float32, n int) float32

//go:noescape
func roundE4M3NEON(dst, x *float32, n int, scale float32)
