package kernels

import "math"

// fma32 is x*y + z rounded once to float32, as the FMA instructions round it.
//
// The float64 product of two float32 is exact. Its sum with z is rounded to odd (the lowest bit is set when anything was
// lost), so the second rounding, to float32, cannot be misled by the first: 53 bits are more than 2·24 + 2.
func fma32(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	b := s - p
	lost := (p - (s - b)) + (c - b) // the exact error of the sum (Knuth)
	if lost > 0 || lost < 0 {       // false for NaN, which infinite operands give
		bits := math.Float64bits(s)
		if bits&1 == 0 {
			if (lost > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
			s = math.Float64frombits(bits)
		}
	}
	return float32(s)
}
