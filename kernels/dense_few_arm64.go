package kernels

// fewPanels is how many panels multiplyFew takes, 0 where tiles do better: as many as give 12 or 16 vectors of sums.
func fewPanels(f DenseFormat, rows int) int {
	switch {
	case rows < 2 || rows > 4 || f != DenseBF16 && f != denseE4M3:
		return 0
	case rows == 2:
		return 2
	}
	return 1
}

// few runs the kernel of 2 to 4 rows.
func few(f DenseFormat, rows int, args *fewArgs) {
	bf16 := f == DenseBF16
	switch {
	case rows == 2 && bf16:
		few2BF16NEON(args)
	case rows == 2:
		few2E4M3NEON(args)
	case rows == 3 && bf16:
		few3BF16NEON(args)
	case rows == 3:
		few3E4M3NEON(args)
	case rows == 4 && bf16:
		few4BF16NEON(args)
	case rows == 4:
		few4E4M3NEON(args)
	}
}

//go:noescape
func few2BF16NEON(a *fewArgs)

//go:noescape
func few2E4M3NEON(a *fewArgs)

//go:noescape
func few3BF16NEON(a *fewArgs)

//go:noescape
func few3E4M3NEON(a *fewArgs)

//go:noescape
func few4BF16NEON(a *fewArgs)

//go:noescape
func few4E4M3NEON(a *fewArgs)
