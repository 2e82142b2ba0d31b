package cpu

import (
	"context"

	"hearth/kernels"
)

// mtpForward runs the MTP head over pairs (hidden row of t-1, token t) of one sequence, in slots position..: hidden is
// [len(tokens), H], rows after the final norm (of the target, or of this head when drafts are chained). The outputs after
// mtp.norm are in w.final, row by row, and the layer's keys and values in the sequence's pages.
func (d *Device) mtpForward(ctx context.Context, hidden []float32, tokens []int32, s span) error {
	w, m, h := d.w, d.m.mtp, d.m.cfg.HiddenSize
	eps := d.m.cfg.RMSNormEps
	for r, t := range tokens {
		x := w.x[r*2*h : (r+1)*2*h]
		d.m.embed.Row(x[:h], int(t))
		kernels.RMSNorm(x[:h], x[:h], m.embedNorm, eps)
		kernels.RMSNorm(x[h:], hidden[r*h:(r+1)*h], m.hiddenNorm, eps)
	}
	rows := len(tokens)
	d.mul(&m.fc, w.x, rows, [maxFan][]float32{w.h}, [maxFan]int{h})
	spans := []span{s}
	d.positions(spans, 1)
	if err := d.block(ctx, &m.layer, rows, spans); err != nil {
		return err
	}
	for r := range rows {
		kernels.RMSNorm(w.final[r*h:(r+1)*h], w.h[r*h:(r+1)*h], m.norm, eps)
	}
	return nil
}
