package cpu

import (
	"context"
	"fmt"
	"sync"

	"hearth/engine/checkpoint"
	"hearth/kernels"
)

// loader turns a checkpoint's tensors into kernels' matrices, several at a time.
type loader struct {
	ck      *checkpoint.Checkpoint
	ctx     context.Context
	threads int
	f32     bool  // activations stay float32 whatever the checkpoint declares
	done    int64 // bytes
	report  func(bytes int64)
	err     error
}

// load reads every text tensor of the checkpoint. report, which may be nil, hears how many bytes are dealt with.
func load(ctx context.Context, ck *checkpoint.Checkpoint, threads int, f32 bool, report func(int64)) (*model, error) {
	l := &loader{ck: ck, ctx: ctx, threads: threads, f32: f32, report: report}
	cfg := ck.Config
	m := &model{cfg: cfg, freqs: kernels.RoPEFreqs(cfg.RopeTheta, cfg.RotaryDims)}
	m.embed = l.raw("embed_tokens", cfg.VocabSize, cfg.HiddenSize)
	if !cfg.Tied { // else they count when the head is repacked
		l.progress(len(m.embed.Codes))
	}
	head := "lm_head"
	if cfg.Tied {
		head = "embed_tokens"
	}
	// While a matrix is repacked it is in memory twice, and this is the largest: it comes first, when the rest is not there.
	m.head = l.fan(l.matrix(head, cfg.VocabSize, cfg.HiddenSize))
	for i := range cfg.Layers {
		m.layers = append(m.layers, l.layer(fmt.Sprintf("layers.%d.", i), cfg.FullAttention[i]))
		if l.err != nil {
			return nil, l.err
		}
	}
	m.norm = l.norm("norm.weight", cfg.HiddenSize)
	if ck.HasMTP() && l.err == nil {
		m.mtp = l.mtp()
	}
	for i := range m.layers {
		if a := m.layers[i].attn; a != nil {
			if k, v, ok := ck.KVScales(i); ok {
				a.kScale, a.vScale = k, v
			}
		}
	}
	return m, l.err
}

func (l *loader) layer(prefix string, full bool) layer {
	cfg := l.ck.Config
	h, wide := cfg.HiddenSize, cfg.IntermediateSize
	var out layer
	out.inputNorm = l.norm(prefix+"input_layernorm.weight", h)
	out.postNorm = l.norm(prefix+"post_attention_layernorm.weight", h)
	if full {
		out.attn = l.attention(prefix + "self_attn.")
	} else {
		out.gdn = l.gdn(prefix + "linear_attn.")
	}
	out.gateUp = l.fan(l.matrix(prefix+"mlp.gate_proj", wide, h), l.matrix(prefix+"mlp.up_proj", wide, h))
	out.down = l.fan(l.matrix(prefix+"mlp.down_proj", h, wide))
	return out
}

func (l *loader) attention(prefix string) *attention {
	cfg := l.ck.Config
	h, q, kv := cfg.HiddenSize, cfg.Heads*cfg.HeadDim, cfg.KVHeads*cfg.HeadDim
	return &attention{
		in:    l.fan(l.matrix(prefix+"q_proj", 2*q, h), l.matrix(prefix+"k_proj", kv, h), l.matrix(prefix+"v_proj", kv, h)),
		out:   l.fan(l.matrix(prefix+"o_proj", h, q)),
		qNorm: l.norm(prefix+"q_norm.weight", cfg.HeadDim), kNorm: l.norm(prefix+"k_norm.weight", cfg.HeadDim),
		kScale: 1, vScale: 1,
	}
}

func (l *loader) gdn(prefix string) *gdn {
	cfg := l.ck.Config
	h, nv, value := cfg.HiddenSize, cfg.LinearValueHeads, cfg.ValueWidth()
	g := &gdn{
		in: l.fan(l.matrix(prefix+"in_proj_qkv", cfg.ConvChannels(), h), l.matrix(prefix+"in_proj_z", value, h),
			l.matrix(prefix+"in_proj_b", nv, h), l.matrix(prefix+"in_proj_a", nv, h)),
		out:     l.fan(l.matrix(prefix+"out_proj", h, value)),
		negExpA: l.vector(prefix+"A_log", nv),
		dtBias:  l.vector(prefix+"dt_bias", nv),
		norm:    l.vector(prefix+"norm.weight", cfg.LinearValueDim),
		sigmoid: cfg.OutputGate == "sigmoid",
	}
	for i, a := range g.negExpA {
		g.negExpA[i] = -kernels.Exp(a)
	}
	if l.err == nil {
		g.conv, l.err = l.ck.Conv(prefix + "conv1d.weight")
	}
	return g
}

func (l *loader) mtp() *mtp {
	h := l.ck.Config.HiddenSize
	m := &mtp{
		embedNorm:  l.norm("mtp.pre_fc_norm_embedding.weight", h),
		hiddenNorm: l.norm("mtp.pre_fc_norm_hidden.weight", h),
		norm:       l.norm("mtp.norm.weight", h),
		fc:         l.fan(l.matrix("mtp.fc", h, 2*h)),
		layer:      l.layer("mtp.layers.0.", true),
	}
	m.layer.attn.first = 1
	return m
}

// norm reads a zero-centred norm weight and adds the 1.
func (l *loader) norm(name string, n int) []float32 {
	v, offset := l.vector(name, n), l.ck.NormOffset()
	for i := range v {
		v[i] += offset
	}
	return v
}

func (l *loader) vector(name string, n int) []float32 {
	if l.err != nil {
		return make([]float32, n)
	}
	v, err := l.ck.Vector(name, n)
	l.err = err
	return v
}

func (l *loader) raw(name string, rows, cols int) checkpoint.Matrix {
	if l.err != nil {
		return checkpoint.Matrix{}
	}
	m, err := l.ck.Matrix(name, rows, cols)
	if err == nil && m.Format != checkpoint.BF16 && m.Format != checkpoint.F16 && m.Format != checkpoint.F32 {
		err = fmt.Errorf("%s: embeddings in %v are not supported: supported are BF16, F16 and F32", m.Name, m.Format)
	}
	l.err = err
	return m
}

func (l *loader) fan(ms ...kernels.Matrix) fan {
	if l.err != nil {
		return fan{}
	}
	return newFan(ms...)
}

// matrix loads one weight matrix in its own format.
func (l *loader) matrix(name string, rows, cols int) kernels.Matrix {
	if l.err != nil {
		return nil
	}
	if l.err = l.ctx.Err(); l.err != nil {
		return nil
	}
	src, err := l.ck.Matrix(name, rows, cols)
	if err != nil {
		l.err = err
		return nil
	}
	p, err := newPacking(src, l.f32)
	if err == nil {
		err = l.packAll(p)
	}
	if err != nil {
		l.err = fmt.Errorf("%s: %w", src.Name, err)
		return nil
	}
	src.Done()
	l.progress(len(src.Codes) + len(src.BlockScales))
	return p.matrix
}

// progress tells that so many more bytes of the checkpoint are dealt with.
func (l *loader) progress(bytes int) {
	l.done += int64(bytes)
	if l.report != nil {
		l.report(l.done)
	}
}

// packAll repacks all panels, each thread a share.
func (l *loader) packAll(p packing) error {
	panels := kernels.Panels(p.matrix)
	errs := make([]error, l.threads)
	var wg sync.WaitGroup
	for w := range l.threads {
		wg.Go(func() { errs[w] = p.pack(panels*w/l.threads, panels*(w+1)/l.threads) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
