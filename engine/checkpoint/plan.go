package checkpoint

import "fmt"

// matrixPlan is a matrix the config promises, by logical module name.
type matrixPlan struct {
	name       string
	rows, cols int
}

// vectorPlan is any other tensor the config promises, by logical name.
type vectorPlan struct {
	name  string
	shape []int
}

// plan lists what a checkpoint of this config holds, in order of use: embeddings, layers, final norm, head, MTP head.
func (c Config) plan(mtp bool) (matrices []matrixPlan, vectors []vectorPlan) {
	h := c.HiddenSize
	matrices = append(matrices, matrixPlan{"embed_tokens", c.VocabSize, h})
	for i, full := range c.FullAttention {
		m, v := c.planLayer(fmt.Sprintf("layers.%d.", i), full)
		matrices, vectors = append(matrices, m...), append(vectors, v...)
	}
	vectors = append(vectors, vectorPlan{"norm.weight", []int{h}})
	if !c.Tied {
		matrices = append(matrices, matrixPlan{"lm_head", c.VocabSize, h})
	}
	if mtp {
		m, v := c.planLayer("mtp.layers.0.", true)
		matrices = append(append(matrices, matrixPlan{"mtp.fc", h, 2 * h}), m...)
		for _, name := range []string{"mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight", "mtp.norm.weight"} {
			vectors = append(vectors, vectorPlan{name, []int{h}})
		}
		vectors = append(vectors, v...)
	}
	return matrices, vectors
}

func (c Config) planLayer(prefix string, full bool) ([]matrixPlan, []vectorPlan) {
	h := c.HiddenSize
	matrices := []matrixPlan{
		{prefix + "mlp.gate_proj", c.IntermediateSize, h},
		{prefix + "mlp.up_proj", c.IntermediateSize, h},
		{prefix + "mlp.down_proj", h, c.IntermediateSize},
	}
	vectors := []vectorPlan{
		{prefix + "input_layernorm.weight", []int{h}},
		{prefix + "post_attention_layernorm.weight", []int{h}},
	}
	if full {
		p, q, kv := prefix+"self_attn.", c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
		return append(matrices, matrixPlan{p + "q_proj", 2 * q, h}, matrixPlan{p + "k_proj", kv, h},
				matrixPlan{p + "v_proj", kv, h}, matrixPlan{p + "o_proj", h, q}),
			append(vectors, vectorPlan{p + "q_norm.weight", []int{c.HeadDim}}, vectorPlan{p + "k_norm.weight", []int{c.HeadDim}})
	}
	p, nv := prefix+"linear_attn.", c.LinearValueHeads
	return append(matrices, matrixPlan{p + "in_proj_qkv", c.ConvChannels(), h}, matrixPlan{p + "in_proj_z", c.ValueWidth(), h},
			matrixPlan{p + "in_proj_a", nv, h}, matrixPlan{p + "in_proj_b", nv, h}, matrixPlan{p + "out_proj", h, c.ValueWidth()}),
		append(vectors, vectorPlan{p + "conv1d.weight", []int{c.ConvChannels(), 1, c.ConvKernel}}, vectorPlan{p + "A_log", []int{nv}},
			vectorPlan{p + "dt_bias", []int{nv}}, vectorPlan{p + "norm.weight", []int{c.LinearValueDim}})
}
