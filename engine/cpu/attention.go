package cpu

import "hearth/kernels"

// positions fills the RoPE tables and visible lengths of every row. shift moves RoPE positions: the MTP layer's entry in
// slot t rotates by t-1.
func (d *Device) positions(spans []span, shift int) {
	half := d.m.cfg.RotaryDims / 2
	for i := range spans {
		s := &spans[i]
		for r := range s.rows {
			at := (s.row + r) * half
			kernels.RoPETable(d.w.cos[at:at+half], d.w.sin[at:at+half], s.position+r-shift, d.m.freqs)
			d.w.lens[s.row+r] = s.position + r + 1
		}
	}
}

// mixAttention adds a gated attention mixer's output to the stream; its normalised input is in w.x.
func (d *Device) mixAttention(l *layer, rows int, spans []span) {
	w, a, cfg := d.w, l.attn, &d.m.cfg
	heads, kv := cfg.Heads*cfg.HeadDim, cfg.KVHeads*cfg.HeadDim
	d.mul(&a.in, w.x, rows, [maxFan][]float32{w.q, w.k, w.v}, [maxFan]int{2 * heads, kv, kv})
	d.p.layer = l
	for i := range spans {
		s := &spans[i]
		d.p.span = s
		d.layerPages(a, s)
		d.pool.do(s.rows, max(kernels.PagePositions, rowGrain(s.rows, d.pool.threads)), d.rotateJob)
		d.attend(s)
	}
	d.pool.do(rows, rowGrain(rows, d.pool.threads), d.gateJob)
	d.residual(&a.out, w.att, rows)
}

// rotateTask normalises and rotates queries (out of their interleaving with the gates) and keys of rows lo..hi of the span,
// and writes keys and values to their page: every phase reads them from there, as they are stored.
func (d *Device) rotateTask(_, lo, hi int) {
	w, a, cfg, s := d.w, d.p.layer.attn, &d.m.cfg, d.p.span
	hd, half := cfg.HeadDim, cfg.RotaryDims/2
	heads, kv := cfg.Heads*hd, cfg.KVHeads*hd
	for r := s.row + lo; r < s.row+hi; r++ {
		cos, sin := w.cos[r*half:(r+1)*half], w.sin[r*half:(r+1)*half]
		for n := range cfg.Heads {
			q := w.query[r*heads+n*hd : r*heads+(n+1)*hd]
			kernels.RMSNorm(q, w.q[r*2*heads+2*n*hd:][:hd], a.qNorm, cfg.RMSNormEps)
			kernels.RoPE(q, cos, sin)
		}
		for n := range cfg.KVHeads {
			k := w.k[r*kv+n*hd : r*kv+(n+1)*hd]
			kernels.RMSNorm(k, k, a.kNorm, cfg.RMSNormEps)
			kernels.RoPE(k, cos, sin)
		}
		pos := s.position + r - s.row
		d.lay.kv.Store(w.pages[pos/kernels.PagePositions], pos%kernels.PagePositions, w.k[r*kv:(r+1)*kv], w.v[r*kv:(r+1)*kv], a.kScale, a.vScale)
	}
}

// layerPages lists the layer's slices of the span's pages.
func (d *Device) layerPages(a *attention, s *span) {
	w := d.w
	n := (s.position + s.rows + kernels.PagePositions - 1) / kernels.PagePositions
	w.pages = w.pages[:0]
	for _, id := range s.pages[:n] {
		w.pages = append(w.pages, d.mem.page(id)[a.page:a.page+d.lay.kv.Bytes()])
	}
}

// attend computes the span's attention into w.att. Many rows are split by key/value head and tile of rows; a single row
// with a long past by head and segment.
func (d *Device) attend(s *span) {
	cfg := &d.m.cfg
	if s.rows == 1 && s.position >= kernels.SegmentPositions {
		d.attendLong(s)
		return
	}
	d.p.tiles = (s.rows + tile - 1) / tile
	d.pool.do(cfg.KVHeads*d.p.tiles, 1, d.attendJob)
}

// seen is the layout of a layer's keys and values with the slots that its rows may look at.
func (d *Device) seen(a *attention) kernels.KVLayout {
	l := d.lay.kv
	l.First = a.first
	return l
}

// attendTask takes tasks (tile, head), last tiles first since they see the most.
func (d *Device) attendTask(worker, lo, hi int) {
	w, a, cfg, s := d.w, d.p.layer.attn, &d.m.cfg, d.p.span
	group := cfg.Heads / cfg.KVHeads
	width, heads := group*cfg.HeadDim, cfg.Heads*cfg.HeadDim
	for task := lo; task < hi; task++ {
		head, t := task%cfg.KVHeads, d.p.tiles-1-task/cfg.KVHeads
		r0, r1 := s.row+t*tile, s.row+min((t+1)*tile, s.rows)
		at := r0*heads + head*width
		d.seen(a).Attend(w.att[at:], w.query[at:], heads, r1-r0, group, w.lens[r0:r1], w.pages, head,
			d.attnScale, a.kScale, a.vScale, w.attention[worker])
	}
}

func (d *Device) attendLong(s *span) {
	w, a, cfg := d.w, d.p.layer.attn, &d.m.cfg
	group, segments := cfg.Heads/cfg.KVHeads, kernels.Segments(s.position+1)
	n := group * segments * d.lay.kv.PartFloats()
	if need := n * cfg.KVHeads; len(w.parts) < need {
		w.parts = make([]float32, need+need/4)
	}
	d.p.tiles = segments
	d.pool.do(cfg.KVHeads*segments, 1, d.segmentJob)
	for head := range cfg.KVHeads {
		at := (s.row*cfg.KVHeads + head) * group * cfg.HeadDim
		d.lay.kv.MergeSegments(w.att[at:], w.parts[head*n:(head+1)*n], group, segments, a.vScale)
	}
}

// segmentTask takes tasks (head, segment).
func (d *Device) segmentTask(worker, lo, hi int) {
	w, a, cfg, s := d.w, d.p.layer.attn, &d.m.cfg, d.p.span
	group, segments := cfg.Heads/cfg.KVHeads, d.p.tiles
	n := group * segments * d.lay.kv.PartFloats()
	for task := lo; task < hi; task++ {
		head, seg := task/segments, task%segments
		at := (s.row*cfg.KVHeads + head) * group * cfg.HeadDim
		d.seen(a).AttendSegments(w.parts[head*n:(head+1)*n], w.query[at:], group, s.position+1, w.pages, head, seg, seg+1,
			d.attnScale, a.kScale, w.attention[worker])
	}
}

// gateTask multiplies each head's output by the sigmoid of its gate.
func (d *Device) gateTask(_, lo, hi int) {
	w, cfg := d.w, &d.m.cfg
	hd, heads := cfg.HeadDim, cfg.Heads*cfg.HeadDim
	for r := lo; r < hi; r++ {
		for n := range cfg.Heads {
			att := w.att[r*heads+n*hd:][:hd]
			kernels.SigmoidMul(att, att, w.q[r*2*heads+(2*n+1)*hd:][:hd])
		}
	}
}
