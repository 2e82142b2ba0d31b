//go:build !amd64 && !arm64

package kernels

// The functions below return how many entries they computed; the reference does the rest.

func expVector(dst, x []float32) int { return 0 }
