package cpu

import (
	"hearth/engine/checkpoint"
	"hearth/kernels"
)

// model is a loaded checkpoint: weights in the kernels' layout, never written after load.
type model struct {
	cfg    checkpoint.Config
	embed  checkpoint.Matrix // [V, H], read row by row from the file's own bytes
	layers []layer
	norm   []float32 // [H], +1 included
	head   fan       // [V, H]
	freqs  []float32 // RoPE inverse frequencies [rotary/2]
	mtp    *mtp      // nil where the checkpoint has none
}

// layer is one decoder block: a mixer of one of two kinds, then the MLP.
type layer struct {
	inputNorm, postNorm []float32 // [H], +1 included
	gdn                 *gdn
	attn                *attention
	gateUp              fan // gate_proj, up_proj [I, H]
	down                fan // [H, I]
}

// gdn is a Gated DeltaNet mixer.
type gdn struct {
	in      fan       // in_proj_qkv [C, H], in_proj_z [vw, H], in_proj_b [nv, H], in_proj_a [nv, H]
	out     fan       // out_proj [H, vw]
	conv    []float32 // [4, C], tap-major
	negExpA []float32 // [nv]: -exp(A_log)
	dtBias  []float32 // [nv]
	norm    []float32 // [dv], as stored
	sigmoid bool      // the output gate is σ(z), not SiLU(z)
	state   int       // offset of the delta-rule matrices [nv, dk, dv] in a state, in floats
	window  int       // offset of the raw convolution window [3, C] in a state, in floats
}

// attention is a gated full-attention mixer.
type attention struct {
	in             fan       // q_proj [2·nh·hd, H], k_proj, v_proj [nkv·hd, H]
	out            fan       // o_proj [H, nh·hd]
	qNorm, kNorm   []float32 // [hd], +1 included
	kScale, vScale float32   // of stored keys and values, 1 where there are none
	page           int       // offset of this layer's keys and values in a page, in bytes
	first          int       // first slot in use: 0, or 1 in the MTP layer, whose slot 0 stays empty
}

// mtp is the multi-token-prediction head: one attention block between its own norms.
type mtp struct {
	embedNorm, hiddenNorm, norm []float32 // [H], +1 included
	fc                          fan       // [H, 2H]
	layer                       layer
}

// maxFan is the most matrices that read the same activations.
const maxFan = 4

// fan is a set of matrices fed by the same activations. Matrices with equal input keys share one prepared input.
type fan struct {
	matrices []kernels.Matrix
	input    []int // matrix -> index in keys
	keys     []kernels.InputKey
	first    []int // matrix -> its first panel among the fan's
	panels   int
	cols     int
	size     int // bytes
}

func newFan(ms ...kernels.Matrix) fan {
	f := fan{matrices: ms, cols: ms[0].Cols()}
	for _, m := range ms {
		k := m.InputKey()
		at := -1
		for i := range f.keys {
			if f.keys[i] == k {
				at = i
			}
		}
		if at < 0 {
			at = len(f.keys)
			f.keys = append(f.keys, k)
		}
		f.input = append(f.input, at)
		f.first = append(f.first, f.panels)
		f.panels += kernels.Panels(m)
		f.size += m.Bytes()
	}
	return f
}
