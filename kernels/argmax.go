package kernels

import "math"

// argMaxChunk is how many values are looked at together: their largest is found in vectors, its place only where it wins.
const argMaxChunk = 2048

// ArgMax is the index of the largest value, the lowest among equals. NaN never wins; without a number the answer is 0.
func ArgMax(x []float32) int {
	best, at := float32(math.Inf(-1)), -1
	for i := 0; i < len(x); i += argMaxChunk {
		if m := maxFloat(x[i:min(i+argMaxChunk, len(x))]); m > best {
			best, at = m, i
		}
	}
	if at < 0 { // nothing above −∞
		return argMaxReference(x)
	}
	for x[at] != best {
		at++
	}
	return at
}

func argMaxReference(x []float32) int {
	at := -1
	for i, v := range x {
		if v == v && (at < 0 || v > x[at]) {
			at = i
		}
	}
	return max(at, 0)
}

// maxReference is the largest value, −∞ for none; NaN does not count.
func maxReference(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	return m
}
