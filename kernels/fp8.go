package kernels

import (
	"encoding/binary"
	"fmt"
)

// FP8Scheme says what the scales of an FP8 matrix belong to.
type FP8Scheme uint8

const (
	FP8PerTensor  FP8Scheme = iota // one scale
	FP8PerChannel                  // one per output row
	FP8Block128                    // [ceil(rows/128), ceil(cols/128)], one per block of 128 × 128
)

var fp8SchemeNames = [...]string{FP8PerTensor: "per tensor", FP8PerChannel: "per channel", FP8Block128: "block 128"}

func (s FP8Scheme) String() string { return fp8SchemeNames[s] }

// FP8 is a matrix of E4M3 weights.
//
// Order of sums: a chain is p = fma(w, x[i], p) from zero over ascending columns, where w is the E4M3 value divided by 256
// (see packedPanels.lanes) and x the float32 or the rounded activation without its scale.
//
// Per tensor and per channel there is one chain over all columns, and y[o] = p · c[o], c[o] = (input_scale · weight_scale) ·
// 256 with input_scale 1 where it is not static; InputE4M3Row multiplies that once more by the row's scale.
//
// Blocks: y[o] starts at zero and y[o] = fma(p, c, y[o]) for ascending blocks b of 128 columns, c = (group scale ·
// weight_scale[o/128, b]) · 256, or weight_scale · 256 with InputF32.
type FP8 struct {
	w      packedPanels
	scheme FP8Scheme
	key    InputKey
	blocks int       // along the columns, FP8Block128
	scales []float32 // one per output row, or [ceil(rows/128), blocks] unmultiplied
}

// fp8Unshift undoes the division of the weights by 256.
const fp8Unshift = 256

// NewFP8 makes room for W [rows, cols]; Pack fills it. scales has the length its scheme says. key is the treatment of
// activations: InputF32; per tensor and per channel also InputE4M3 (key.Scale = input_scale) and InputE4M3Row; blocks also
// InputE4M3Groups.
func NewFP8(rows, cols int, scheme FP8Scheme, scales []float32, key InputKey) (*FP8, error) {
	if scheme > FP8Block128 || rows <= 0 || cols <= 0 {
		panic(fmt.Sprintf("kernels: NewFP8(%d, %d, %d)", rows, cols, scheme))
	}
	if err := checkFP8Scales(rows, cols, scheme, scales, key); err != nil {
		return nil, err
	}
	f := &FP8{newPackedPanels(denseE4M3, rows, cols), scheme, key, groups(cols), nil}
	if scheme == FP8Block128 {
		f.scales = append(f.scales, scales...)
		return f, nil
	}
	input := float32(1)
	if key.Kind == InputE4M3 {
		input = key.Scale
	}
	for o := range rows {
		c := input * scales[o%len(scales)] * fp8Unshift
		if !finite(c) {
			return nil, fmt.Errorf("FP8 %v scale %v with input scale %v is out of range", scheme, scales[o%len(scales)], input)
		}
		f.scales = append(f.scales, c)
	}
	return f, nil
}

func groups(n int) int { return (n + GroupCols - 1) / GroupCols }

func finite(f float32) bool { return f-f == 0 }

func checkFP8Scales(rows, cols int, scheme FP8Scheme, scales []float32, key InputKey) error {
	want := 1
	kinds := []InputKind{InputF32, InputE4M3, InputE4M3Row}
	switch scheme {
	case FP8PerChannel:
		want = rows
	case FP8Block128:
		want = groups(rows) * groups(cols)
		kinds = []InputKind{InputF32, InputE4M3Groups}
	}
	if len(scales) != want {
		return fmt.Errorf("FP8 %v scales of [%d, %d]: %d values, want %d", scheme, rows, cols, len(scales), want)
	}
	for i, s := range scales {
		if !finite(s * fp8Unshift) {
			return fmt.Errorf("FP8 %v scale %d is %v: want a finite number below 2^120", scheme, i, s)
		}
	}
	for _, k := range kinds {
		if key.Kind == k {
			if k == InputE4M3 && !(finite(key.Scale) && key.Scale > 0) {
				return fmt.Errorf("FP8 input scale is %v: want a positive finite number", key.Scale)
			}
			return nil
		}
	}
	return fmt.Errorf("FP8 %v weights do not multiply activations of kind %d", scheme, key.Kind)
}

