package kernels

import "math"

// Sigmoid is 1/(1+e^-x), within 2.5 units in the last place. It is computed from e = Exp(-|x|) as 1/(1+e) or e/(1+e), so
// small results keep their relative precision.
func Sigmoid(x float32) float32 {
	e := Exp(-abs32(x))
	num := float32(1)
	if x < 0 {
		num = e
	}
	return num / (1 + e)
}

// SiLU is x·Sigmoid(x), within 3.5 units in the last place for x ≥ -86. Below, where the sigmoid is subnormal, it is within
// 105·2^-149 more.
func SiLU(x float32) float32 { return x * Sigmoid(x) }

// log1p(e)/e on [0, 1]: relative minimax fit of degree 10 (2^-30.3).
var log1pC = [...]float32{
	0x1p+0, -0x1.fffff4p-2, 0x1.55534ep-2, -0x1.ffbd44p-3, 0x1.975cccp-3, -0x1.49d832p-3,
	0x1.fca8b4p-4, -0x1.51ae64p-4, 0x1.53ca14p-5, -0x1.b75666p-7, 0x1.0a1b84p-9,
}

// Softplus is log(1+e^x), within 3 units in the last place: max(x, 0) + log1p(e), e = Exp(-|x|). It needs no threshold: it
// returns x from 15 on, so the usual switch at 20 changes nothing.
func Softplus(x float32) float32 {
	e := Exp(-abs32(x))
	p := log1pC[len(log1pC)-1]
	for i := len(log1pC) - 2; i >= 0; i-- {
		p = fma32(p, e, log1pC[i])
	}
	m := x
	if x < 0 {
		m = 0
	}
	return fma32(p, e, m)
}

// Log is the natural logarithm, rounded from a float64 whose relative error is below 2^-40. Log(0) is -Inf, of a negative
// number NaN.
func Log(x float32) float32 { return float32(log64(float64(x))) }

// Log1p is log(1+x), as precise as Log for small x too.
func Log1p(x float32) float32 {
	d := float64(x)
	if math.Abs(d) < 0x1p-12 { // 1 + d would lose digits; the next term is below 2^-48 of the sum
		return float32(float64(d * math.FMA(d, math.FMA(d, math.FMA(d, -0.25, 1.0/3), -0.5), 1)))
	}
	return float32(log64(1 + d))
}

// log64 is log(x) = k·ln 2 + 2·atanh(s), s = (m-1)/(m+1), x = m·2^k with m within √2 of 1, so |s| ≤ 0.172. The series ends
// at s^17, which leaves 2^-48.
func log64(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	bits := math.Float64bits(x) // normal: every positive float32 is, as a float64
	k := int(bits>>52) - 1023
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52)
	if m > math.Sqrt2 {
		m /= 2
		k++
	}
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	p := 1.0 / 17
	for _, c := range [...]float64{1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1} {
		p = math.FMA(p, z, c)
	}
	return math.FMA(float64(k), math.Ln2, float64(2*s)*p)
}

// sinCosMax bounds the arguments whose reduction is exact enough: see SinCos.
const sinCosMax = 1 << 30

// SinCos returns the sine and cosine of x radians, each within 0.51 units in the last place for |x| ≤ 2^30; NaN beyond.
//
// r = x - n·π/2 is formed in float64 with π/2 as the sum of two float64 (107 bits) and fused steps, so its error is below
// 2^-52·|r| + 2^-76, while no float32 up to 2^30 but 0 comes closer to a multiple of π/2 than 2^-40. Then Taylor series to r^13
// and r^14, whose rest is below 2^-44.
func SinCos(x float32) (sin, cos float32) {
	if !(abs32(x) <= sinCosMax) {
		nan := float32(math.NaN())
		return nan, nan
	}
	const (
		twoOverPi = 2 / math.Pi
		pio2Hi    = 0x1.921fb54442d18p+0
		pio2Lo    = 0x1.1a62633145c07p-54
		nearest   = 0x1.8p+52
	)
	d := float64(x)
	n := math.FMA(d, twoOverPi, nearest)
	quadrant := math.Float64bits(n) & 3
	n -= nearest
	r := math.FMA(-n, pio2Hi, d)
	r = math.FMA(-n, pio2Lo, r)
	z := float64(r * r)
	s := 1.0 / 6227020800
	for _, c := range [...]float64{-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6} {
		s = math.FMA(s, z, c)
	}
	s = math.FMA(float64(s*z), r, r)
	c := -1.0 / 87178291200
	for _, k := range [...]float64{1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -1.0 / 2, 1} {
		c = math.FMA(c, z, k)
	}
	switch quadrant {
	case 1:
		s, c = c, -s
	case 2:
		s, c = -s, -c
	case 3:
		s, c = -c, s
	}
	return float32(s), float32(c)
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }
