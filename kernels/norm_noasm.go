//go:build !amd64 && !arm64

package kernels

func sumSquaresVector(x []float32) (sum float32, ok bool) { return 0, false }

func scaleMulVector(y, x, weight []float32, inv float32) int { return 0 }

func gateMulVector(y, o, z, weight []float32, inv float32) int { return 0 }

func scaleVector(y, x []float32, inv, scale float32) int { return 0 }
