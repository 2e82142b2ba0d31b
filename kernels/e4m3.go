package kernels

import "math"

// E4M3ToF32 is the value of an FP8 E4M3 code (FN variant, bias 7): 0x7F and 0xFF are NaN, there is no infinity.
func E4M3ToF32(code byte) float32 {
	sign := uint32(code&0x80) << 24
	e, m := uint32(code>>3&0xF), uint32(code&7)
	switch {
	case e == 15 && m == 7:
		return math.Float32frombits(sign | 0x7FC00000)
	case e == 0: // subnormal: m · 2⁻⁹
		return math.Float32frombits(sign | math.Float32bits(float32(m)*0x1p-9))
	}
	return math.Float32frombits(sign | (e+120)<<23 | m<<20)
}

// roundE4M3Magnitude is the E4M3 value nearest to a in [0, 448], ties to even; NaN stays NaN.
//
// Adding and subtracting 2²⁰ times the power of two below a leaves 4 significant bits, rounded to nearest even; below 2⁻⁶,
// where E4M3 is subnormal, the step stays 2⁻⁹.
func roundE4M3Magnitude(a float32) float32 {
	const exponent = 0x7F800000
	power := math.Float32frombits(math.Float32bits(a) & exponent)
	magic := max(power, 0x1p-6) * 0x1p20
	return float32(a+magic) - magic
}
