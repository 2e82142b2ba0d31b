//go:build amd64 || arm64

package kernels

import "unsafe"

// An nvfp4KernelSet holds the kernels of one level and kind of activations, by number of rows from 1. stored multiply a
// panel as it is stored; unpacked a copy as bytes, which pays off where unpacking competes with multiplying, and for more
// rows than stored takes.
type nvfp4KernelSet struct{ stored, unpacked []nvfp4Kernel }

type nvfp4Kernel func(*nvfp4Args)

// chunkBytes of prepared activations are multiplied by one panel after the other: they stay in a second-level cache.
const chunkBytes = 512 << 10

// mulVector multiplies with assembly, if the level has any. It returns false for Generic.
func (m *NVFP4) mulVector(y []float32, stride int, in *Input, p0, p1 int, s *Scratch) bool {
	if level == Generic {
		return false
	}
	set := nvfp4Kernels(m.key.Kind)
	kernels := set.stored
	unpack := in.Rows > len(set.stored) && set.unpacked != nil
	if unpack {
		kernels = set.unpacked
		s.unpacked = growAligned(s.unpacked, m.blocks*unpackedBytes)
	}
	size := m.blocks * int(unsafe.Sizeof(E2M1Block{}))
	if m.key.Kind == InputFixed24 {
		size = m.blocks * int(unsafe.Sizeof(Fixed24Block{}))
	}
	a := &s.nvfp4
	*a = nvfp4Args{xStride: uintptr(size), blocks: uintptr(m.blocks), out: m.out}
	chunk := max(1, chunkBytes/size/len(kernels)) * len(kernels)
	for t0 := 0; t0 < in.Rows; t0 += chunk {
		for p := p0; p < p1; p++ {
			at := p * m.blocks
			a.w, a.scales = unsafe.Pointer(&m.codes[at*nvfp4BlockBytes]), unsafe.Pointer(&m.scales[at*PanelRows])
			if unpack {
				unpackNVFP4(&s.unpacked[0], &m.codes[at*nvfp4BlockBytes], &m.scales[at*PanelRows], m.blocks)
				a.w = unsafe.Pointer(&s.unpacked[0])
			}
			m.mulPanel(y, stride, in, p, t0, min(t0+chunk, in.Rows), kernels, s)
		}
	}
	*a = nvfp4Args{} // s must not keep y and in alive
	return true
}

// mulPanel multiplies rows t0..t1 by a panel, in as few tiles as the kernels allow, all about the same size.
func (m *NVFP4) mulPanel(y []float32, stride int, in *Input, p, t0, t1 int, kernels []nvfp4Kernel, s *Scratch) {
	a, rows := &s.nvfp4, t1-t0
	short := m.rows-p*PanelRows < PanelRows
	tiles := (rows + len(kernels) - 1) / len(kernels)
	for i := range tiles {
		t, n := t0+rows*i/tiles, rows*(i+1)/tiles-rows*i/tiles
		a.x = m.activations(in, t)
		if short {
			a.y, a.yStride = unsafe.Pointer(&s.panel[0]), 4*PanelRows
		} else {
			a.y, a.yStride = unsafe.Pointer(&y[t*stride+p*PanelRows]), uintptr(4*stride)
		}
		kernels[n-1](a)
		for k := range n {
			if short {
				copy(y[(t+k)*stride+p*PanelRows:(t+k)*stride+m.rows], s.panel[k*PanelRows:])
			}
		}
	}
}

func (m *NVFP4) activations(in *Input, t int) unsafe.Pointer {
	if m.key.Kind == InputE2M1 {
		return unsafe.Pointer(&in.E2M1[t*m.blocks])
	}
	return unsafe.Pointer(&in.Fixed24[t*m.blocks])
}
