package kernels

// Sizes of the tiled product. A tile is a few activation rows by one or two panels whose sums stay in registers over
// tileCols columns. The widened weights (two panels: 32 KiB) and the rows of one tile stay in the first-level cache.
const (
	tileCols   = 256
	tileStride = tileCols + 16 // of packed rows: rows a multiple of 4 KiB apart would share cache sets

	// packedFloats bounds the packed rows, which should stay in the second-level cache.
	packedFloats = 192 * tileStride
)

// A blockScaler gives the factor of each row for block b of columns in panel p. All 8 panels of GroupCols rows share it.
type blockScaler interface {
	blockScales(dst []float32, in *Input, t0, p, b int) // rows t0..t0+len(dst)
}

// mulRows computes two or more rows: those and panels that kernels for few rows take, and the rest in tiles. cols is the
// length of a chain.
func (w *packedPanels) mulRows(y []float32, stride int, in *Input, p0, p1 int, s *Scratch, cols int, scales blockScaler) {
	n := fewPanels(w.format, in.Rows)
	if n == 0 {
		w.mulTiled(y, stride, in, p0, p1, s, cols, scales)
		return
	}
	for p := p0; p < p1; {
		end := p1
		if scales != nil { // group by group of 128 output rows, whose block scales are the same
			end = min(p1, (p/panelsPerGroup+1)*panelsPerGroup)
			s.floats = grow(s.floats, groups(w.cols)*in.Rows)
			w.fewScales(s.floats, in, p, scales)
		}
		for ; p+n <= end && (p+n)*PanelRows <= w.rows; p += n {
			w.mulFew(y[p*PanelRows:], stride, in, p, n, s.floats, scales != nil)
		}
		w.mulTiled(y, stride, in, p, end, s, cols, scales)
		p = end
	}
}

// fewPasses is how often the rows go over a panel, fewRows the rows of one pass: 2 to 4, spread evenly.
func fewPasses(rows int) int { return (rows + 3) / 4 }

func fewRows(rows, pass int) (r0, r1 int) {
	n := fewPasses(rows)
	return pass * rows / n, (pass + 1) * rows / n
}

// fewScales fills dst with what each pass reads in order: [passes][blocks][rows of the pass].
func (w *packedPanels) fewScales(dst []float32, in *Input, p int, scales blockScaler) {
	for pass := range fewPasses(in.Rows) {
		r0, r1 := fewRows(in.Rows, pass)
		for b := range groups(w.cols) {
			scales.blockScales(dst[:r1-r0], in, r0, p, b)
			dst = dst[r1-r0:]
		}
	}
}

// mulFew multiplies the rows, a few at a time, by n panels from p on: memory is read once, then the cache.
func (w *packedPanels) mulFew(y []float32, stride int, in *Input, p, n int, scale []float32, scaled bool) {
	panels := w.data[p*w.panelBytes : (p+n)*w.panelBytes]
	for pass := range fewPasses(in.Rows) {
		r0, r1 := fewRows(in.Rows, pass)
		var sc []float32
		if scaled {
			sc = scale[r0*groups(w.cols) : r1*groups(w.cols)]
		}
		multiplyFew(w.format, y[r0*stride:], stride, r1-r0, in.X[r0*in.Cols:r1*in.Cols], panels, w.panelBytes, n, sc)
	}
}

// mulTiled computes rows of any number. Without scales y is one chain per output, carried through y between chunks of
// columns. With them each chunk of cols columns is a chain p of its own and y = fma(p, scale, y).
//
// Few rows are bound by memory: packed whole, so that each panel is read from end to end. Many rows are bound by
// arithmetic: packed chunk by chunk, so that a chunk's widened weights serve as many rows as fit the cache.
func (w *packedPanels) mulTiled(y []float32, stride int, in *Input, p0, p1 int, s *Scratch, cols int, scales blockScaler) {
	if p0 == p1 {
		return
	}
	chunks := (w.cols + cols - 1) / cols
	rows := min(in.Rows, packedFloats/tileStride)
	tile := tiledProduct{w: w, in: in, scales: scales, cols: cols, p0: p0, p1: p1}
	tile.panelMajor = in.Rows*chunks*tileStride <= packedFloats
	tile.borrow(s, rows)
	for t0 := 0; t0 < in.Rows; t0 += rows {
		tile.t0, tile.rows = t0, min(rows, in.Rows-t0)
		out := y[t0*stride:]
		o0, o1 := p0*PanelRows, min(p1*PanelRows, w.rows)
		for t := range tile.rows {
			clear(out[t*stride+o0 : t*stride+o1])
		}
		if tile.panelMajor {
			for c := range chunks {
				tile.packRows(c, c)
			}
			for p := p0; p < p1; p += tile.panels(p) {
				for c := range chunks {
					tile.step(out, stride, p, c, c)
				}
			}
			continue
		}
		for c := range chunks {
			tile.packRows(c, 0)
			for p := p0; p < p1; p += tile.panels(p) {
				tile.step(out, stride, p, c, 0)
			}
		}
	}
}

// tiledProduct is the work on rows t0..t0+rows.
type tiledProduct struct {
	w      *packedPanels
	in     *Input
	scales blockScaler
	cols   int // of a chunk
	p0, p1 int
	t0     int
	rows   int

	panelMajor bool

	x     []float32 // [slots, rows, tileStride] packed rows
	wide  []float32 // [panels, columns, 16] widened weights of one chunk
	edge  []float32 // [rows, panels*16] outputs of panels that do not fill a tile or reach beyond the last row
	scale []float32 // [rows]
}

