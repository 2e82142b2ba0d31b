package kernels

// fewArgs is what kernels of 2 to 4 rows read: rows of x, xStride apart, times the stored weights of fewPanels panels.
// scale nil: y is the sum over all columns; else y starts at zero, and y[t] = fma(sum, scale[b][t], y[t]) for each block b of
// 128 columns (E4M3 only).
type fewArgs struct {
	y       *float32 // 0
	stride  int      // 8, bytes
	x       *float32 // 16
	xStride int      // 24, bytes
	w       *byte    // 32
	panel   int      // 40, bytes
	cols    int      // 48
	scale   *float32 // 56, [blocks][rows]
}

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

// multiplyFew multiplies 2 to 4 rows of y and x by panels panels of stored weights, as many as fewPanels says.
func multiplyFew(f DenseFormat, y []float32, stride, rows int, x []float32, w []byte, panelBytes, panels int, scale []float32) {
	cols := len(x) / rows
	_ = y[(rows-1)*stride+panels*PanelRows-1]
	_ = w[panels*panelBytes-1]
	args := fewArgs{y: &y[0], stride: stride * 4, x: &x[0], xStride: cols * 4, w: &w[0], panel: panelBytes, cols: cols}
	if scale != nil {
		args.scale = &scale[:rows*groups(cols)][0]
		for t := range rows {
			clear(y[t*stride:][:panels*PanelRows])
		}
	}
	few(f, rows, &args)
}

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
