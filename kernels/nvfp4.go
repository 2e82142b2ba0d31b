package kernels

import (
	"fmt"
	"unsafe"
)

// NVFP4 is a matrix of E2M1 codes with one E4M3 scale per 16 columns and one float32 scale.
//
// Order of sums, per output row, over ascending blocks b of 16 columns from acc = 0:
//
//	d   = Σ w·x over the block, exact in int32 (w doubled; x doubled codes, or fixed point)
//	acc = fma(float32(d), sw·sx, acc)            the product of the two block scales is exact
//
// and y = acc · c, where c = input_scale · scale, rounded once (InputE2M1), or scale (InputFixed24).
type NVFP4 struct {
	rows, cols, blocks int
	key                InputKey
	out                float32 // c
	gs                 float32 // 1/input_scale
	codes              []byte  // [panel][block][128], see packBlock
	scales             []byte  // [panel][block][16], E4M3
}

const (
	nvfp4BlockBytes = PanelRows * BlockCols / 2
	unpackedBytes   = PanelRows*BlockCols + 4*PanelRows // a block as assembly multiplies it: bytes, then float32 scales
)

// NewNVFP4 makes room for a matrix; Pack fills it. scale multiplies every weight. key is InputE2M1 with the activations'
// tensor scale, or InputFixed24.
func NewNVFP4(rows, cols int, scale float32, key InputKey) (*NVFP4, error) {
	if cols%BlockCols != 0 || rows < 1 || cols < 1 {
		return nil, fmt.Errorf("NVFP4 matrix of %d × %d: columns must be a multiple of %d", rows, cols, BlockCols)
	}
	m := &NVFP4{rows: rows, cols: cols, blocks: cols / BlockCols, key: key, out: scale}
	switch key.Kind {
	case InputE2M1:
		if !(key.Scale >= 0x1p-100 && key.Scale <= 0x1p100) {
			return nil, fmt.Errorf("NVFP4 matrix of %d × %d: activation scale %v is out of range", rows, cols, key.Scale)
		}
		m.gs, m.out = 1/key.Scale, key.Scale*scale
	case InputFixed24:
	default:
		return nil, fmt.Errorf("NVFP4 matrices take activations in E2M1 or fixed point, not kind %d", key.Kind)
	}
	panels := (rows + PanelRows - 1) / PanelRows
	m.codes = alignedBytes(panels * m.blocks * nvfp4BlockBytes)
	m.scales = alignedBytes(panels * m.blocks * PanelRows)
	return m, nil
}

// Pack repacks panels p0..p1 from a checkpoint's codes [rows, cols/2], even columns in low nibbles, and E4M3 block scales
// [rows, cols/16]. A scale that is NaN or negative is an error.
func (m *NVFP4) Pack(codes, scales []byte, p0, p1 int) error {
	if len(codes) != m.rows*m.cols/2 || len(scales) != m.rows*m.blocks {
		return fmt.Errorf("NVFP4 matrix of %d × %d: %d bytes of codes and %d scales", m.rows, m.cols, len(codes), len(scales))
	}
	for p := p0; p < p1; p++ {
		for r := range min(PanelRows, m.rows-p*PanelRows) {
			row := p*PanelRows + r
			src, sc := codes[row*m.cols/2:(row+1)*m.cols/2], scales[row*m.blocks:(row+1)*m.blocks]
			for b, s := range sc {
				if s >= 0x7F {
					return fmt.Errorf("block scale of row %d, columns %d..%d is NaN or negative (code %#02x)",
						row, b*BlockCols, (b+1)*BlockCols-1, s)
				}
				at := p*m.blocks + b
				m.scales[at*PanelRows+r] = s
				packBlock(m.codes[at*nvfp4BlockBytes:(at+1)*nvfp4BlockBytes], src[b*8:b*8+8], r)
			}
		}
	}
	return nil
}

// packBlock places 16 codes of row r: half h of the block has 4 bytes a row, whose low nibbles are columns 8h..8h+3 and whose
// high nibbles are columns 8h+4..8h+7, so that one shift and mask give 4 neighbouring columns of each of 16 rows.
func packBlock(dst, src []byte, r int) {
	for h := range 2 {
		a, b, c, d := src[4*h], src[4*h+1], src[4*h+2], src[4*h+3]
		o := dst[64*h+4*r : 64*h+4*r+4]
		o[0] = a&15 | c<<4
		o[1] = a>>4 | c&0xF0
		o[2] = b&15 | d<<4
		o[3] = b>>4 | d&0xF0
	}
}

