package kernels

import "math"

// lanes is how many partial sums a dot product of one vector has: entry i belongs to lane i mod 16, and the lanes are added
// (l, l+8), (l, l+4), (l, l+2), (l, l+1). AVX-512 holds them in one register, AVX2 in two, NEON in four.
const lanes = 16

// RMSNorm computes y[i] = (x[i]·inv)·weight[i], inv = 1/sqrt(mean(x²) + eps). A zero-centred weight comes with its 1 already
// added. The squares are summed in 16 lanes (lane i mod 16, fused, then the fixed tree). y may be x.
func RMSNorm(y, x, weight []float32, eps float32) {
	if len(y) != len(x) || len(weight) != len(x) {
		panic("kernels: RMSNorm: lengths differ")
	}
	if len(x) == 0 {
		return
	}
	inv := rmsInverse(x, eps)
	done := scaleMulVector(y, x, weight, inv)
	scaleMulGeneric(y[done:], x[done:], weight[done:], inv)
}

// GatedRMSNorm normalises one head of the delta rule's output: y[j] = (weight[j]·(o[j]·inv))·SiLU(z[j]), inv as in RMSNorm.
// y may be o or z.
func GatedRMSNorm(y, o, z, weight []float32, eps float32) {
	if len(y) != len(o) || len(z) != len(o) || len(weight) != len(o) {
		panic("kernels: GatedRMSNorm: lengths differ")
	}
	if len(o) == 0 {
		return
	}
	inv := rmsInverse(o, eps)
	done := gateMulVector(y, o, z, weight, inv)
	gateMulGeneric(y[done:], o[done:], z[done:], weight[done:], inv)
}

// L2Norm computes y[i] = (x[i]·inv)·scale, inv = 1/sqrt(Σx² + 1e-6), the sum as in RMSNorm. y may be x.
func L2Norm(y, x []float32, scale float32) {
	if len(y) != len(x) {
		panic("kernels: L2Norm: lengths differ")
	}
	inv := 1 / sqrt32(sumSquares(x)+1e-6)
	done := scaleVector(y, x, inv, scale)
	scaleGeneric(y[done:], x[done:], inv, scale)
}

func rmsInverse(x []float32, eps float32) float32 {
	return 1 / sqrt32(float32(sumSquares(x)/float32(len(x)))+eps)
}

// sqrt32 is the correctly rounded square root: 53 bits are more than 2·24 + 2, so rounding twice is harmless.
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// sumSquares leaves lengths that are no multiple of 16 to the reference; none of the model's are.
func sumSquares(x []float32) float32 {
	if len(x)%lanes == 0 && len(x) > 0 {
		if sum, ok := sumSquaresVector(x); ok {
			return sum
		}
	}
	return sumSquaresGeneric(x)
}

func sumSquaresGeneric(x []float32) float32 {
	var sum [lanes]float32
	for i, v := range x {
		sum[i%lanes] = fma32(v, v, sum[i%lanes])
	}
	for step := lanes / 2; step > 0; step /= 2 {
		for l := range step {
			sum[l] += sum[l+step]
		}
	}
	return sum[0]
}

func scaleMulGeneric(y, x, weight []float32, inv float32) {
	for i, v := range x {
		y[i] = float32(v*inv) * weight[i]
	}
}

func gateMulGeneric(y, o, z, weight []float32, inv float32) {
	for j, v := range o {
		y[j] = float32(weight[j]*float32(v*inv)) * SiLU(z[j])
	}
}

func scaleGeneric(y, x []float32, inv, scale float32) {
	for i, v := range x {
		y[i] = float32(v*inv) * scale
	}
}
