package kernels

// Yardsticks that benchmarks put beside the kernels. They run at the level in use.

// SumBytes reads all of b once, in words of 8 bytes, and returns their sum: memory bandwidth as one thread sees it. A rest of
// less than 512 bytes is left out.
func SumBytes(b []byte) uint64 {
	n := len(b) / 512
	if n == 0 {
		return 0
	}
	return sumBlocks(b, n)
}

func sumBlocksGeneric(b []byte, n int) (sum uint64) {
	for i := 0; i < n*512; i += 8 {
		sum += uint64(b[i]) | uint64(b[i+7])<<56
	}
	return sum
}

// FMAPeak runs independent fused multiply-adds on registers and returns how many multiply-accumulates they were.
func FMAPeak(iterations int) (macs int) { return iterations * fmaPeak(iterations) }

// NVFP4InnerPeak runs the instructions of the NVFP4 prefill loop's inner block on registers, loads left out, and returns how
// many multiply-accumulates they were.
func NVFP4InnerPeak(iterations int) (macs int) { return iterations * nvfp4InnerPeak(iterations) }

// NVFP4Fixed24InnerPeak is NVFP4InnerPeak for activations in fixed point.
func NVFP4Fixed24InnerPeak(iterations int) (macs int) {
	return iterations * fixed24InnerPeak(iterations)
}