// Pack repacks panels p0..p1 from src, the whole tensor as in the checkpoint: row-major. Panels are independent, so calls
// may run side by side. A NaN code is an error, since it would silently spoil every output it meets.
func (f *FP8) Pack(src []byte, p0, p1 int) error {
	f.w.checkPanels(src, p0, p1)
	for row := p0 * PanelRows; row < min(p1*PanelRows, f.w.rows); row++ {
		if col := nanCode(src[row*f.w.cols:][:f.w.cols]); col >= 0 {
			return fmt.Errorf("FP8 weight at row %d, column %d is NaN (code %#02x)", row, col, src[row*f.w.cols+col])
		}
	}
	f.w.pack(src, p0, p1)
	return nil
}

// nanCode is the index of the first E4M3 NaN, 0x7F or 0xFF, or -1.
func nanCode(codes []byte) int {
	const low7, high = 0x7F7F7F7F7F7F7F7F, 0x8080808080808080
	for i := 0; i < len(codes); i++ {
		for len(codes)-i >= 8 && (binary.LittleEndian.Uint64(codes[i:])&low7+low7/127)&high == 0 {
			i += 8
		}
		if i < len(codes) && codes[i]&0x7F == 0x7F {
			return i
		}
	}
	return -1
}

func (f *FP8) Rows() int          { return f.w.rows }
func (f *FP8) Cols() int          { return f.w.cols }
func (f *FP8) Bytes() int         { return len(f.w.data) + 4*len(f.scales) }
func (f *FP8) InputKey() InputKey { return f.key }

// Prepare rounds rows r0..r1 to E4M3 as the key says; with InputF32 it sets in.X = x in the call that includes row 0.
func (f *FP8) Prepare(in *Input, x []float32, r0, r1 int) {
	if f.key.Kind == InputF32 {
		aliasInput(in, x, r0, r1)
		return
	}
	for t := r0; t < r1; t++ {
		row, to := x[t*in.Cols:][:in.Cols], in.X[t*in.Cols:][:in.Cols]
		switch f.key.Kind {
		case InputE4M3:
			roundE4M3(to, row, f.key.Scale)
		case InputE4M3Row:
			in.RowScale[t] = dynamicScale(row)
			roundE4M3(to, row, in.RowScale[t])
		case InputE4M3Groups:
			n := groups(in.Cols)
			for g := range n {
				c0, c1 := g*GroupCols, min((g+1)*GroupCols, in.Cols)
				in.GroupScale[t*n+g] = dynamicScale(row[c0:c1])
				roundE4M3(to[c0:c1], row[c0:c1], in.GroupScale[t*n+g])
			}
		}
	}
}

func (f *FP8) Mul(y []float32, stride int, in *Input, p0, p1 int, s *Scratch) {
	f.w.checkMul(y, stride, in, p0, p1)
	blocked := f.scheme == FP8Block128
	switch {
	case level == Generic:
		f.mulReference(y, stride, in, p0, p1)
		return
	case blocked && in.Rows == 1:
		f.mulRowBlocks(y, in, p0, p1, s)
	case blocked:
		f.w.mulRows(y, stride, in, p0, p1, s, GroupCols, f)
	case in.Rows == 1:
		f.w.mulRow(y, in.X, p0, p1, s, nil)
	default:
		f.w.mulRows(y, stride, in, p0, p1, s, tileCols, nil)
	}
	if !blocked {
		f.scaleOutputs(y, stride, in, p0, p1)
	}
}

