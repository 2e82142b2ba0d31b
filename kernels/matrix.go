package kernels

import "unsafe"

// PanelRows is how many output rows are stored together: a lane is an output row.
const PanelRows = 16

// BlockCols is the length of an NVFP4 block along the input.
const BlockCols = 16

// GroupCols is the edge of an FP8 weight block and the length of its activation groups.
const GroupCols = 128

// Matrix is W [rows, cols], repacked at load so that 16 output rows are read together.
//
// A product is computed in two steps, so that matrices with the same InputKey share the first: Prepare turns activation
// rows into what the format multiplies (codes, digits or floats), Mul multiplies a range of panels. Rows and panels are
// independent, so both steps may be split over threads in any way.
type Matrix interface {
	Rows() int
	Cols() int
	// Bytes is what one pass over the matrix reads.
	Bytes() int
	// InputKey says how Prepare treats activations.
	InputKey() InputKey
	// Prepare fills rows r0..r1 of in from x [in.Rows, cols]. in was sized by in.Resize with this matrix's key. InputF32
	// copies nothing: the call that includes row 0 sets in.X = x, the others do nothing, so x must stay until Mul is done.
	Prepare(in *Input, x []float32, r0, r1 int)
	// Mul computes y[t*stride+o] = Σ_i W[o,i]·x[t,i] for all in.Rows rows t and the output rows o of panels p0..p1
	// (PanelRows each, the last may be short). s is scratch of one thread.
	Mul(y []float32, stride int, in *Input, p0, p1 int, s *Scratch)
}

// Panels is the number of panels of m.
func Panels(m Matrix) int { return (m.Rows() + PanelRows - 1) / PanelRows }

// InputKind says what a matrix multiplies with.
type InputKind uint8

const (
	InputF32        InputKind = iota // float32 as they are
	InputE2M1                        // NVFP4: static tensor scale, one E4M3 scale per 16
	InputFixed24                     // NVFP4 weight-only: 24-bit fixed point per 16, as three signed bytes
	InputE4M3                        // FP8: static tensor scale
	InputE4M3Row                     // FP8: one dynamic scale per row
	InputE4M3Groups                  // FP8: one dynamic scale per row and 128 columns
)

// InputKey identifies a treatment of activations: matrices with equal keys and columns share an Input.
type InputKey struct {
	Kind  InputKind
	Scale float32 // static input scale, 0 where there is none
}

// Input is T activation rows prepared for matrices of one key. Its slices are reused from step to step.
type Input struct {
	Key        InputKey
	Rows, Cols int
	X          []float32      // [Rows, Cols]: values for float kernels (E4M3 kinds: the rounded values, unscaled; InputF32: the caller's)
	RowScale   []float32      // [Rows], InputE4M3Row
	GroupScale []float32      // [Rows, ceil(Cols/128)], InputE4M3Groups
	E2M1       []E2M1Block    // [Rows, Cols/16], InputE2M1
	Fixed24    []Fixed24Block // [Rows, Cols/16], InputFixed24
	rounded    []float32      // what X points to in the E4M3 kinds; X itself may be the caller's
}

// Resize makes room for rows × cols under key, growing only. Contents are undefined.
func (in *Input) Resize(key InputKey, rows, cols int) {
	in.Key, in.Rows, in.Cols = key, rows, cols
	blocks := (cols + BlockCols - 1) / BlockCols
	switch key.Kind {
	case InputE2M1:
		in.E2M1 = grow(in.E2M1, rows*blocks)
	case InputFixed24:
		in.Fixed24 = grow(in.Fixed24, rows*blocks)
	case InputE4M3Row:
		in.rounded, in.RowScale = grow(in.rounded, rows*cols), grow(in.RowScale, rows)
		in.X = in.rounded
	case InputE4M3Groups:
		in.rounded = grow(in.rounded, rows*cols)
		in.GroupScale = grow(in.GroupScale, rows*((cols+GroupCols-1)/GroupCols))
		in.X = in.rounded
	case InputE4M3:
		in.rounded = grow(in.rounded, rows*cols)
		in.X = in.rounded
	default:
		in.X = nil
	}
}

// Scratch is working memory of one thread, kept between calls.
type Scratch struct {
	floats    []float32
	unpacked  []byte                  // an NVFP4 panel as bytes
	panel     [12 * PanelRows]float32 // outputs of a tile whose panel reaches beyond the last row
	nvfp4     nvfp4Args               // here, since what a function value is given would be allocated
	lastPanel [PanelRows]float32      // outputs of a panel that reaches beyond the last row
}

func grow[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n, n+n/4)
}

// alignedBytes makes n bytes that start on a cache line.
func alignedBytes(n int) []byte {
	const line = 64
	b := make([]byte, n+line-1)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (line - 1)
	return b[skip : skip+n : skip+n]
}

func growAligned(b []byte, n int) []byte {
	if len(b) >= n {
		return b
	}
	return alignedBytes(n + n/4)
}
