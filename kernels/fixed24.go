package kernels

import "math"

// Fixed24Block is 16 activations in fixed point: x ≈ (65536·Digits[2] + 256·Digits[1] + Digits[0]) · 2^(e−22), where 2^e is
// the power of two above the block's largest magnitude. The error of a value is at most 2^(e−23): 2⁻²² of the largest.
//
// A block's product with E2M1 codes (doubled, so at most 12) is then exact in int32: 16 · 12 · 2²² < 2³¹.
type Fixed24Block struct {
	Digits [3][BlockCols]int8
	Offset int32    // −12 · sum of the integers: what weights stored as value + 12 add too much, below 12 · 16 · 2²² < 2³¹
	_      [2]int32 // a cache line
	Scale  float32  // 2^(e−22) · 2⁸ / 2: weights' scales are read divided by 2⁸, and codes are doubled
}

// minFixedExponent is the least biased exponent that counts: smaller blocks keep the step of 2⁻¹²¹.
const minFixedExponent = 27

// fixed24Reference turns x, a multiple of 16 long, into blocks, each value rounded to nearest, ties to even. A block with a
// value that is not finite has scale NaN.
func fixed24Reference(dst []Fixed24Block, x []float32) {
	for b := range dst {
		fixed24Block(&dst[b], x[b*BlockCols:(b+1)*BlockCols])
	}
}

func fixed24Block(dst *Fixed24Block, x []float32) {
	most := uint32(0)
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	*dst = Fixed24Block{}
	if most >= nonFinite {
		dst.Scale = float32(math.NaN())
		return
	}
	e := max(most>>23, minFixedExponent) // biased; every |x| is below 2^(e−126)
	up := math.Float32frombits((275 - e) << 23)
	dst.Scale = math.Float32frombits((e - 14) << 23)
	const magic = 0x1.8p23 // its unit is 1, so adding it rounds
	for i, v := range x {
		n := int32(math.Float32bits(float32(v*up)+magic)) - int32(math.Float32bits(magic))
		dst.Offset -= 12 * n
		for p := range dst.Digits {
			d := int8(n)
			dst.Digits[p][i] = d
			n = (n - int32(d)) >> 8
		}
	}
}
