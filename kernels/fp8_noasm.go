//go:build !amd64 && !arm64

package kernels

// absMax is the largest |x|, 0 for none; NaN does not count.
func absMax(x []float32) float32 { return absMaxReference(x) }

// roundE4M3 writes E4M3(clamp(x/scale, ±448)) as float32. dst may be x.
func roundE4M3(dst, x []float32, scale float32) { roundE4M3Reference(dst[:len(x)], x, scale) }
