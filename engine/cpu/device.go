// Package cpu is the device that runs on the processor: weights repacked for the kernels, pages and states in memory of its
// own, and the model's forward pass on a fixed set of threads.
//
// One goroutine uses a Device at a time. A step allocates nothing.
package cpu

import (
	"context"
	"fmt"
	"math"

	"hearth/engine/checkpoint"
	"hearth/engine/device"
	"hearth/engine/sampling"
	"hearth/kernels"
)

// Options of a load.
type Options struct {
	Threads        int                // 0: one a core
	F32Activations bool               // do not quantise activations, whatever the checkpoint declares
	KV             string             // "f32", "bf16", "fp8"; "" or "auto": fp8 where the checkpoint has k/v scales, else bf16
	Pages          func(page int) int // how many pages to reserve, given the bytes of one
	States         int
	MaxRows        int               // rows of a step; 0: defaultMaxRows, or genericMaxRows
	MTP            bool              // keep the MTP layer's keys and values too
	Progress       func(bytes int64) // hears how much of the checkpoint is dealt with; may be nil
}

// Device is a model on the CPU.
type Device struct {
	m       *model
	lay     layout
	mem     *memory
	pool    *pool
	w       *work
	p       params
	sampler sampling.Sampler
	spans   []span
	maxRows int

	channels   int     // width of the convolution
	queryScale float32 // of delta-rule queries: dk^(-1/2)
	attnScale  float32 // of attention scores: head_dim^(-1/2)

	// Tasks as function values, made once.
	normJob, siluJob, addJob, prepareJob, mulJob, convJob, deltaJob, rotateJob, attendJob, segmentJob, gateJob func(worker, lo, hi int)

	tap func(layer int, h []float32) // tests look at the stream before each layer, and after the last
}

var _ device.Device = (*Device)(nil)

// Load reads a checkpoint into a device.
func Load(ctx context.Context, ck *checkpoint.Checkpoint, o Options) (*Device, error) {
	format, err := kvFormat(o.KV, ck)
	if err != nil {
		return nil, err
	}
	if n := ck.Config.HeadDim; n%kernels.HeadDimMultiple != 0 {
		return nil, fmt.Errorf("config.json: head_dim %d is not supported: attention takes multiples of %d", n, kernels.HeadDimMultiple)
	}
	o.Threads = threadCount(o.Threads)
	if o.MaxRows == 0 {
		o.MaxRows = defaultMaxRows
		if kernels.Active() == kernels.Generic {
			o.MaxRows = genericMaxRows
		}
	}
	m, err := load(ctx, ck, o.Threads, o.F32Activations, o.Progress)
	if err != nil {
		return nil, err
	}
	lay := place(m, format, o.MTP)
	pages := o.Pages(lay.pageBytes)
	mem, err := newMemory(lay.pageBytes, pages, lay.stateFloats, o.States)
	if err != nil {
		return nil, err
	}
	cfg := m.cfg
	d := &Device{
		m: m, lay: lay, mem: mem, pool: newPool(o.Threads), w: newWork(m, o.MaxRows, pages, o.Threads), maxRows: o.MaxRows,
		channels:   cfg.ConvChannels(),
		queryScale: inverseRoot(cfg.LinearKeyDim), attnScale: inverseRoot(cfg.HeadDim),
	}
	d.normJob, d.siluJob, d.addJob, d.prepareJob, d.mulJob = d.normTask, d.siluTask, d.addTask, d.prepareTask, d.mulTask
	d.convJob, d.deltaJob = d.convTask, d.deltaTask
	d.rotateJob, d.attendJob, d.segmentJob, d.gateJob = d.rotateTask, d.attendTask, d.segmentTask, d.gateTask
	return d, nil
}

