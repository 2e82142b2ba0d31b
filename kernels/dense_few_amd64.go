package kernels

// fewPanels is how many panels multiplyFew takes, 0 where tiles do better. AVX-512 beats them up to 8 rows, with a second
// pass over panels that are still in cache (measured on Zen 5).
func fewPanels(f DenseFormat, rows int) int {
	switch {
	case rows < 2 || f != DenseBF16 && f != denseE4M3:
		return 0
	case level == AVX512 && rows <= 8:
		return 4
	case level == AVX2 && rows == 2:
		return 2
	case level == AVX2 && rows <= 4:
		return 1
	}
	return 0
}

// few runs the kernel of 2 to 4 rows.
func few(f DenseFormat, rows int, args *fewArgs) {
	bf16, avx512 := f == DenseBF16, level == AVX512
	switch {
	case rows == 2 && bf16 && avx512:
		few2BF16AVX512(args)
	case rows == 2 && bf16:
		few2BF16AVX2(args)
	case rows == 2 && avx512:
		few2E4M3AVX512(args)
	case rows == 2:
		few2E4M3AVX2(args)
	case rows == 3 && bf16 && avx512:
		few3BF16AVX512(args)
	case rows == 3 && bf16:
		few3BF16AVX2(args)
	case rows == 3 && avx512:
		few3E4M3AVX512(args)
	case rows == 3:
		few3E4M3AVX2(args)
	case rows == 4 && bf16 && avx512:
		few4BF16AVX512(args)
	case rows == 4 && bf16:
		few4BF16AVX2(args)
	case rows == 4 && avx512:
		few4E4M3AVX512(args)
	case rows == 4:
		few4E4M3AVX2(args)
	}
}

//go:noescape
func few2BF16AVX512(a *fewArgs)

//go:noescape
func few2BF16AVX2(a *fewArgs)

//go:noescape
func few2E4M3AVX512(a *fewArgs)

//go:noescape
func few2E4M3AVX2(a *fewArgs)

//go:noescape
func few3BF16AVX512(a *fewArgs)

//go:noescape
func few3BF16AVX2(a *fewArgs)

//go:noescape
func few3E4M3AVX512(a *fewArgs)

//go:noescape
func few3E4M3AVX2(a *fewArgs)

//go:noescape
func few4BF16AVX512(a *fewArgs)

//go:noescape
func few4BF16AVX2(a *fewArgs)

//go:noescape
func few4E4M3AVX512(a *fewArgs)

//go:noescape
func few4E4M3AVX2(a *fewArgs)
