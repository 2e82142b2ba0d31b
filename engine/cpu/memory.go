package cpu

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"hearth/engine/device"
	"hearth/kernels"
)

// memory holds pages and states in two mappings of their own: nothing is resident before it is written, and the garbage
// collector never sees it.
type memory struct {
	pageBytes, stateFloats int
	pages                  []byte
	states                 []float32
	stateBytes             []byte // the same memory
	pageCount, stateCount  int
}

func newMemory(pageBytes, pages, stateFloats, states int) (*memory, error) {
	m := &memory{pageBytes: pageBytes, stateFloats: stateFloats, pageCount: pages, stateCount: states}
	var err error
	if m.pages, err = reserve(pageBytes * pages); err != nil {
		return nil, fmt.Errorf("reserve %d pages of %d bytes for keys and values: %w; a shorter --context or another --kv needs less", pages, pageBytes, err)
	}
	if m.stateBytes, err = reserve(4 * stateFloats * states); err != nil {
		unix.Munmap(m.pages)
		return nil, fmt.Errorf("reserve %d states of %d bytes: %w", states, 4*stateFloats, err)
	}
	m.states = unsafe.Slice((*float32)(unsafe.Pointer(&m.stateBytes[0])), stateFloats*states)
	return m, nil
}

func reserve(bytes int) ([]byte, error) {
	return unix.Mmap(-1, 0, max(bytes, 1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
}

func (m *memory) page(id device.PageID) []byte {
	return m.pages[int(id)*m.pageBytes : (int(id)+1)*m.pageBytes : (int(id)+1)*m.pageBytes]
}

func (m *memory) state(id device.StateID) []float32 {
	return m.states[int(id)*m.stateFloats : (int(id)+1)*m.stateFloats : (int(id)+1)*m.stateFloats]
}

func (m *memory) close() {
	unix.Munmap(m.pages)
	unix.Munmap(m.stateBytes)
	m.pages, m.states, m.stateBytes = nil, nil, nil
}

// layout places every layer's share in pages and states.
type layout struct {
	kv          kernels.KVLayout
	pageBytes   int
	stateFloats int
	hidden      int // offset of the last post-final-norm hidden row in a state, in floats
}

// place sets the offsets of m's layers and returns the totals. The MTP layer's keys and values come last in a page.
func place(m *model, format kernels.KVFormat, withMTP bool) layout {
	cfg := m.cfg
	l := layout{kv: kernels.KVLayout{Format: format, Heads: cfg.KVHeads, Dim: cfg.HeadDim}}
	channels := cfg.ConvChannels()
	for i := range m.layers {
		if a := m.layers[i].attn; a != nil {
			a.page = l.pageBytes
			l.pageBytes += l.kv.Bytes()
		} else {
			g := m.layers[i].gdn
			g.state = l.stateFloats
			l.stateFloats += cfg.LinearValueHeads * cfg.LinearKeyDim * cfg.LinearValueDim
			g.window = l.stateFloats
			l.stateFloats += 3 * channels
		}
	}
	if withMTP && m.mtp != nil {
		m.mtp.layer.attn.page = l.pageBytes
		l.pageBytes += l.kv.Bytes()
	}
	l.hidden = l.stateFloats
	l.stateFloats += cfg.HiddenSize
	l.stateFloats = (l.stateFloats + 15) &^ 15 // states start on a cache line
	return l
}

func (m *memory) stateBytesOf(id device.StateID) []byte {
	n := 4 * m.stateFloats
	return m.stateBytes[int(id)*n : (int(id)+1)*n]
}
