// Package checkpoint reads models in Hugging Face layout: safetensors, config.json and the files beside them. It also makes
// checkpoints of random weights in memory, and writes folders.
//
// Tensors are asked for by logical name, without the container prefix of the export: "layers.3.self_attn.q_proj",
// "norm.weight", "lm_head", "mtp.fc". What a matrix is stored as is decided tensor by tensor, from its dtype and its
// companions; the quantisation config only settles whether its activations are quantised.
//
// The rule that bites: bytes of a Tensor or Matrix are the mapped file. They are read-only, they end with Close, and the file
// must not be truncated while it is open. Call Done after repacking, or the load holds the file in memory a second time.
//
// Everything in a folder is untrusted: sizes are checked against the file before anything is allocated.
package checkpoint
