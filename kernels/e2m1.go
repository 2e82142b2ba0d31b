package kernels

import "math"

// E2M1Block is 16 activations in NVFP4.
type E2M1Block struct {
	Codes  [BlockCols]int8 // E2M1 values doubled: 0, ±1, ±2, ±3, ±4, ±6, ±8, ±12
	Offset int32           // −12 · sum of Codes: what weights stored as value + 12 add too much
	Scale  float32         // block scale · 64: 2⁸ since weights' scales are read divided by it, a quarter since both codes are doubled
}

// e2m1Values are twice the magnitudes of codes 0..7.
var e2m1Values = [8]int8{0, 1, 2, 3, 4, 6, 8, 12}

const (
	maxE2M1      = 6
	blockScaleUp = 64
	nonFinite    = 0x7F800000 // bits of |x| from here on are infinite or NaN
)

// quantizeE2M1 turns x, a multiple of 16 long, into blocks with the tensor's scale inverse gs = 1/input_scale:
//
//	sf   = E4M3(min(gs·(max|x|/6), 448))
//	code = E2M1(x·(gs/sf))                  nearest, ties to the even code, at most 6; zeros where sf is 0
//
// A block with a value that is not finite has scale NaN.
func quantizeE2M1Reference(dst []E2M1Block, x []float32, gs float32) {
	for b := range dst {
		quantizeE2M1Block(&dst[b], x[b*BlockCols:(b+1)*BlockCols], gs)
	}
}

func quantizeE2M1Block(dst *E2M1Block, x []float32, gs float32) {
	most := uint32(0)
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	*dst = E2M1Block{}
	if most >= nonFinite {
		dst.Scale = float32(math.NaN())
		return
	}
	sf := roundE4M3Magnitude(min(gs*(math.Float32frombits(most)/maxE2M1), maxE4M3))
	if sf == 0 {
		return
	}
	up := gs / sf
	for i, v := range x {
		dst.Codes[i] = roundE2M1(v * up)
		dst.Offset -= 12 * int32(dst.Codes[i])
	}
	dst.Scale = sf * blockScaleUp
}

// roundE2M1 is twice the E2M1 value nearest to v, which is finite: adding and subtracting 2²² times the power of two below
// |v| leaves 2 significant bits, rounded to nearest even; below 1 the step stays ½.
func roundE2M1(v float32) int8 {
	bits := math.Float32bits(v)
	a := min(math.Float32frombits(bits&^(1<<31)), maxE2M1)
	power := math.Float32frombits(math.Float32bits(a) & nonFinite)
	magic := max(power, 1) * 0x1p22
	r := int8(2 * (float32(a+magic) - magic))
	if bits>>31 != 0 {
		return -r
	}
	return r
}
