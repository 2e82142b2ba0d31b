package kernels

// nvfp4Kernels are those of the level in use.
func nvfp4Kernels(kind InputKind) nvfp4KernelSet {
	switch {
	case level == AVX512 && kind == InputE2M1:
		return w4a4AVX512
	case level == AVX512:
		return weightOnlyAVX512
	case kind == InputE2M1:
		return w4a4AVX2
	}
	return weightOnlyAVX2
}

// Fixed point stops at 8 rows: its blocks are 64 bytes, so rows of 64 blocks and multiples are 4 KiB apart and share the sets
// of a 12-way first-level cache.
var (
	w4a4AVX512       = nvfp4KernelSet{pair: e2m1PairAVX512, stored: []nvfp4Kernel{e2m1Rows1AVX512, e2m1Rows2AVX512, e2m1Rows3AVX512, e2m1Rows4AVX512, e2m1Rows5AVX512, e2m1Rows6AVX512, e2m1Rows7AVX512, e2m1Rows8AVX512, e2m1Rows9AVX512, e2m1Rows10AVX512, e2m1Rows11AVX512, e2m1Rows12AVX512}}
	weightOnlyAVX512 = nvfp4KernelSet{stored: []nvfp4Kernel{fixed24Rows1AVX512, fixed24Rows2AVX512, fixed24Rows3AVX512, fixed24Rows4AVX512, fixed24Rows5AVX512, fixed24Rows6AVX512, fixed24Rows7AVX512, fixed24Rows8AVX512}}
	w4a4AVX2         = nvfp4KernelSet{stored: []nvfp4Kernel{e2m1Rows1AVX2, e2m1Rows2AVX2, e2m1Rows3AVX2}, unpacked: []nvfp4Kernel{e2m1Unpacked1AVX2, e2m1Unpacked2AVX2, e2m1Unpacked3AVX2, e2m1Unpacked4AVX2, e2m1Unpacked5AVX2, e2m1Unpacked6AVX2}}
	weightOnlyAVX2   = nvfp4KernelSet{stored: []nvfp4Kernel{fixed24Rows1AVX2, fixed24Rows2AVX2}, unpacked: []nvfp4Kernel{fixed24Unpacked1AVX2, fixed24Unpacked2AVX2, fixed24Unpacked3AVX2, fixed24Unpacked4AVX2}}
)

// unpackNVFP4 writes blocks of a panel as unpackedBytes each.
func unpackNVFP4(dst, codes, scales *byte, blocks int) { unpackNVFP4AVX2(dst, codes, scales, blocks) }

func quantizeE2M1(dst []E2M1Block, x []float32, gs float32) {
	if level == Generic || len(dst) == 0 {
		quantizeE2M1Reference(dst, x, gs)
		return
	}
	_ = x[len(dst)*BlockCols-1]
	if n := len(dst) / 4; level == AVX512 && n > 0 {
		quantizeE2M1AVX512(&dst[0], &x[0], n, gs)
		dst, x = dst[4*n:], x[4*n*BlockCols:]
	}
	if len(dst) > 0 {
		quantizeE2M1AVX2(&dst[0], &x[0], len(dst), gs)
	}
}

func fixed24(dst []Fixed24Block, x []float32) {
	if level == Generic || len(dst) == 0 {
		fixed24Reference(dst, x)
		return
	}
	_ = x[len(dst)*BlockCols-1]
	fixed24AVX2(&dst[0], &x[0], len(dst))
}

// unpackNVFP4AVX2 writes blocks of a panel as unpackedBytes each: values + 12 as bytes [4 quads of columns][16 rows][4], then
// the 16 scales divided by 2⁸ as float32.
//
//go:noescape
func unpackNVFP4AVX2(dst, codes, scales *byte, blocks int)

//go:noescape
func quantizeE2M1AVX2(dst *E2M1Block, x *float32, blocks int, gs float32)

// quantizeE2M1AVX512 quantizes four blocks at a time.
//
//go:noescape
func quantizeE2M1AVX512(dst *E2M1Block, x *float32, fours int, gs float32)

//go:noescape
func fixed24AVX2(dst *Fixed24Block, x *float32, blocks int)

//go:noescape
func e2m1Rows1AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows2AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows3AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows4AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows5AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows6AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows7AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows8AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows9AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows10AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows11AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows12AVX512(a *nvfp4Args)

//go:noescape
func e2m1Rows1AVX2(a *nvfp4Args)

//go:noescape
func e2m1Rows2AVX2(a *nvfp4Args)

//go:noescape
func e2m1Rows3AVX2(a *nvfp4Args)

//go:noescape
func e2m1Unpacked1AVX2(a *nvfp4Args)

//go:noescape
func e2m1Unpacked2AVX2(a *nvfp4Args)

//go:noescape
func e2m1Unpacked3AVX2(a *nvfp4Args)

//go:noescape
func e2m1Unpacked4AVX2(a *nvfp4Args)

//go:noescape
func e2m1Unpacked5AVX2(a *nvfp4Args)

//go:noescape
func e2m1Unpacked6AVX2(a *nvfp4Args)

//go:noescape
func fixed24Rows1AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows2AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows3AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows4AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows5AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows6AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows7AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows8AVX512(a *nvfp4Args)

//go:noescape
func fixed24Rows1AVX2(a *nvfp4Args)

//go:noescape
func fixed24Rows2AVX2(a *nvfp4Args)

//go:noescape
func fixed24Unpacked1AVX2(a *nvfp4Args)

//go:noescape
func fixed24Unpacked2AVX2(a *nvfp4Args)

//go:noescape
func fixed24Unpacked3AVX2(a *nvfp4Args)

//go:noescape
func fixed24Unpacked4AVX2(a *nvfp4Args)

// e2m1PairAVX512 multiplies pairTile rows by two stored panels, which share the broadcasts of activations.
//
//go:noescape
func e2m1PairAVX512(a *nvfp4Args)
