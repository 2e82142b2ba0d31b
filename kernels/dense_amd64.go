package kernels

// tilePanels and maxTileRows are the shape of a tile whose sums fill the registers.
func tilePanels() int {
	if level == AVX512 {
		return 2
	}
	return 1
}

func maxTileRows() int {
	if level == AVX512 {
		return 12
	}
	return 6
}

// multiplyTile multiplies up to maxTileRows rows by tilePanels panels.
func multiplyTile(t *tileWork) {
	args, rows := t.args(), t.rows
	if level == AVX512 {
		switch rows {
		case 1:
			tile1AVX512(&args)
		case 2:
			tile2AVX512(&args)
		case 3:
			tile3AVX512(&args)
		case 4:
			tile4AVX512(&args)
		case 5:
			tile5AVX512(&args)
		case 6:
			tile6AVX512(&args)
		case 7:
			tile7AVX512(&args)
		case 8:
			tile8AVX512(&args)
		case 9:
			tile9AVX512(&args)
		case 10:
			tile10AVX512(&args)
		case 11:
			tile11AVX512(&args)
		case 12:
			tile12AVX512(&args)
		}
		return
	}
	switch rows {
	case 1:
		tile1AVX2(&args)
	case 2:
		tile2AVX2(&args)
	case 3:
		tile3AVX2(&args)
	case 4:
		tile4AVX2(&args)
	case 5:
		tile5AVX2(&args)
	case 6:
		tile6AVX2(&args)
	}
}

// multiplyRow multiplies one row by len(y)/16 panels, 1 or 4.
func multiplyRow(f DenseFormat, y, x []float32, w []byte, panelBytes int, scale []float32) {
	args := newRowArgs(y, x, w, panelBytes, scale)
	four := len(y) == rowPanels*PanelRows
	if level == AVX512 {
		switch {
		case f == DenseF32 && four:
			rowF32x4AVX512(&args)
		case f == DenseF32:
			rowF32x1AVX512(&args)
		case f == DenseBF16 && four:
			rowBF16x4AVX512(&args)
		case f == DenseBF16:
			rowBF16x1AVX512(&args)
		case f == DenseF16 && four:
			rowF16x4AVX512(&args)
		case f == DenseF16:
			rowF16x1AVX512(&args)
		case four:
			rowE4M3x4AVX512(&args)
		default:
			rowE4M3x1AVX512(&args)
		}
		return
	}
	switch {
	case f == DenseF32 && four:
		rowF32x4AVX2(&args)
	case f == DenseF32:
		rowF32x1AVX2(&args)
	case f == DenseBF16 && four:
		rowBF16x4AVX2(&args)
	case f == DenseBF16:
		rowBF16x1AVX2(&args)
	case f == DenseF16 && four:
		rowF16x4AVX2(&args)
	case f == DenseF16:
		rowF16x1AVX2(&args)
	case four:
		rowE4M3x4AVX2(&args)
	default:
		rowE4M3x1AVX2(&args)
	}
}

// widenPanel writes cols columns of one panel as float32.
func widenPanel(f DenseFormat, dst []float32, w []byte, cols int) {
	_ = dst[cols*PanelRows-1]
	// A last odd column of a paired format is read as a pair, which its panel is padded to.
	_ = w[(cols+cols%2)*PanelRows*f.bytes()-1]
	avx512 := level == AVX512
	switch {
	case f == DenseBF16 && avx512:
		widenBF16AVX512(&dst[0], &w[0], cols)
	case f == DenseBF16:
		widenBF16AVX2(&dst[0], &w[0], cols)
	case f == DenseF16 && avx512:
		widenF16AVX512(&dst[0], &w[0], cols)
	case f == DenseF16:
		widenF16AVX2(&dst[0], &w[0], cols)
	case f == denseE4M3 && avx512:
		widenE4M3AVX512(&dst[0], &w[0], cols)
	case f == denseE4M3:
		widenE4M3AVX2(&dst[0], &w[0], cols)
	}
}

//go:noescape
func tile1AVX512(a *tileArgs)

//go:noescape
func tile2AVX512(a *tileArgs)

//go:noescape
func tile3AVX512(a *tileArgs)

//go:noescape
func tile4AVX512(a *tileArgs)

//go:noescape
func tile5AVX512(a *tileArgs)

//go:noescape
func tile6AVX512(a *tileArgs)

//go:noescape
func tile7AVX512(a *tileArgs)

//go:noescape
func tile8AVX512(a *tileArgs)

//go:noescape
func tile9AVX512(a *tileArgs)

//go:noescape
func tile10AVX512(a *tileArgs)

//go:noescape
func tile11AVX512(a *tileArgs)

//go:noescape
func tile12AVX512(a *tileArgs)

//go:noescape
func tile1AVX2(a *tileArgs)

//go:noescape
func tile2AVX2(a *tileArgs)

//go:noescape
func tile3AVX2(a *tileArgs)

//go:noescape
func tile4AVX2(a *tileArgs)

//go:noescape
func tile5AVX2(a *tileArgs)

//go:noescape
func tile6AVX2(a *tileArgs)

//go:noescape
func rowF32x4AVX512(a *rowArgs)

//go:noescape
func rowF32x1AVX512(a *rowArgs)

//go:noescape
func rowBF16x4AVX512(a *rowArgs)

//go:noescape
func rowBF16x1AVX512(a *rowArgs)

//go:noescape
func rowF16x4AVX512(a *rowArgs)

//go:noescape
func rowF16x1AVX512(a *rowArgs)

//go:noescape
func rowE4M3x4AVX512(a *rowArgs)

//go:noescape
func rowE4M3x1AVX512(a *rowArgs)

//go:noescape
func rowF32x4AVX2(a *rowArgs)

//go:noescape
func rowF32x1AVX2(a *rowArgs)

//go:noescape
func rowBF16x4AVX2(a *rowArgs)

//go:noescape
func rowBF16x1AVX2(a *rowArgs)

//go:noescape
func rowF16x4AVX2(a *rowArgs)

//go:noescape
func rowF16x1AVX2(a *rowArgs)

//go:noescape
func rowE4M3x4AVX2(a *rowArgs)

//go:noescape
func rowE4M3x1AVX2(a *rowArgs)

//go:noescape
func widenBF16AVX512(dst *float32, w *byte, cols int)

//go:noescape
func widenF16AVX512(dst *float32, w *byte, cols int)

//go:noescape
func widenE4M3AVX512(dst *float32, w *byte, cols int)

//go:noescape
func widenBF16AVX2(dst *float32, w *byte, cols int)

//go:noescape
func widenF16AVX2(dst *float32, w *byte, cols int)

//go:noescape
func widenE4M3AVX2(dst *float32, w *byte, cols int)
