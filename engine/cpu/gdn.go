package cpu

import "hearth/kernels"

// mixGDN adds a Gated DeltaNet mixer's output to the stream; its normalised input is in w.x.
func (d *Device) mixGDN(l *layer, rows int, spans []span) {
	w, g, cfg := d.w, l.gdn, &d.m.cfg
	channels, values, nv := d.channels, cfg.ValueWidth(), cfg.LinearValueHeads
	d.mul(&g.in, w.x, rows, [maxFan][]float32{w.u, w.z, w.b, w.a}, [maxFan]int{channels, values, nv, nv})
	for r := range rows {
		at := r * nv
		kernels.DeltaGates(w.decay[at:at+nv], w.beta[at:at+nv], w.a[at:at+nv], w.b[at:at+nv], g.negExpA, g.dtBias)
	}
	d.p.layer = l
	for i := range spans {
		s := &spans[i]
		d.p.span = s
		d.pool.do(2*cfg.LinearKeyHeads+nv, 1, d.convJob)
		window := s.state[g.window : g.window+3*channels]
		kernels.ConvState(window, w.u[s.row*channels:], s.rows, channels, channels)
		d.pool.do(nv, 1, d.deltaJob)
	}
	d.residual(&g.out, w.o, rows)
}

// convTask convolves the channels of heads lo..hi, counted over all query heads, then keys, then values, and normalises
// queries and keys.
func (d *Device) convTask(_, lo, hi int) {
	w, g, cfg, s := d.w, d.p.layer.gdn, &d.m.cfg, d.p.span
	channels := d.channels
	u, y := w.u[s.row*channels:], w.y[s.row*channels:]
	window := s.state[g.window : g.window+3*channels]
	nk, dk, dv := cfg.LinearKeyHeads, cfg.LinearKeyDim, cfg.LinearValueDim
	for head := lo; head < hi; head++ {
		c0, width := head*dk, dk
		if head >= 2*nk {
			c0, width = 2*nk*dk+(head-2*nk)*dv, dv
		}
		kernels.ConvSiLU(y, u, window, g.conv, s.rows, channels, channels, c0, c0+width)
		if head >= 2*nk {
			continue
		}
		scale := float32(1)
		if head < nk {
			scale = d.queryScale
		}
		for r := range s.rows {
			x := y[r*channels+c0 : r*channels+c0+dk]
			kernels.L2Norm(x, x, scale)
		}
	}
}

// deltaTask runs the recurrence of value heads lo..hi over the span's rows, then their gated norm.
func (d *Device) deltaTask(_, lo, hi int) {
	w, g, cfg, s := d.w, d.p.layer.gdn, &d.m.cfg, d.p.span
	nk, nv, dk, dv := cfg.LinearKeyHeads, cfg.LinearValueHeads, cfg.LinearKeyDim, cfg.LinearValueDim
	channels, values := d.channels, nv*dv
	y := w.y[s.row*channels:]
	for head := lo; head < hi; head++ {
		key := head / (nv / nk) * dk
		o := w.o[s.row*values+head*dv:]
		state := s.state[g.state+head*dk*dv : g.state+(head+1)*dk*dv]
		at := s.row*nv + head
		kernels.DeltaRule(o, values, state, y[key:], y[nk*dk+key:], channels, y[2*nk*dk+head*dv:], channels,
			w.decay[at:], w.beta[at:], nv, s.rows, dk, dv, 0, dv)
		for r := range s.rows {
			out := o[r*values : r*values+dv]
			z := w.z[(s.row+r)*values+head*dv:][:dv]
			if g.sigmoid {
				kernels.RMSNorm(out, out, g.norm, cfg.RMSNormEps)
				kernels.SigmoidMul(out, out, z)
			} else {
				kernels.GatedRMSNorm(out, out, z, g.norm, cfg.RMSNormEps)
			}
		}
	}
}
