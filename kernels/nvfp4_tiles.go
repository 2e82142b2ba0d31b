//go:build amd64 || arm64

package kernels

import "unsafe"

// An nvfp4KernelSet holds the kernels of one level and kind of activations, by number of rows from 1. stored multiply a
// panel as it is stored; unpacked a copy as bytes, which pays off where unpacking competes with multiplying, and for more
// rows than stored takes.
type nvfp4KernelSet struct {
	stored, unpacked []nvfp4Kernel
	pair             nvfp4Kernel // two stored panels times pairTile rows, or nil
}

type nvfp4Kernel func(*nvfp4Args)

const (
	pairTile = 8
	// pairRows is how many rows two panels at a time need: below, codes come from memory, and one stream of them is fetched
	// better than two.
	pairRows = 32
)

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
		t1 := min(t0+chunk, in.Rows)
		first, paired := p0, t0
		if set.pair != nil && t1-t0 >= pairRows {
			first, paired = m.mulPairs(y, stride, in, p0, p1, t0, t1, set.pair, s)
		}
		for p := p0; p < p1; p++ {
			from := t0
			if p < first {
				from = paired
			}
			if from == t1 {
				continue
			}
			at := p * m.blocks
			a.w, a.scales = unsafe.Pointer(&m.codes[at*nvfp4BlockBytes]), unsafe.Pointer(&m.scales[at*PanelRows])
			if unpack {
				unpackNVFP4(&s.unpacked[0], &m.codes[at*nvfp4BlockBytes], &m.scales[at*PanelRows], m.blocks)
				a.w = unsafe.Pointer(&s.unpacked[0])
				if p+1 < p1 {
					at += m.blocks
				}
				a.next, a.nextScales = unsafe.Pointer(&m.codes[at*nvfp4BlockBytes]), unsafe.Pointer(&m.scales[at*PanelRows])
			}
			m.mulPanel(y, stride, in, p, from, t1, kernels, s)
		}
	}
	*a = nvfp4Args{} // s must not keep y and in alive
	return true
}

// mulPairs multiplies the rows from t0 that fill tiles by two panels at a time, as long as both are full. It returns the first
// panel and the first row that are left.
func (m *NVFP4) mulPairs(y []float32, stride int, in *Input, p0, p1, t0, t1 int, pair nvfp4Kernel, s *Scratch) (p, t int) {
	a := &s.nvfp4
	a.yStride = uintptr(4 * stride)
	t1 -= (t1 - t0) % pairTile
	for p = p0; p+2 <= p1 && (p+2)*PanelRows <= m.rows; p += 2 {
		at := p * m.blocks
		a.w, a.scales = unsafe.Pointer(&m.codes[at*nvfp4BlockBytes]), unsafe.Pointer(&m.scales[at*PanelRows])
		for t := t0; t < t1; t += pairTile {
			a.x, a.y = m.activations(in, t), unsafe.Pointer(&y[t*stride+p*PanelRows])
			pair(a)
		}
	}
	return p, t1
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