func (t *tiledProduct) borrow(s *Scratch, rows int) {
	width := tilePanels() * PanelRows
	s.floats = grow(s.floats, packedFloats+tileCols*width+rows*(width+1))
	buf := s.floats
	t.x, buf = buf[:packedFloats], buf[packedFloats:]
	t.wide, buf = buf[:tileCols*width], buf[tileCols*width:]
	t.edge, t.scale = buf[:rows*width], buf[rows*width:]
}

// packRows copies chunk c of the rows to a slot of x.
func (t *tiledProduct) packRows(c, slot int) {
	c0, c1 := t.columns(c)
	x := t.x[slot*t.rows*tileStride:]
	for r := range t.rows {
		copy(x[r*tileStride:][:tileCols], t.in.X[(t.t0+r)*t.in.Cols+c0:(t.t0+r)*t.in.Cols+c1])
	}
}

func (t *tiledProduct) columns(c int) (c0, c1 int) { return c * t.cols, min((c+1)*t.cols, t.w.cols) }

// panels is how many panels from p on to take at once: those of a tile, but never from two scale groups.
func (t *tiledProduct) panels(p int) int {
	n := min(tilePanels(), t.p1-p)
	if t.scales != nil {
		n = min(n, panelsPerGroup-p%panelsPerGroup)
	}
	return n
}

// step adds chunk c, whose rows are in a slot of x, to the outputs of the panels from p on.
func (t *tiledProduct) step(y []float32, stride, p, c, slot int) {
	n, width, o0 := t.panels(p), tilePanels()*PanelRows, p*PanelRows
	if n*PanelRows == width && o0+width <= t.w.rows {
		t.multiply(y[o0:], stride, p, c, slot)
		return
	}
	valid := min(n*PanelRows, t.w.rows-o0)
	for r := range t.rows {
		clear(t.edge[r*width:][:width])
		copy(t.edge[r*width:], y[r*stride+o0:][:valid])
	}
	t.multiply(t.edge, width, p, c, slot)
	for r := range t.rows {
		copy(y[r*stride+o0:][:valid], t.edge[r*width:])
	}
}

// multiply adds to y, which starts at the first output of panel p, with room for tilePanels panels in each row.
func (t *tiledProduct) multiply(y []float32, stride, p, c, slot int) {
	c0, c1 := t.columns(c)
	tile := tileWork{stride: stride, cols: c1 - c0}
	tile.w, tile.second = t.weights(p, c0, c1)
	tile.next, tile.nextPanel, tile.nextStep = t.following(p, c)
	scale := t.scale[:0]
	if t.scales != nil {
		scale = t.scale[:t.rows]
		t.scales.blockScales(scale, t.in, t.t0, p, c)
	}
	x := t.x[slot*t.rows*tileStride:]
	tiles := (t.rows + maxTileRows() - 1) / maxTileRows()
	for i := range tiles { // rows spread evenly: a tile of few rows cannot hide the latency of its sums
		r0, r1 := i*t.rows/tiles, (i+1)*t.rows/tiles
		tile.y, tile.x, tile.rows = y[r0*stride:], x[r0*tileStride:], r1-r0
		tile.scale = scale[min(r0, len(scale)):min(r1, len(scale))]
		multiplyTile(&tile)
		tile.nextStep = 0 // once is enough
	}
}

// weights returns the widened weights of columns c0..c1 of the panels from p on, and where the second panel begins. A
// missing second panel is the first again: the caller drops what comes of it.
func (t *tiledProduct) weights(p, c0, c1 int) (w []float32, second int) {
	n := t.panels(p)
	w, second = t.wide, (c1-c0)*PanelRows
	if t.w.format == DenseF32 {
		w, second = t.w.f32Panels(p, n)[c0*PanelRows:], t.w.panelBytes/4
	} else {
		for i := range n {
			t.w.widen(t.wide[i*second:], p+i, c0, c1)
		}
	}
	if n < tilePanels() {
		second = 0
	}
	return w, second
}

// following is what to fetch into cache during chunk c of panel p: the stored weights of the step after it.
func (t *tiledProduct) following(p, c int) (next []byte, panel, step int) {
	if last := (c+1)*t.cols >= t.w.cols; t.panelMajor && !last {
		c++
	} else {
		p += t.panels(p)
		if t.panelMajor {
			c = 0
		}
	}
	if p >= t.p1 {
		return t.w.data, 0, 0
	}
	column := PanelRows * t.w.format.bytes()
	if p+1 < t.p1 {
		panel = t.w.panelBytes
	}
	return t.w.data[p*t.w.panelBytes+c*t.cols*column:], panel, column
}

// tileWork is one tile: rows of tileStride floats by cols × 16 widened weights per panel.
type tileWork struct {
	y            []float32
	stride, rows int
	x, w         []float32
	second       int // the second panel in w
	cols         int
	scale        []float32 // empty: y is carried on; else sums start at zero and y = fma(sum, scale[row], y)

	next      []byte // fetched into cache column by column, nextStep bytes of two panels nextPanel apart
	nextPanel int
	nextStep  int
}

const panelsPerGroup = GroupCols / PanelRows

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
