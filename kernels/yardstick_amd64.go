package kernels

func sumBlocks(b []byte, n int) uint64 {
	switch level {
	case AVX512:
		return sumBlocksAVX512(&b[0], n)
	case AVX2:
		return sumBlocksAVX2(&b[0], n)
	}
	return sumBlocksGeneric(b, n)
}

func fmaPeak(iterations int) int {
	switch level {
	case AVX512:
		fmaPeakAVX512(iterations)
		return 16 * 16
	case AVX2:
		fmaPeakAVX2(iterations)
		return 12 * 8
	}
	return fmaPeakGeneric(iterations)
}

func nvfp4InnerPeak(iterations int) int {
	switch level {
	case AVX512:
		innerPeakAVX512(iterations)
		return 12 * PanelRows * BlockCols
	case AVX2:
		innerPeakAVX2(iterations)
		return 6 * PanelRows / 2 * BlockCols
	}
	return innerPeakGeneric(iterations)
}

func fixed24InnerPeak(iterations int) int {
	switch level {
	case AVX512:
		fixed24InnerPeakAVX512(iterations)
		return 8 * 2 * PanelRows * BlockCols
	case AVX2:
		fixed24InnerPeakAVX2(iterations)
		return 4 * PanelRows / 2 * BlockCols
	}
	return fixed24InnerPeakGeneric(iterations)
}

//go:noescape
func sumBlocksAVX512(b *byte, n int) uint64

//go:noescape
func sumBlocksAVX2(b *byte, n int) uint64

//go:noescape
func fmaPeakAVX512(iterations int)

//go:noescape
func fmaPeakAVX2(iterations int)

//go:noescape
func innerPeakAVX512(iterations int)

//go:noescape
func innerPeakAVX2(iterations int)

//go:noescape
func fixed24InnerPeakAVX512(iterations int)

//go:noescape
func fixed24InnerPeakAVX2(iterations int)
