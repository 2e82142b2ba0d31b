package kernels

import "unsafe"

// chunkBytes of prepared activations that are multiplied by one panel after the other: they stay in a second-level cache.
const chunkBytes = 512 << 10

// mulVector multiplies with assembly, if the level has any: one row straight from the stored codes, more by way of a panel
// unpacked to bytes. It returns false for Generic.
func (m *NVFP4) mulVector(y []float32, stride int, in *Input, p0, p1 int, s *Scratch) bool {
	if level == Generic {
		return false
	}
	if in.Rows == 1 {
		m.mulRow(y, in, p0, p1, s)
		return true
	}
	size := m.blocks * int(unsafe.Sizeof(E2M1Block{}))
	if m.key.Kind == InputFixed24 {
		size = m.blocks * int(unsafe.Sizeof(Fixed24Block{}))
	}
	chunk := max(16, chunkBytes/size&^7)
	s.unpacked = growAligned(s.unpacked, m.blocks*unpackedBytes)
	for t0 := 0; t0 < in.Rows; t0 += chunk {
		for p := p0; p < p1; p++ {
			at := p * m.blocks
			unpackNVFP4AVX2(&s.unpacked[0], &m.codes[at*nvfp4BlockBytes], &m.scales[at*PanelRows], m.blocks)
			m.mulPanel(y, stride, in, p, t0, min(t0+chunk, in.Rows), size, s)
		}
	}
	return true
}

// mulPanel multiplies rows t0..t1 by an unpacked panel.
func (m *NVFP4) mulPanel(y []float32, stride int, in *Input, p, t0, t1, rowBytes int, s *Scratch) {
	short := m.rows-p*PanelRows < PanelRows
	a := &s.nvfp4
	*a = nvfp4Args{w: unsafe.Pointer(&s.unpacked[0]), xStride: uintptr(rowBytes), blocks: uintptr(m.blocks), out: m.out}
	for t := t0; t < t1; {
		n, kernel := m.tileKernel(t1 - t)
		a.x = m.activations(in, t)
		if short {
			a.y, a.yStride = unsafe.Pointer(&s.panel[0]), 4*PanelRows
		} else {
			a.y, a.yStride = unsafe.Pointer(&y[t*stride+p*PanelRows]), uintptr(4*stride)
		}
		kernel(a)
		if short {
			for i := range n {
				copy(y[(t+i)*stride+p*PanelRows:(t+i)*stride+m.rows], s.panel[i*PanelRows:])
			}
		}
		t += n
	}
}

func (m *NVFP4) activations(in *Input, t int) unsafe.Pointer {
	if m.key.Kind == InputE2M1 {
		return unsafe.Pointer(&in.E2M1[t*m.blocks])
	}
	return unsafe.Pointer(&in.Fixed24[t*m.blocks])
}

// tileKernel is the loop for the most rows that does not exceed the given number.
func (m *NVFP4) tileKernel(rows int) (int, func(*nvfp4Args)) {
	e2m1 := m.key.Kind == InputE2M1
	if level == AVX512 {
		switch {
		case e2m1 && rows >= 8:
			return 8, e2m1x8AVX512
		case e2m1 && rows >= 4:
			return 4, e2m1x4AVX512
		case e2m1:
			return 1, e2m1x1AVX512
		case rows >= 4:
			return 4, fixed24x4AVX512
		}
		return 1, fixed24x1AVX512
	}
	switch {
	case e2m1 && rows >= 6:
		return 6, e2m1x6AVX2
	case e2m1:
		return 1, e2m1x1AVX2
	case rows >= 4:
		return 4, fixed24x4AVX2
	}
	return 1, fixed24x1AVX2
}

// mulRow multiplies one row straight from the stored codes.
func (m *NVFP4) mulRow(y []float32, in *Input, p0, p1 int, s *Scratch) {
	kernel := rowE2M1AVX2
	switch {
	case level == AVX512 && m.key.Kind == InputE2M1:
		kernel = rowE2M1AVX512
	case level == AVX512:
		kernel = rowFixed24AVX512
	case m.key.Kind == InputFixed24:
		kernel = rowFixed24AVX2
	}
	a := &s.nvfp4
	*a = nvfp4Args{x: m.activations(in, 0), blocks: uintptr(m.blocks), out: m.out}
	for p := p0; p < p1; p++ {
		at := p * m.blocks
		a.w, a.scales = unsafe.Pointer(&m.codes[at*nvfp4BlockBytes]), unsafe.Pointer(&m.scales[at*PanelRows])
		short := m.rows-p*PanelRows < PanelRows
		if short {
			a.y = unsafe.Pointer(&s.panel[0])
		} else {
			a.y = unsafe.Pointer(&y[p*PanelRows])
		}
		kernel(a)
		if short {
			copy(y[p*PanelRows:m.rows], s.panel[:])
		}
	}
}

func quantizeE2M1(dst []E2M1Block, x []float32, gs float32) {
	if level == Generic || len(dst) == 0 {
		quantizeE2M1Reference(dst, x, gs)
		return
	}
	_ = x[len(dst)*BlockCols-1]
	quantizeE2M1AVX2(&dst[0], &x[0], len(dst), gs)
}

func fixed24(dst []Fixed24Block, x []float32) {
	if level == Generic || len(dst) == 0 {
		fixed24Reference(dst, x)
		return
	}
	_ = x[len(dst)*BlockCols-1]
	fixed24AVX2(&dst[0], &x[0], len(dst))
}

// unpackNVFP4AVX2 writes blocks of a panel as unpackedBytes each: values + 12 as bytes [4 quads of columns][16 rows][4], then
// the 16 scales divided by 2⁸ as float32.
//
//go:noescape
func unpackNVFP4AVX2(dst, codes, scales *byte, blocks int)

//go:noescape
func quantizeE2M1AVX2(dst *E2M1Block, x *float32, blocks int, gs float32)

//go:noescape
func fixed24AVX2(dst *Fixed24Block, x *float32, blocks int)

// Loops over an unpacked panel, by kind of activations and number of rows.

//go:noescape
func e2m1x8AVX512(a *nvfp4Args)

//go:noescape
func e2m1x4AVX512(a *nvfp4Args)

//go:noescape
func e2m1x1AVX512(a *nvfp4Args)

//go:noescape
func fixed24x4AVX512(a *nvfp4Args)

//go:noescape
func fixed24x1AVX512(a *nvfp4Args)

//go:noescape
func e2m1x6AVX2(a *nvfp4Args)

//go:noescape
func e2m1x1AVX2(a *nvfp4Args)

//go:noescape
func fixed24x4AVX2(a *nvfp4Args)

//go:noescape
func fixed24x1AVX2(a *nvfp4Args)

// Loops over a stored panel for one row.

//go:noescape
func rowE2M1AVX512(a *nvfp4Args)

//go:noescape
func rowFixed24AVX512(a *nvfp4Args)

//go:noescape
func rowE2M1AVX2(a *nvfp4Args)

//go:noescape
func rowFixed24AVX2(a *nvfp4Args)
