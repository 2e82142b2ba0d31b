package kernels

// Sizes of the tiled product. A tile is a few activation rows by one or two panels whose sums stay in registers over
// tileCols columns. The widened weights (two panels: 32 KiB) and the rows of one tile stay in the first-level cache, the
// rows of tileRows in the second.
const (
	tileCols   = 256
	tileRows   = 192
	tileStride = tileCols + 16 // of packed rows: rows a multiple of 4 KiB apart would share cache sets
)

// A blockScaler gives the factor of each row for block b of columns in panel p. All 8 panels of GroupCols rows share it.
type blockScaler interface {
	blockScales(dst []float32, in *Input, t0, p, b int) // rows t0..t0+len(dst)
}

// mulTiled computes rows of any number. Without scales y is one chain per output, carried through y between chunks of
// columns. With them each chunk of cols columns is a chain p of its own and y = fma(p, scale, y).
func (w *packedPanels) mulTiled(y []float32, stride int, in *Input, p0, p1 int, s *Scratch, cols int, scales blockScaler) {
	if p0 == p1 {
		return
	}
	const wide = 2 * PanelRows
	s.floats = grow(s.floats, tileRows*tileStride+tileCols*wide+tileRows*wide+tileRows)
	tile := tiledProduct{w: w, in: in, scales: scales}
	buf := s.floats
	tile.x, buf = buf[:tileRows*tileStride], buf[tileRows*tileStride:]
	tile.wide, buf = buf[:tileCols*wide], buf[tileCols*wide:]
	edge, buf := buf[:tileRows*wide], buf[tileRows*wide:]
	for t0 := 0; t0 < in.Rows; t0 += tileRows {
		tile.t0, tile.rows = t0, min(tileRows, in.Rows-t0)
		tile.scale = buf[:tile.rows]
		o0, o1 := p0*PanelRows, min(p1*PanelRows, w.rows)
		for t := range tile.rows {
			clear(y[(t0+t)*stride+o0 : (t0+t)*stride+o1])
		}
		for c0 := 0; c0 < w.cols; c0 += cols {
			tile.c0, tile.c1 = c0, min(c0+cols, w.cols)
			tile.packRows()
			tile.scaled = -1
			for p := p0; p < p1; {
				n := tile.panels(p, p1)
				if n*PanelRows < tilePanels()*PanelRows || (p+n)*PanelRows > w.rows {
					tile.edge(edge, y[t0*stride:], stride, p, n)
				} else {
					tile.multiply(y[t0*stride+p*PanelRows:], stride, p, n)
				}
				p += n
			}
		}
	}
}

// tiledProduct is the work on columns c0..c1 of rows t0..t0+rows.
type tiledProduct struct {
	w      *packedPanels
	in     *Input
	scales blockScaler
	t0     int
	rows   int
	c0, c1 int
	scaled int       // the group of 8 panels that scale was filled for, -1: none
	scale  []float32 // [rows]
	x      []float32 // [rows, tileStride]
	wide   []float32 // [panels, c1-c0, 16] widened weights
}

func (t *tiledProduct) packRows() {
	for r := range t.rows {
		copy(t.x[r*tileStride:][:tileCols], t.in.X[(t.t0+r)*t.in.Cols+t.c0:(t.t0+r)*t.in.Cols+t.c1])
	}
}

// panels is how many panels from p on to take at once: those of a tile, but never from two scale groups.
func (t *tiledProduct) panels(p, p1 int) int {
	n := min(tilePanels(), p1-p)
	if t.scales != nil {
		n = min(n, panelsPerGroup-p%panelsPerGroup)
	}
	return n
}

const panelsPerGroup = GroupCols / PanelRows

// multiply adds to y, which starts at the first output of panel p, with room for tilePanels panels in each row.
func (t *tiledProduct) multiply(y []float32, stride, p, n int) {
	cols := t.c1 - t.c0
	weights, second := t.wide, cols*PanelRows
	if t.w.format == DenseF32 {
		panel := t.w.f32Panels(p, n)
		weights, second = panel[t.c0*PanelRows:], t.w.panelBytes/4
	} else {
		for i := range n {
			t.w.widen(t.wide[i*second:], p+i, t.c0, t.c1)
		}
	}
	if n < tilePanels() {
		second = 0 // compute the same panel twice, the caller drops one
	}
	var scale []float32
	if t.scales != nil {
		if g := p / panelsPerGroup; g != t.scaled {
			t.scales.blockScales(t.scale, t.in, t.t0, p, t.c0/GroupCols)
			t.scaled = g
		}
		scale = t.scale
	}
	tiles := (t.rows + maxTileRows() - 1) / maxTileRows()
	for i := range tiles { // rows spread evenly: a tile of few rows cannot hide the latency of its sums
		r0, r1 := i*t.rows/tiles, (i+1)*t.rows/tiles
		var sc []float32
		if scale != nil {
			sc = scale[r0:r1]
		}
		multiplyTile(y[r0*stride:], stride, r1-r0, t.x[r0*tileStride:], weights, second, cols, sc)
	}
}

// edge is multiply for panels that do not fill a tile or reach beyond the last row.
func (t *tiledProduct) edge(edge, y []float32, stride, p, n int) {
	width := tilePanels() * PanelRows
	o0 := p * PanelRows
	valid := min(n*PanelRows, t.w.rows-o0)
	for r := range t.rows {
		clear(edge[r*width:][:width])
		copy(edge[r*width:], y[r*stride+o0:][:valid])
	}
	t.multiply(edge, width, p, n)
	for r := range t.rows {
		copy(y[r*stride+o0:][:valid], edge[r*width:])
	}
}

// mulRow is the product of one row: it reads each weight once and widens it in registers. scale holds one factor per
// block of GroupCols columns, nil where the whole row is one chain.
func (w *packedPanels) mulRow(y, x []float32, p0, p1 int, s *Scratch, scale []float32) {
	for p := p0; p < p1; {
		n := 1
		if p+rowPanels <= p1 && (p+rowPanels)*PanelRows <= w.rows {
			n = rowPanels
		}
		panels := w.data[p*w.panelBytes : (p+n)*w.panelBytes]
		if out := y[p*PanelRows : min((p+n)*PanelRows, w.rows)]; len(out) == n*PanelRows {
			multiplyRow(w.format, out, x[:w.cols], panels, w.panelBytes, scale)
		} else {
			last := s.lastPanel[:]
			multiplyRow(w.format, last, x[:w.cols], panels, w.panelBytes, scale)
			copy(out, last)
		}
		p += n
	}
}

// rowPanels panels at once are as many chains as hide the latency of a fused multiply-add.
const rowPanels = 4
