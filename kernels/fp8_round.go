package kernels

import "math"

const (
	maxE4M3    = 448
	minE4M3Max = 1e-10 // floor of max|x| for dynamic scales, so that a row of zeros divides by something
)

// dynamicScale is max(max|x|, 1e-10) / 448: the largest value gets the largest code. NaN is passed over here and stays NaN
// when rounded.
func dynamicScale(x []float32) float32 { return max(absMax(x), minE4M3Max) / maxE4M3 }

func absMaxReference(x []float32) float32 {
	var m float32
	for _, v := range x {
		if a := math.Float32frombits(math.Float32bits(v) &^ (1 << 31)); a > m {
			m = a
		}
	}
	return m
}

// roundE4M3Reference writes the E4M3 values nearest to clamp(x/scale, ±448), ties to even, as float32.
func roundE4M3Reference(dst, x []float32, scale float32) {
	for i, v := range x {
		bits := math.Float32bits(v / scale)
		a := math.Float32frombits(bits &^ (1 << 31))
		if a > maxE4M3 {
			a = maxE4M3
		}
		dst[i] = math.Float32frombits(math.Float32bits(roundE4M3Magnitude(a)) | bits&(1<<31))
	}
}