// inverseRoot is n^(-1/2) in float32, of the float64 value rounded once.
func inverseRoot(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

// kvFormat reads Options.KV.
func kvFormat(name string, ck *checkpoint.Checkpoint) (kernels.KVFormat, error) {
	if name != "" && name != "auto" {
		format, err := kernels.ParseKVFormat(name)
		if err != nil {
			err = fmt.Errorf("%w, or auto", err)
		}
		return format, err
	}
	for i, full := range ck.Config.FullAttention {
		if _, _, ok := ck.KVScales(i); full && ok {
			return kernels.KVFP8, nil
		}
	}
	return kernels.KVBF16, nil
}

// Geometry implements device.Device.
func (d *Device) Geometry() device.Geometry {
	return device.Geometry{
		PageBytes: d.lay.pageBytes, StateBytes: 4 * d.lay.stateFloats, Pages: d.mem.pageCount, States: d.mem.stateCount,
		MaxRows: d.maxRows, KV: d.lay.kv.Format, Threads: d.pool.threads,
	}
}

// weightBytes is what one decoded token reads of the weights.
func (d *Device) weightBytes() int64 {
	n := d.m.head.size
	for i := range d.m.layers {
		l := &d.m.layers[i]
		n += l.gateUp.size + l.down.size
		if l.gdn != nil {
			n += l.gdn.in.size + l.gdn.out.size
		} else {
			n += l.attn.in.size + l.attn.out.size
		}
	}
	return int64(n)
}

// Prefill implements device.Device.
func (d *Device) Prefill(ctx context.Context, rows []device.Prefill) error {
	total := 0
	d.spans = d.spans[:0]
	for i := range rows {
		r := &rows[i]
		d.spans = append(d.spans, d.newSpan(total, len(r.Tokens), r.Position, r.State, r.Pages))
		if len(r.Tokens) == 0 || total+len(r.Tokens) > d.maxRows {
			return fmt.Errorf("a prefill of %d tokens after %d rows: want 1 or more, and at most %d rows in one step", len(r.Tokens), total, d.maxRows)
		}
		for j, t := range r.Tokens {
			if err := d.embed(total+j, t); err != nil {
				return err
			}
		}
		total += len(r.Tokens)
	}
	if err := d.forward(ctx, total, d.spans); err != nil {
		return err
	}
	d.finish(d.spans)
	return nil
}

// Round implements device.Device.
func (d *Device) Round(ctx context.Context, plans []device.RoundPlan, results []device.RoundResult) error {
	if len(plans) > d.maxRows {
		return fmt.Errorf("a round of %d sequences: at most %d", len(plans), d.maxRows)
	}
	d.spans = d.spans[:0]
	for i := range plans {
		p := &plans[i]
		d.spans = append(d.spans, d.newSpan(i, 1, p.Position, p.State, p.Pages))
		if err := d.embed(i, p.Root); err != nil {
			return err
		}
	}
	if err := d.forward(ctx, len(plans), d.spans); err != nil {
		return err
	}
	d.finish(d.spans)
	v := d.m.cfg.VocabSize
	logits := d.logitsOf(len(plans))
	for i := range plans {
		row := logits[i*v : (i+1)*v]
		results[i].Logits = row
		d.sampler.Params = plans[i].Params
		results[i].Token = int32(d.sampler.SampleMasked(row, plans[i].Mask, plans[i].Index, plans[i].Counts))
	}
	return nil
}

func (d *Device) newSpan(row, rows, position int, state device.StateID, pages []device.PageID) span {
	return span{row: row, rows: rows, position: position, state: d.mem.state(state), pages: pages}
}

// finish takes the final norm of each span's last row: into w.final by span, and into the span's state.
func (d *Device) finish(spans []span) {
	h := d.m.cfg.HiddenSize
	for i := range spans {
		last := spans[i].row + spans[i].rows - 1
		f := d.w.final[i*h : (i+1)*h]
		kernels.RMSNorm(f, d.w.h[last*h:(last+1)*h], d.m.norm, d.m.cfg.RMSNormEps)
		copy(spans[i].state[d.lay.hidden:d.lay.hidden+h], f)
	}
}

// ResetState implements device.Device.
func (d *Device) ResetState(id device.StateID) { clear(d.mem.state(id)) }

// CopyPage implements device.Device.
func (d *Device) CopyPage(dst, src device.PageID, positions int) {
	to, from, n := d.mem.page(dst), d.mem.page(src), d.lay.kv.Bytes()
	for at := 0; at < d.lay.pageBytes; at += n {
		d.lay.kv.CopyPositions(to[at:at+n], from[at:at+n], positions)
	}
}

// CopyState implements device.Device.
func (d *Device) CopyState(dst, src device.StateID) { copy(d.mem.state(dst), d.mem.state(src)) }

// ReadPage implements device.Device.
func (d *Device) ReadPage(id device.PageID, dst []byte) { copy(dst, d.mem.page(id)) }

// WritePage implements device.Device.
func (d *Device) WritePage(id device.PageID, src []byte) { copy(d.mem.page(id), src) }

// ReadState implements device.Device.
func (d *Device) ReadState(id device.StateID, dst []byte) { copy(dst, d.mem.stateBytesOf(id)) }

// WriteState implements device.Device.
func (d *Device) WriteState(id device.StateID, src []byte) { copy(d.mem.stateBytesOf(id), src) }

// Close implements device.Device.
func (d *Device) Close() error {
	d.pool.close()
	d.mem.close()
	return nil
}

// embed puts a token's embedding in row r of the residual stream.
func (d *Device) embed(r int, token int32) error {
	if v := d.m.cfg.VocabSize; token < 0 || int(token) >= v {
		return fmt.Errorf("token %d is outside the vocabulary of %d rows", token, v)
	}
	h := d.m.cfg.HiddenSize
	d.m.embed.Row(d.w.h[r*h:(r+1)*h], int(token))
	return nil
}
