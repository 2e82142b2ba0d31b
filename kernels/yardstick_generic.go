package kernels

// fmaPeakGeneric does 8 multiply-accumulates an iteration.
func fmaPeakGeneric(iterations int) int {
	var acc [8]float32
	x, y := float32(0.5), float32(0.25)
	for range iterations {
		for i := range acc {
			acc[i] = fma32(x, y, acc[i])
		}
	}
	return 8 - int(min(acc[0], 0)) // the compiler must keep the loop: the sum is not negative
}

// innerPeakGeneric does a block of 16 an iteration.
func innerPeakGeneric(iterations int) int {
	var w [BlockCols]int32
	var x E2M1Block
	acc := float32(0)
	for range iterations {
		d := int32(0)
		for i, c := range x.Codes {
			d += w[i] * int32(c)
		}
		acc = fma32(float32(d), x.Scale, acc)
	}
	return BlockCols - int(min(acc, 0))
}

// fixed24InnerPeakGeneric does a block of 16 an iteration.
func fixed24InnerPeakGeneric(iterations int) int {
	var w [BlockCols]int32
	var x Fixed24Block
	acc := float32(0)
	for range iterations {
		d := int32(0)
		for i := range w {
			d += w[i] * (int32(x.Digits[2][i])<<16 + int32(x.Digits[1][i])<<8 + int32(x.Digits[0][i]))
		}
		acc = fma32(float32(d), x.Scale, acc)
	}
	return BlockCols - int(min(acc, 0))
}
