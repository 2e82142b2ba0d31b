//go:build !amd64 && !arm64

package kernels

func supported(Level) bool { return false }
