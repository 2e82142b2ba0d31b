//go:build !amd64 && !arm64

package kernels

func sumBlocks(b []byte, n int) uint64 { return sumBlocksGeneric(b, n) }

func fmaPeak(iterations int) int { return fmaPeakGeneric(iterations) }

func nvfp4InnerPeak(iterations int) int { return innerPeakGeneric(iterations) }

func fixed24InnerPeak(iterations int) int { return fixed24InnerPeakGeneric(iterations) }
