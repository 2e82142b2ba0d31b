package kernels

func sumBlocks(b []byte, n int) uint64 {
	if level == NEON {
		return sumBlocksNEON(&b[0], n)
	}
	return sumBlocksGeneric(b, n)
}

func fmaPeak(iterations int) int {
	if level == NEON {
		fmaPeakNEON(iterations)
		return 16 * 4
	}
	return fmaPeakGeneric(iterations)
}

func nvfp4InnerPeak(iterations int) int {
	if level == NEON {
		innerPeakNEON(iterations)
		return 8 * PanelRows / 2 * BlockCols
	}
	return innerPeakGeneric(iterations)
}

func fixed24InnerPeak(iterations int) int {
	if level == NEON {
		fixed24InnerPeakNEON(iterations)
		return 8 * PanelRows / 2 * BlockCols
	}
	return fixed24InnerPeakGeneric(iterations)
}

//go:noescape
func sumBlocksNEON(b *byte, n int) uint64

//go:noescape
func fmaPeakNEON(iterations int)

//go:noescape
func innerPeakNEON(iterations int)

//go:noescape
func fixed24InnerPeakNEON(iterations int)
