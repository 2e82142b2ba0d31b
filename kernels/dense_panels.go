package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// DenseFormat is how one weight is stored.
type DenseFormat uint8

const (
	DenseF32 DenseFormat = iota
	DenseBF16
	DenseF16  // IEEE half
	denseE4M3 // only inside FP8
)

var denseFormatNames = [...]string{DenseF32: "F32", DenseBF16: "BF16", DenseF16: "F16", denseE4M3: "F8_E4M3"}

func (f DenseFormat) String() string { return denseFormatNames[f] }

// bytes is the size of one weight.
func (f DenseFormat) bytes() int {
	switch f {
	case DenseF32:
		return 4
	case denseE4M3:
		return 1
	}
	return 2
}

// paired says that columns 2j and 2j+1 of a row lie side by side. Then one load serves both: a BF16 pair is a 32-bit lane
// that a shift and a mask split into two float32, an E4M3 pair is a 16-bit lane that becomes two halves. F32 and F16 need
// no splitting and lie column by column.
func (f DenseFormat) paired() bool { return f == DenseBF16 || f == denseE4M3 }

// packedPanels holds W [rows, cols] in panels of 16 rows. Within a panel the weights of column i are 16 lanes:
//
//	not paired: lane r of column i at i*16 + r
//	paired:     lane r of column i at ((i/2)*16 + r)*2 + i%2
//
// in units of one weight. Rows and columns beyond the matrix are zero and never reach a result.
type packedPanels struct {
	format     DenseFormat
	rows, cols int
	panelBytes int // columns rounded up to 4, so a panel starts at a cache line
	data       []byte
}

func newPackedPanels(format DenseFormat, rows, cols int) packedPanels {
	panelBytes := (cols + 3) / 4 * 4 * PanelRows * format.bytes()
	panels := (rows + PanelRows - 1) / PanelRows
	return packedPanels{format, rows, cols, panelBytes, make([]byte, panels*panelBytes)}
}

// checkPanels panics unless p0..p1 are panels and src holds the matrix: both are the caller's mistakes.
func (w *packedPanels) checkPanels(src []byte, p0, p1 int) {
	if want := w.rows * w.cols * w.format.bytes(); len(src) != want {
		panic(fmt.Sprintf("kernels: %d bytes for %v [%d, %d], want %d", len(src), w.format, w.rows, w.cols, want))
	}
	if p0 < 0 || p0 > p1 || p1*w.panelBytes > len(w.data) {
		panic(fmt.Sprintf("kernels: panels %d..%d of [%d, %d]", p0, p1, w.rows, w.cols))
	}
}

// pack repacks panels p0..p1 from src, row-major and little-endian.
func (w *packedPanels) pack(src []byte, p0, p1 int) {
	w.checkPanels(src, p0, p1)
	rowBytes := w.cols * w.format.bytes()
	for row := p0 * PanelRows; row < min(p1*PanelRows, w.rows); row++ {
		from := src[row*rowBytes:][:rowBytes]
		lane := row % PanelRows
		to := w.data[row/PanelRows*w.panelBytes:][:w.panelBytes]
		switch w.format {
		case DenseF32, DenseBF16:
			packLanes32(to, from, lane)
		case DenseF16, denseE4M3:
			packLanes16(to, from, lane)
		}
	}
}

// packLanes32 moves one row of F32, or of BF16 pairs, into its lane.
func packLanes32(to, from []byte, lane int) {
	const next = 4 * PanelRows
	to = to[lane*4:]
	for ; len(from) >= 8 && len(to) >= 2*next; from, to = from[8:], to[2*next:] {
		v := binary.LittleEndian.Uint64(from)
		binary.LittleEndian.PutUint32(to, uint32(v))
		binary.LittleEndian.PutUint32(to[next:], uint32(v>>32))
	}
	for ; len(from) >= 4; from = from[4:] {
		binary.LittleEndian.PutUint32(to, binary.LittleEndian.Uint32(from))
		to = to[min(next, len(to)):]
	}
	if len(from) == 2 { // an odd BF16 column: the upper half stays zero
		binary.LittleEndian.PutUint16(to, binary.LittleEndian.Uint16(from))
	}
}

// packLanes16 moves one row of F16, or of E4M3 pairs, into its lane.
func packLanes16(to, from []byte, lane int) {
	const next = 2 * PanelRows
	to = to[lane*2:]
	for ; len(from) >= 8 && len(to) >= 4*next; from, to = from[8:], to[4*next:] {
		v := binary.LittleEndian.Uint64(from)
		binary.LittleEndian.PutUint16(to, uint16(v))
		binary.LittleEndian.PutUint16(to[next:], uint16(v>>16))
		binary.LittleEndian.PutUint16(to[2*next:], uint16(v>>32))
		binary.LittleEndian.PutUint16(to[3*next:], uint16(v>>48))
	}
	for ; len(from) >= 2; from = from[2:] {
		binary.LittleEndian.PutUint16(to, binary.LittleEndian.Uint16(from))
		to = to[min(next, len(to)):]
	}
	if len(from) == 1 {
		to[0] = from[0]
	}
}

// lanes writes the 16 weights of column i of panel p as float32 (E4M3: divided by 256).
func (w *packedPanels) lanes(dst *[PanelRows]float32, p, i int) {
	panel := w.data[p*w.panelBytes:][:w.panelBytes]
	for r := range dst {
		at := i*PanelRows + r
		if w.format.paired() {
			at = (i/2*PanelRows+r)*2 + i%2
		}
		switch w.format {
		case DenseF32:
			dst[r] = math.Float32frombits(binary.LittleEndian.Uint32(panel[4*at:]))
		case DenseBF16:
			dst[r] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(panel[2*at:])) << 16)
		case DenseF16:
			dst[r] = halfToF32(binary.LittleEndian.Uint16(panel[2*at:]))
		case denseE4M3:
			c := uint16(panel[at])
			dst[r] = halfToF32(c&0x80<<8 | c&0x7F<<7)
		}
	}
}

// chain is the sum every kernel keeps: acc[r] = fma(W[16p+r, i], x[i], acc[r]) over columns c0..c1, ascending.
func (w *packedPanels) chain(acc *[PanelRows]float32, x []float32, p, c0, c1 int) {
	var lanes [PanelRows]float32
	for i := c0; i < c1; i++ {
		w.lanes(&lanes, p, i)
		for r := range acc {
			acc[r] = fma32(lanes[r], x[i], acc[r])
		}
	}
}

// widen writes columns c0..c1 of panel p as float32, 16 lanes a column. c0 is even.
func (w *packedPanels) widen(dst []float32, p, c0, c1 int) {
	if c0%2 != 0 || len(dst) < (c1-c0)*PanelRows {
		panic("kernels: widen from an odd column or into a short buffer")
	}
	widenPanel(w.format, dst, w.data[p*w.panelBytes+c0*PanelRows*w.format.bytes():], c1-c0)
}

// halfToF32 is exact.
func halfToF32(h uint16) float32 {
	sign, exp, frac := uint32(h&0x8000)<<16, uint32(h>>10&0x1F), uint32(h&0x3FF)
	switch exp {
	case 0: // frac · 2⁻²⁴
		f := float32(frac) * 0x1p-24
		return math.Float32frombits(sign | math.Float32bits(f))
	case 31:
		return math.Float32frombits(sign | 0x7F800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// f32Panels views n panels from p on of an F32 matrix. The bytes are little-endian, as is every CPU with kernels.
func (w *packedPanels) f32Panels(p, n int) []float32 {
	b := w.data[p*w.panelBytes : (p+n)*w.panelBytes]
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
