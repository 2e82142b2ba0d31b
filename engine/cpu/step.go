package cpu

import (
	"context"

	"hearth/engine/device"
	"hearth/kernels"
)

// span is a run of rows of one sequence in a step: its tokens' positions are consecutive.
type span struct {
	row, rows int // rows row..row+rows-1 of the step
	position  int // of the first
	state     []float32
	pages     []device.PageID
}

// tile is how many rows of a span one attention task takes: enough to share the conversion of keys, few enough to balance.
const tile = 32

// params of the job that runs now; jobs are functions made once, so that a step allocates nothing.
type params struct {
	fan     *fan
	x       []float32
	ys      [maxFan][]float32
	strides [maxFan]int
	layer   *layer
	span    *span
	weight  []float32 // of a norm
	tiles   int
}

// forward runs rows of spans through all layers. The residual stream starts in w.h. It looks at ctx twice a layer.
func (d *Device) forward(ctx context.Context, rows int, spans []span) error {
	d.positions(spans, 0)
	for i := range d.m.layers {
		if d.tap != nil {
			d.tap(i, d.w.h[:rows*d.m.cfg.HiddenSize])
		}
		if err := d.block(ctx, &d.m.layers[i], rows, spans); err != nil {
			return err
		}
	}
	if d.tap != nil {
		d.tap(len(d.m.layers), d.w.h[:rows*d.m.cfg.HiddenSize])
	}
	return nil
}

// block computes h = h + mixer(norm(h)), then h = h + MLP(norm(h)).
func (d *Device) block(ctx context.Context, l *layer, rows int, spans []span) error {
	w := d.w
	if err := ctx.Err(); err != nil {
		return err
	}
	d.normRows(l.inputNorm, rows)
	if l.gdn != nil {
		d.mixGDN(l, rows, spans)
	} else {
		d.mixAttention(l, rows, spans)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.normRows(l.postNorm, rows)
	inter := d.m.cfg.IntermediateSize
	d.mul(&l.gateUp, w.x, rows, [maxFan][]float32{w.gate, w.up}, [maxFan]int{inter, inter})
	d.pool.do(rows, rowGrain(rows, d.pool.threads), d.siluJob)
	d.residual(&l.down, w.gate, rows)
	return nil
}

// residual adds a projection of x to the stream.
func (d *Device) residual(f *fan, x []float32, rows int) {
	d.mul(f, x, rows, [maxFan][]float32{d.w.x}, [maxFan]int{d.m.cfg.HiddenSize})
	d.pool.do(rows, rowGrain(rows, d.pool.threads), d.addJob)
}

func (d *Device) addTask(_, lo, hi int) {
	h := d.m.cfg.HiddenSize
	kernels.Add(d.w.h[lo*h:hi*h], d.w.x[lo*h:hi*h])
}

// normRows puts RMSNorm of each row of the residual stream into w.x.
func (d *Device) normRows(weight []float32, rows int) {
	d.p.weight = weight
	d.pool.do(rows, rowGrain(rows, d.pool.threads), d.normJob)
}

func (d *Device) normTask(_, lo, hi int) {
	h := d.m.cfg.HiddenSize
	for r := lo; r < hi; r++ {
		kernels.RMSNorm(d.w.x[r*h:(r+1)*h], d.w.h[r*h:(r+1)*h], d.p.weight, d.m.cfg.RMSNormEps)
	}
}

func (d *Device) siluTask(_, lo, hi int) {
	n := d.m.cfg.IntermediateSize
	g, u := d.w.gate[lo*n:hi*n], d.w.up[lo*n:hi*n]
	kernels.SiLUMul(g, g, u)
}

// mul multiplies rows of x [rows, f.cols] by every matrix of the fan: ys[i] [rows, strides[i]].
func (d *Device) mul(f *fan, x []float32, rows int, ys [maxFan][]float32, strides [maxFan]int) {
	for i, key := range f.keys {
		d.w.inputs[i].Resize(key, rows, f.cols)
	}
	d.p.fan, d.p.x, d.p.ys, d.p.strides = f, x[:rows*f.cols], ys, strides
	d.pool.do(rows, rowGrain(rows, d.pool.threads), d.prepareJob)
	grain := panelGrain(f.panels, d.pool.threads)
	if rows*f.size < inlineBytes {
		grain = f.panels
	}
	d.pool.do(f.panels, grain, d.mulJob)
}

func (d *Device) prepareTask(_, lo, hi int) {
	f := d.p.fan
	for i := range f.keys {
		for m, key := range f.input {
			if key == i {
				f.matrices[m].Prepare(&d.w.inputs[i], d.p.x, lo, hi)
				break
			}
		}
	}
}

func (d *Device) mulTask(worker, lo, hi int) {
	f := d.p.fan
	for i, m := range f.matrices {
		p0, p1 := lo-f.first[i], hi-f.first[i]
		p0, p1 = max(p0, 0), min(p1, kernels.Panels(m))
		if p0 < p1 {
			m.Mul(d.p.ys[i], d.p.strides[i], &d.w.inputs[f.input[i]], p0, p1, d.w.scratch[worker])
		}
	}
}

// rowGrain gives each thread a few shares of the rows.
func rowGrain(rows, threads int) int { return max(1, rows/(4*threads)) }

// panelGrain is coarse enough that kernels work on several panels at once and memory is read in long runs.
func panelGrain(panels, threads int) int { return max(4, min(32, panels/(4*threads))) }

// logitsOf computes the head for the first rows of w.final into w.logits [rows, V].
func (d *Device) logitsOf(rows int) []float32 {
	v := d.m.cfg.VocabSize
	if need := rows * v; len(d.w.logits) < need {
		d.w.logits = make([]float32, need)
	}
	d.mul(&d.m.head, d.w.final, rows, [maxFan][]float32{d.w.logits}, [maxFan]int{v})
	return d.w.logits[:rows*v]
}