func (m *NVFP4) Rows() int          { return m.rows }
func (m *NVFP4) Cols() int          { return m.cols }
func (m *NVFP4) Bytes() int         { return len(m.codes) + len(m.scales) }
func (m *NVFP4) InputKey() InputKey { return m.key }

// Prepare implements Matrix.
func (m *NVFP4) Prepare(in *Input, x []float32, r0, r1 int) {
	rows := x[r0*m.cols : r1*m.cols]
	if m.key.Kind == InputE2M1 {
		quantizeE2M1(in.E2M1[r0*m.blocks:r1*m.blocks], rows, m.gs)
	} else {
		fixed24(in.Fixed24[r0*m.blocks:r1*m.blocks], rows)
	}
}

// Mul implements Matrix.
func (m *NVFP4) Mul(y []float32, stride int, in *Input, p0, p1 int, s *Scratch) {
	if in.Key != m.key || in.Cols != m.cols || p0 < 0 || p1 > Panels(m) || stride < m.rows && in.Rows > 1 ||
		in.Rows > 0 && len(y) < (in.Rows-1)*stride+min(p1*PanelRows, m.rows) {
		panic(fmt.Sprintf("kernels: NVFP4 product of %d × %d, panels %d..%d with %d rows of %d, key %v, %d outputs by %d",
			m.rows, m.cols, p0, p1, in.Rows, in.Cols, in.Key, len(y), stride))
	}
	if in.Rows == 0 || p0 >= p1 {
		return
	}
	if !m.mulVector(y, stride, in, p0, p1, s) {
		m.mulReference(y, stride, in, p0, p1)
	}
}

// weight is code (row r of panel p, column i) doubled.
func (m *NVFP4) weight(p, b, r, i int) int32 {
	h, j := i/8, i%8
	c := m.codes[(p*m.blocks+b)*nvfp4BlockBytes+64*h+4*r+j%4] >> (j / 4 * 4)
	if v := int32(e2m1Values[c&7]); c&8 == 0 {
		return v
	} else {
		return -v
	}
}

func (m *NVFP4) mulReference(y []float32, stride int, in *Input, p0, p1 int) {
	var w [BlockCols]int32
	for p := p0; p < p1; p++ {
		for r := range min(PanelRows, m.rows-p*PanelRows) {
			o := p*PanelRows + r
			for t := range in.Rows {
				y[t*stride+o] = 0
			}
			for b := range m.blocks {
				for i := range w {
					w[i] = m.weight(p, b, r, i)
				}
				sw := E4M3ToF32(m.scales[(p*m.blocks+b)*PanelRows+r]) * 0x1p-8
				for t := range in.Rows {
					d, sx := m.blockDot(&w, in, t*m.blocks+b)
					y[t*stride+o] = fma32(float32(d), sw*sx, y[t*stride+o])
				}
			}
			for t := range in.Rows {
				y[t*stride+o] *= m.out
			}
		}
	}
}

// blockDot is the exact product of a block of weights with activation block at, and that block's scale.
func (m *NVFP4) blockDot(w *[BlockCols]int32, in *Input, at int) (d int32, scale float32) {
	if m.key.Kind == InputE2M1 {
		x := &in.E2M1[at]
		for i, c := range x.Codes {
			d += w[i] * int32(c)
		}
		return d, x.Scale
	}
	x := &in.Fixed24[at]
	for i := range w {
		d += w[i] * (int32(x.Digits[2][i])<<16 + int32(x.Digits[1][i])<<8 + int32(x.Digits[0][i]))
	}
	return d, x.Scale
}

// nvfp4Args of an assembly loop over the blocks of one panel, for a fixed number of activation rows.
type nvfp4Args struct {
	w       unsafe.Pointer // unpacked blocks, or the matrix's codes (row kernels)
	scales  unsafe.Pointer // the matrix's block scales (row kernels)
	x       unsafe.Pointer // first activation row's blocks
	xStride uintptr        // bytes from one row's blocks to the next
	y       unsafe.Pointer // [rows][16] results
	yStride uintptr        // bytes
	blocks  uintptr
	out     float32 // c

	// Codes and scales of the panel after this one, which loops over an unpacked panel fetch.
	next, nextScales unsafe.Pointer
}
