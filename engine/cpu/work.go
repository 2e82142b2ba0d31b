package cpu

import (
	"hearth/kernels"
)

// work is the memory of a step, sized once for maxRows rows. Names follow specs of the model: rows first, then width.
type work struct {
	h     []float32 // residual stream [R, H]
	x     []float32 // normalised input of a mixer or MLP [R, max(H, 2H of the MTP head)]
	final []float32 // after the final norm [R, H]

	u, y        []float32 // GDN: projections q, k, v before and after the convolution [R, C]
	z, o        []float32 // gate and output of the delta rule [R, vw]
	a, b        []float32 // [R, nv]
	decay, beta []float32 // [R, nv]

	q         []float32 // query and gate, interleaved by head [R, 2·nh·hd]
	k, v      []float32 // [R, nkv·hd]
	query     []float32 // normalised and rotated [R, nh·hd]
	att       []float32 // [R, nh·hd]
	cos, sin  []float32 // [R, rotary/2]
	lens      []int     // [R]: positions a row sees
	pages     [][]byte  // one layer's slices of a sequence's pages
	gate, up  []float32 // [R, I]
	logits    []float32 // [rows asked for, V]
	inputs    [maxFan]kernels.Input
	scratch   []*kernels.Scratch // one a thread
	attention []*kernels.AttnScratch
	parts     []float32 // partial results of a long row's segments
}

func newWork(m *model, maxRows, maxPages, threads int) *work {
	cfg := m.cfg
	channels, values := cfg.ConvChannels(), cfg.ValueWidth()
	heads, kv := cfg.Heads*cfg.HeadDim, cfg.KVHeads*cfg.HeadDim
	floats := func(width int) []float32 { return make([]float32, maxRows*width) }
	w := &work{
		h: floats(cfg.HiddenSize), x: floats(2 * cfg.HiddenSize), final: floats(cfg.HiddenSize),
		u: floats(channels), y: floats(channels), z: floats(values), o: floats(values),
		a: floats(cfg.LinearValueHeads), b: floats(cfg.LinearValueHeads),
		decay: floats(cfg.LinearValueHeads), beta: floats(cfg.LinearValueHeads),
		q: floats(2 * heads), k: floats(kv), v: floats(kv), query: floats(heads), att: floats(heads),
		cos: floats(cfg.RotaryDims / 2), sin: floats(cfg.RotaryDims / 2),
		lens: make([]int, maxRows), pages: make([][]byte, 0, maxPages),
		gate: floats(cfg.IntermediateSize), up: floats(cfg.IntermediateSize),
		logits: make([]float32, cfg.VocabSize),
	}
	for range threads {
		w.scratch = append(w.scratch, new(kernels.Scratch))
		w.attention = append(w.attention, new(kernels.AttnScratch))
	}
	return w
}
