//go:build amd64 || arm64

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
