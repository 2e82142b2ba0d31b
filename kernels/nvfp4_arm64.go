package kernels

// nvfp4Kernels are those of NEON. They unpack in registers, all for as many rows as the registers hold.
func nvfp4Kernels(kind InputKind) nvfp4KernelSet {
	if kind == InputE2M1 {
		return w4a4NEON
	}
	return weightOnlyNEON
}

var (
	w4a4NEON       = nvfp4KernelSet{stored: []nvfp4Kernel{e2m1Rows1NEON, e2m1Rows2NEON, e2m1Rows3NEON, e2m1Rows4NEON}}
	weightOnlyNEON = nvfp4KernelSet{stored: []nvfp4Kernel{fixed24Rows1NEON, fixed24Rows2NEON, fixed24Rows3NEON, fixed24Rows4NEON}}
)

// unpackNVFP4 is never called: no kernel of the set takes unpacked panels.
func unpackNVFP4(dst, codes, scales *byte, blocks int) {
	panic("kernels: NEON unpacks NVFP4 in registers")
}

func quantizeE2M1(dst []E2M1Block, x []float32, gs float32) {
	if level == Generic || len(dst) == 0 {
		quantizeE2M1Reference(dst, x, gs)
		return
	}
	_ = x[len(dst)*BlockCols-1]
	quantizeE2M1NEON(&dst[0], &x[0], len(dst), gs)
}

func fixed24(dst []Fixed24Block, x []float32) {
	if level == Generic || len(dst) == 0 {
		fixed24Reference(dst, x)
		return
	}
	_ = x[len(dst)*BlockCols-1]
	fixed24NEON(&dst[0], &x[0], len(dst))
}

//go:noescape
func quantizeE2M1NEON(dst *E2M1Block, x *float32, blocks int, gs float32)

//go:noescape
func fixed24NEON(dst *Fixed24Block, x *float32, blocks int)

//go:noescape
func e2m1Rows1NEON(a *nvfp4Args)

//go:noescape
func e2m1Rows2NEON(a *nvfp4Args)

//go:noescape
func e2m1Rows3NEON(a *nvfp4Args)

//go:noescape
func e2m1Rows4NEON(a *nvfp4Args)

//go:noescape
func fixed24Rows1NEON(a *nvfp4Args)

//go:noescape
func fixed24Rows2NEON(a *nvfp4Args)

//go:noescape
func fixed24Rows3NEON(a *nvfp4Args)

//go:noescape
func fixed24Rows4NEON(a *nvfp4Args)
