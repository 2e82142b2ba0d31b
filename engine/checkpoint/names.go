package checkpoint

import "strings"

// containers are the prefixes exports put before decoder names, longest first.
var containers = []string{"model.language_model.", "language_model.model.", "language_model.", "model."}

// visionPrefixes mark the vision tower, after the containers "model." or none.
var visionPrefixes = []string{"visual.", "vision_tower.", "vision_model."}

// logicalName strips the container prefix: what the tensor is, whoever exported it. vision tells the tensors of the tower.
func logicalName(stored string) (name string, vision bool) {
	bare := strings.TrimPrefix(stored, "model.")
	for _, p := range visionPrefixes {
		if strings.HasPrefix(bare, p) {
			return stored, true
		}
	}
	for _, p := range containers {
		if rest, ok := strings.CutPrefix(stored, p); ok {
			return rest, false
		}
	}
	return stored, false
}

// moduleNames are the names a quantisation config may use for a module: as stored, bare, and in each container.
func moduleNames(logical, stored string) []string {
	names := []string{stored, logical}
	add := func(n string) {
		if n != stored && n != logical {
			names = append(names, n)
		}
	}
	if strings.HasPrefix(logical, "layers.") || logical == "embed_tokens" {
		for _, p := range containers {
			add(p + logical)
		}
	} else {
		add("language_model." + logical)
	}
	return names
}

// storedModule is the module of a weight, as its export names it.
func storedModule(t *Tensor) string {
	return strings.TrimSuffix(strings.TrimSuffix(t.Name, "_packed"), ".weight")
}

// buffer tells tensors that some exporters store although they are computed.
func buffer(logical string) bool { return strings.HasSuffix(logical, "rotary_emb.inv_freq") }

// mtpModules are the matrices of the MTP head; mtpVectors its other tensors. Fifteen together.
var (
	mtpModules = []string{
		"mtp.fc",
		"mtp.layers.0.self_attn.q_proj", "mtp.layers.0.self_attn.k_proj", "mtp.layers.0.self_attn.v_proj", "mtp.layers.0.self_attn.o_proj",
		"mtp.layers.0.mlp.gate_proj", "mtp.layers.0.mlp.up_proj", "mtp.layers.0.mlp.down_proj",
	}
	mtpVectors = []string{
		"mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight", "mtp.norm.weight",
		"mtp.layers.0.input_layernorm.weight", "mtp.layers.0.post_attention_layernorm.weight",
		"mtp.layers.0.self_attn.q_norm.weight", "mtp.layers.0.self_attn.k_norm.weight",
	}
)
