package kernels

// tilePanels and maxTileRows are the shape of a tile whose sums fill the registers.
func tilePanels() int  { return 1 }
func maxTileRows() int { return 4 }

// multiplyTile multiplies up to maxTileRows rows by one panel.
func multiplyTile(t *tileWork) {
	args := t.args()
	switch t.rows {
	case 1:
		tile1NEON(&args)
	case 2:
		tile2NEON(&args)
	case 3:
		tile3NEON(&args)
	case 4:
		tile4NEON(&args)
	}
}

// multiplyRow multiplies one row by len(y)/16 panels, 1 or 4.
func multiplyRow(f DenseFormat, y, x []float32, w []byte, panelBytes int, scale []float32) {
	args := newRowArgs(y, x, w, panelBytes, scale)
	four := len(y) == rowPanels*PanelRows
	switch {
	case f == DenseF32 && four:
		rowF32x4NEON(&args)
	case f == DenseF32:
		rowF32x1NEON(&args)
	case f == DenseBF16 && four:
		rowBF16x4NEON(&args)
	case f == DenseBF16:
		rowBF16x1NEON(&args)
	case f == DenseF16 && four:
		rowF16x4NEON(&args)
	case f == DenseF16:
		rowF16x1NEON(&args)
	case four:
		rowE4M3x4NEON(&args)
	default:
		rowE4M3x1NEON(&args)
	}
}

// widenPanel writes cols columns of one panel as float32.
func widenPanel(f DenseFormat, dst []float32, w []byte, cols int) {
	_ = dst[cols*PanelRows-1]
	// A last odd column of a paired format is read as a pair, which its panel is padded to.
	_ = w[(cols+cols%2)*PanelRows*f.bytes()-1]
	switch f {
	case DenseBF16:
		widenBF16NEON(&dst[0], &w[0], cols)
	case DenseF16:
		widenF16NEON(&dst[0], &w[0], cols)
	case denseE4M3:
		widenE4M3NEON(&dst[0], &w[0], cols)
	}
}

//go:noescape
func tile1NEON(a *tileArgs)

//go:noescape
func tile2NEON(a *tileArgs)

//go:noescape
func tile3NEON(a *tileArgs)

//go:noescape
func tile4NEON(a *tileArgs)

//go:noescape
func rowF32x4NEON(a *rowArgs)

//go:noescape
func rowF32x1NEON(a *rowArgs)

//go:noescape
func rowBF16x4NEON(a *rowArgs)

//go:noescape
func rowBF16x1NEON(a *rowArgs)

//go:noescape
func rowF16x4NEON(a *rowArgs)

//go:noescape
func rowF16x1NEON(a *rowArgs)

//go:noescape
func rowE4M3x4NEON(a *rowArgs)

//go:noescape
func rowE4M3x1NEON(a *rowArgs)

//go:noescape
func widenBF16NEON(dst *float32, w *byte, cols int)

//go:noescape
func widenF16NEON(dst *float32, w *byte, cols int)

//go:noescape
func widenE4M3NEON(dst *float32, w *byte, cols int)
