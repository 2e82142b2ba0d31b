package kernels

import "math"

// exp(x) = 2^n · exp(r), n the integer nearest x/ln 2, |r| ≤ ln(2)/2. The polynomial is a relative minimax fit of degree 6
// (2^-28.2), summed by Horner with fused multiply-adds, its last two coefficients being 1.
//
// Below expMin even half the smallest subnormal is too large, above expMax the result is +Inf.
const (
	expMin = -104
	expMax = 89

	log2E = 0x1.715476p+0
	ln2Hi = 0x1.62e43p-1
	ln2Lo = -0x1.05c61p-29

	// toInt, added to a number below 2^22, leaves the nearest integer in the low bits of the sum.
	toInt     = 0x1.8p+23
	toIntBits = 0x4B400000

	expC2 = 0x1.fffffcp-2
	expC3 = 0x1.55549p-3
	expC4 = 0x1.5558f8p-5
	expC5 = 0x1.123b02p-7
	expC6 = 0x1.6a2256p-10
)

// Exp is e^x, within 1 unit in the last place (subnormal results too: one more rounding of at most half a unit). Exp(-Inf)
// is 0, Exp(+Inf) is +Inf, Exp(NaN) is NaN.
func Exp(x float32) float32 {
	if x > expMax {
		x = expMax
	}
	if x < expMin {
		x = expMin
	}
	t := fma32(x, log2E, toInt)
	n := t - toInt
	r := fma32(n, -ln2Hi, x)
	r = fma32(n, -ln2Lo, r)
	p := fma32(expC6, r, expC5)
	p = fma32(p, r, expC4)
	p = fma32(p, r, expC3)
	p = fma32(p, r, expC2)
	p = fma32(p, r, 1)
	p = fma32(p, r, 1)
	k := int32(math.Float32bits(t)) - toIntBits
	half := k >> 1 // 2^k in two factors: the first product is exact, so a subnormal result is rounded once
	return p * pow2(half) * pow2(k-half)
}

// pow2 is 2^k for -126 ≤ k ≤ 127.
func pow2(k int32) float32 { return math.Float32frombits(uint32(k+127) << 23) }

// ExpSlice sets dst[i] = Exp(x[i]). dst may be x.
func ExpSlice(dst, x []float32) {
	if len(dst) != len(x) {
		panic("kernels: ExpSlice: lengths differ")
	}
	done := expVector(dst, x)
	expGeneric(dst[done:], x[done:])
}

func expGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = Exp(v)
	}
}
