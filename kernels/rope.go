package kernels

import (
	"math"
	"math/big"
)

// RoPE rotates the first 2h entries of x, h = len(cos) = len(sin), in pairs (i, i+h); the rest stay:
//
//	x[i]   ← x[i]·cos[i] - x[i+h]·sin[i]
//	x[i+h] ← x[i+h]·cos[i] + x[i]·sin[i]
//
// Each product is rounded, then the sum.
func RoPE(x, cos, sin []float32) {
	h := len(cos)
	if len(sin) != h || len(x) < 2*h {
		panic("kernels: RoPE: lengths differ")
	}
	lo, hi := x[:h], x[h:2*h]
	for i, c := range cos {
		s, a, b := sin[i], lo[i], hi[i]
		lo[i] = float32(a*c) - float32(b*s)
		hi[i] = float32(b*c) + float32(a*s)
	}
}

// RoPETable fills the table of one position: cos and sin of float32(pos)·freqs[i], the product rounded to float32.
func RoPETable(cos, sin []float32, pos int, freqs []float32) {
	if len(cos) != len(freqs) || len(sin) != len(freqs) {
		panic("kernels: RoPETable: lengths differ")
	}
	for i, f := range freqs {
		sin[i], cos[i] = SinCos(float32(pos) * f)
	}
}

// RoPEFreqs is inv_freq[i] = 1/theta^(2i/rotaryDims) for i < rotaryDims/2, rounded as Transformers rounds it: the exponent, the
// power (here correctly rounded) and its reciprocal each to float32.
func RoPEFreqs(theta float64, rotaryDims int) []float32 {
	if !(theta > 0) || math.IsInf(theta, 0) || rotaryDims < 0 || rotaryDims%2 != 0 {
		panic("kernels: RoPEFreqs: theta must be positive and finite, rotaryDims even")
	}
	freqs := make([]float32, rotaryDims/2)
	for i := range freqs {
		freqs[i] = 1 / powRounded(float32(theta), float32(2*i)/float32(rotaryDims))
	}
	return freqs
}

// powRounded is base^exponent, correctly rounded, for 0 ≤ exponent < 1: a float32 exponent is a short binary fraction, and
// base^(1/2), base^(1/4), … are square roots, taken here to 256 bits.
func powRounded(base, exponent float32) float32 {
	const precision = 256
	root := new(big.Float).SetPrec(precision).SetFloat64(float64(base))
	power := new(big.Float).SetPrec(precision).SetInt64(1)
	for e := float64(exponent); e > 0; {
		root.Sqrt(root)
		e *= 2
		if e >= 1 {
			e--
			power.Mul(power, root)
		}
	}
	p, _ := power.Float32()
	return p
}