// mulRowBlocks multiplies group by group of 128 output rows, whose block scales are the same.
func (f *FP8) mulRowBlocks(y []float32, in *Input, p0, p1 int, s *Scratch) {
	s.floats = grow(s.floats, f.blocks)
	scale := s.floats
	for p := p0; p < p1; {
		end := min(p1, (p/panelsPerGroup+1)*panelsPerGroup)
		for b := range scale {
			f.blockScales(scale[b:b+1], in, 0, p, b)
		}
		f.w.mulRow(y, in.X, p, end, s, scale)
		p = end
	}
}

// blockScales is what the sums of block b are multiplied by in panel p, for the rows of in from t0 on.
func (f *FP8) blockScales(dst []float32, in *Input, t0, p, b int) {
	weight := f.scales[p/panelsPerGroup*f.blocks+b]
	for t := range dst {
		if f.key.Kind == InputE4M3Groups {
			dst[t] = in.GroupScale[(t0+t)*f.blocks+b] * weight * fp8Unshift
		} else {
			dst[t] = weight * fp8Unshift
		}
	}
}

// scaleOutputs applies the scales that belong to a whole row of weights or activations.
func (f *FP8) scaleOutputs(y []float32, stride int, in *Input, p0, p1 int) {
	o0, o1 := p0*PanelRows, min(p1*PanelRows, f.w.rows)
	for t := range in.Rows {
		out, scales := y[t*stride+o0:][:o1-o0], f.scales[o0:o1]
		if f.key.Kind == InputE4M3Row {
			row := in.RowScale[t]
			for i := range out {
				out[i] = out[i] * scales[i] * row
			}
			continue
		}
		for i := range out {
			out[i] *= scales[i]
		}
	}
}

// mulReference defines the bits of Mul.
func (f *FP8) mulReference(y []float32, stride int, in *Input, p0, p1 int) {
	block := f.w.cols
	if f.scheme == FP8Block128 {
		block = GroupCols
	}
	var scale [1]float32
	for p := p0; p < p1; p++ {
		for t := range in.Rows {
			x := in.X[t*in.Cols:][:in.Cols]
			var out, sum [PanelRows]float32
			for c0 := 0; c0 < f.w.cols; c0 += block {
				sum = [PanelRows]float32{}
				f.w.chain(&sum, x, p, c0, min(c0+block, f.w.cols))
				if f.scheme == FP8Block128 {
					f.blockScales(scale[:], in, t, p, c0/GroupCols)
					for r := range out {
						out[r] = fma32(sum[r], scale[0], out[r])
					}
				} else {
					out = sum
				}
			}
			o := p * PanelRows
			copy(y[t*stride+o:][:min(PanelRows, f.w.rows-o)], out[:])
		}
	}
	if f.scheme != FP8Block128 {
		f.scaleOutputs(y, stride, in, p0, p1)
	}
}

func init() {
	registerCheck("fp8", func() error {
		x := checkVector(333, 6)
		if got, want := absMax(x), absMaxReference(x); got != want {
			return fmt.Errorf("largest magnitude is %v, want %v", got, want)
		}
		rounded, wantRounded := make([]float32, len(x)), make([]float32, len(x))
		roundE4M3(rounded, x, 0.003) // some are cut at 448, some below the smallest normal number
		roundE4M3Reference(wantRounded, x, 0.003)
		if err := checkSame(rounded, wantRounded); err != nil {
			return fmt.Errorf("activations in E4M3: %w", err)
		}
		const rows, cols = 150, 331
		for scheme, kind := range []InputKind{InputE4M3, InputE4M3Row, InputE4M3Groups} {
			scales := make([]float32, []int{1, rows, groups(rows) * groups(cols)}[scheme])
			for i := range scales {
				scales[i] = 1 / float32(i+3)
			}
			f, err := NewFP8(rows, cols, FP8Scheme(scheme), scales, InputKey{kind, 0.03})
			if err != nil {
				return err
			}
			for i := range f.w.data {
				f.w.data[i] = byte(i*37) & 0xF7 // no NaN
			}
			if err := checkMul(f, f.mulReference); err != nil {
				return fmt.Errorf("%v: %w", FP8Scheme(scheme), err)
			}
		}
		return nil
	})
}
