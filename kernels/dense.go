package kernels

import (
	"fmt"
	"math"
)

// Dense is a matrix of F32, BF16 or F16 weights.
//
// Order of sums: y[o] starts at zero and is y[o] = fma(W[o,i], x[i], y[o]) for i ascending, W widened exactly to float32.
// One output, one accumulator: decode, prefill and every split of the work share the order for free.
type Dense struct{ w packedPanels }

// NewDense makes room for W [rows, cols]; Pack fills it.
func NewDense(format DenseFormat, rows, cols int) *Dense {
	if format > DenseF16 || rows <= 0 || cols <= 0 {
		panic(fmt.Sprintf("kernels: NewDense(%d, %d, %d)", format, rows, cols))
	}
	return &Dense{newPackedPanels(format, rows, cols)}
}

// Pack repacks panels p0..p1 from src, the whole tensor as in the checkpoint: row-major, little-endian. Panels are
// independent, so calls may run side by side.
func (d *Dense) Pack(src []byte, p0, p1 int) { d.w.pack(src, p0, p1) }

func (d *Dense) Rows() int          { return d.w.rows }
func (d *Dense) Cols() int          { return d.w.cols }
func (d *Dense) Bytes() int         { return len(d.w.data) }
func (d *Dense) InputKey() InputKey { return InputKey{Kind: InputF32} }

// Prepare sets in.X = x in the call that includes row 0.
func (d *Dense) Prepare(in *Input, x []float32, r0, r1 int) { aliasInput(in, x, r0, r1) }

func aliasInput(in *Input, x []float32, r0, r1 int) {
	if r0 == 0 && r1 > 0 {
		in.X = x[:in.Rows*in.Cols]
	}
}

func (d *Dense) Mul(y []float32, stride int, in *Input, p0, p1 int, s *Scratch) {
	d.w.checkMul(y, stride, in, p0, p1)
	switch {
	case level == Generic:
		d.mulReference(y, stride, in, p0, p1)
	case in.Rows == 1:
		d.w.mulRow(y, in.X, p0, p1, s, nil)
	default:
		d.w.mulRows(y, stride, in, p0, p1, s, tileCols, nil)
	}
}

// mulReference defines the bits of Mul.
func (d *Dense) mulReference(y []float32, stride int, in *Input, p0, p1 int) {
	for p := p0; p < p1; p++ {
		for t := range in.Rows {
			var acc [PanelRows]float32
			d.w.chain(&acc, in.X[t*in.Cols:], p, 0, d.w.cols)
			o := p * PanelRows
			copy(y[t*stride+o:][:min(PanelRows, d.w.rows-o)], acc[:])
		}
	}
}

func (w *packedPanels) checkMul(y []float32, stride int, in *Input, p0, p1 int) {
	switch {
	case p0 < 0 || p0 > p1 || p1*w.panelBytes > len(w.data):
		panic(fmt.Sprintf("kernels: panels %d..%d of [%d, %d]", p0, p1, w.rows, w.cols))
	case in.Cols != w.cols || len(in.X) < in.Rows*in.Cols:
		panic(fmt.Sprintf("kernels: input [%d, %d] with %d values for a matrix [%d, %d]", in.Rows, in.Cols, len(in.X), w.rows, w.cols))
	case in.Rows > 0 && p0 < p1 && len(y) < (in.Rows-1)*stride+min(p1*PanelRows, w.rows):
		panic(fmt.Sprintf("kernels: %d outputs for %d rows of stride %d", len(y), in.Rows, stride))
	}
}

func init() {
	registerCheck("dense", func() error {
		for _, format := range []DenseFormat{DenseF32, DenseBF16, DenseF16} {
			d := NewDense(format, 83, 141)
			for i := range d.w.data {
				d.w.data[i] = byte(i*37) & 0xBF // bit 14 of every value is clear: none is infinite
			}
			if err := checkMul(d, d.mulReference); err != nil {
				return fmt.Errorf("%v: %w", format, err)
			}
		}
		return nil
	})
}

// checkMul compares Mul with the reference: one row, few rows, tiles.
func checkMul(m Matrix, reference func(y []float32, stride int, in *Input, p0, p1 int)) error {
	for _, rows := range []int{1, 2, 3, 4, 15, 33} {
		var in Input
		in.Resize(m.InputKey(), rows, m.Cols())
		x := make([]float32, rows*m.Cols())
		for i := range x {
			x[i] = float32(i*29%101-50) / 64
		}
		m.Prepare(&in, x, 0, rows)
		got, want := make([]float32, rows*m.Rows()), make([]float32, rows*m.Rows())
		m.Mul(got, m.Rows(), &in, 0, Panels(m), new(Scratch))
		reference(want, m.Rows(), &in, 0, Panels(m))
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				return fmt.Errorf("row %d output %d is %v, want %v", i/m.Rows(), i%m.Rows(), got[i], want[i])
			}
		}
	}
	return nil
}
