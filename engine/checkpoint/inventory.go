package checkpoint

import "strings"

// Inventory lists all tensors by stored name, vision included.
func (c *Checkpoint) Inventory() []Tensor {
	out := make([]Tensor, len(c.stored))
	for i, t := range c.stored {
		out[i] = *t
	}
	return out
}

// Bytes is the storage of the text model and its MTP head.
func (c *Checkpoint) Bytes() int64 {
	var n int64
	for _, t := range c.tensors {
		n += t.Bytes
	}
	return n
}

// Params counts the weights of the text model and of its MTP head where that is stored: not scales, and a tied head once.
func (c *Checkpoint) Params() int64 {
	var n int64
	matrices, vectors := c.Config.plan(c.HasMTP())
	for _, m := range matrices {
		n += int64(m.rows) * int64(m.cols)
	}
	for _, v := range vectors {
		size := int64(1)
		for _, d := range v.shape {
			size *= int64(d)
		}
		n += size
	}
	return n
}

// Formats says for people how the matrices are stored, densest first: "NVFP4 (W4A4), FP8, BF16".
func (c *Checkpoint) Formats() string {
	found := map[string]bool{}
	matrices, _ := c.Config.plan(c.HasMTP())
	for _, m := range matrices {
		found[c.label(m.name)] = true
	}
	var out []string
	for _, l := range []string{"NVFP4 (W4A4)", "NVFP4 (W4A16)", "FP8", "FP8 (W8A16)", "BF16", "F16", "F32"} {
		if found[l] {
			out = append(out, l)
		}
	}
	return strings.Join(out, ", ")
}

// label is the format of a module by dtype and config alone; what is wrong with its tensors is found when they are read.
func (c *Checkpoint) label(module string) string {
	t := c.tensors[module+".weight"]
	if t == nil {
		t = c.tensors[module+".weight_packed"]
	}
	if t == nil {
		return ""
	}
	scheme, err := c.quant.scheme(moduleNames(module, storedModule(t)), module != "embed_tokens")
	switch weightOnly := err != nil || scheme == None; {
	case t.DType == dtypeU8 && weightOnly:
		return "NVFP4 (W4A16)"
	case t.DType == dtypeU8:
		return "NVFP4 (W4A4)"
	case t.DType == dtypeE4M3 && weightOnly:
		return "FP8 (W8A16)"
	case t.DType == dtypeE4M3:
		return "FP8"
	}
	return string(t.DType)
}
