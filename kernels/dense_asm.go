//go:build amd64 || arm64

package kernels

// tileArgs is tileWork for tile kernels, whose number of rows is fixed.
type tileArgs struct {
	y         *float32 // 0
	stride    int      // 8, bytes
	x         *float32 // 16
	w         *float32 // 24
	second    int      // 32, bytes
	cols      int      // 40
	scale     *float32 // 48, nil for none
	next      *byte    // 56
	nextPanel int      // 64
	nextStep  int      // 72
}

func (t *tileWork) args() tileArgs {
	_ = t.y[(t.rows-1)*t.stride+tilePanels()*PanelRows-1]
	_ = t.x[(t.rows-1)*tileStride+t.cols-1]
	_ = t.w[t.second*(tilePanels()-1)+t.cols*PanelRows-1]
	a := tileArgs{y: &t.y[0], stride: t.stride * 4, x: &t.x[0], w: &t.w[0], second: t.second * 4, cols: t.cols,
		next: &t.next[0], nextPanel: t.nextPanel, nextStep: t.nextStep}
	if len(t.scale) > 0 {
		a.scale = &t.scale[:t.rows][0]
	}
	return a
}

// rowArgs is what row kernels read: one row of cols activations times 1 or 4 panels of stored weights. scale nil: y is the
// sum over all columns; else y starts at zero, and y = fma(sum, scale[b], y) for each block b of 128 columns (E4M3 only).
type rowArgs struct {
	y     *float32 // 0
	x     *float32 // 8
	w     *byte    // 16
	panel int      // 24, bytes
	cols  int      // 32
	scale *float32 // 40
}

func newRowArgs(y, x []float32, w []byte, panelBytes int, scale []float32) rowArgs {
	_ = w[len(y)/PanelRows*panelBytes-1]
	a := rowArgs{y: &y[0], x: &x[0], w: &w[0], panel: panelBytes, cols: len(x)}
	if scale != nil {
		_ = scale[(len(x)-1)/GroupCols]
		a.scale = &scale[0]
		clear(y)
	}
	return a
}
