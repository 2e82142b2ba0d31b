// Package bench measures the engine beside yardsticks of the same machine, interleaved in one run: read bandwidth for
// decode, the kernel's own instructions on registers for prefill. Machines are shared and noisy; ratios travel, figures
// do not.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"hearth/engine/checkpoint"
	"hearth/engine/cpu"
	"hearth/engine/device"
	"hearth/kernels"
)

// Options of a measurement.
type Options struct {
	Shape   string // a synthetic checkpoint's shape, or
	Dir     string // a checkpoint folder
	Threads int
	KV      string
	F32     bool // activations stay float32
	Tokens  int  // decoded, or prefilled, per repetition
	Context int  // positions before the first measured token
	Repeat  int  // repetitions; the best and the median count
}

const (
	defaultRepeat  = 7
	yardstickBytes = 1 << 30 // far beyond any cache
)

// rig is a loaded model with one sequence.
type rig struct {
	dev   *cpu.Device
	ck    *checkpoint.Checkpoint
	pages []device.PageID
	vocab int
}

// open loads the model with room for start positions and then, so many times, a number of tokens.
func open(ctx context.Context, o *Options, start, tokens, times int) (*rig, error) {
	var ck *checkpoint.Checkpoint
	var err error
	if o.Dir != "" {
		ck, err = checkpoint.Open(o.Dir)
	} else {
		ck, err = checkpoint.Synthetic(o.Shape, 1)
	}
	if err != nil {
		return nil, err
	}
	if most := ck.Config.MaxPositions; start < 0 || start > most || tokens > most || times > most || start+tokens*times > most {
		return nil, errors.Join(fmt.Errorf("%d tokens, %d times after %d positions: the model has %d; change --tokens, --repeat or --context",
			tokens, times, start, most), ck.Close())
	}
	n := (start + tokens*times + kernels.PagePositions - 1) / kernels.PagePositions
	dev, err := cpu.Load(ctx, ck, cpu.Options{
		Threads: o.Threads, KV: o.KV, F32Activations: o.F32, States: 1, Pages: func(int) int { return n },
	})
	if err != nil {
		return nil, errors.Join(err, ck.Close())
	}
	r := &rig{dev: dev, ck: ck, vocab: ck.Config.VocabSize}
	for i := range n {
		r.pages = append(r.pages, device.PageID(i))
	}
	return r, nil
}

func (r *rig) close() {
	r.dev.Close()
	r.ck.Close()
}

// token is a fixed walk through the vocabulary.
func (r *rig) token(i int) int32 { return int32((i*7919 + 13) % min(r.vocab, 4000)) }

func (r *rig) prefill(ctx context.Context, from, to int) error {
	rows := r.dev.Geometry().MaxRows
	for at := from; at < to; at += rows {
		tokens := make([]int32, 0, rows)
		for i := at; i < min(at+rows, to); i++ {
			tokens = append(tokens, r.token(i))
		}
		if err := r.dev.Prefill(ctx, []device.Prefill{{Pages: r.pages, Position: at, Tokens: tokens}}); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) decode(ctx context.Context, from, n int) error {
	var res [1]device.RoundResult
	for i := range n {
		plan := [1]device.RoundPlan{{Pages: r.pages, Position: from + i, Root: r.token(from + i)}}
		if err := r.dev.Round(ctx, plan[:], res[:]); err != nil {
			return err
		}
	}
	return nil
}

// onThreads runs f on n threads at once and returns the time until the last has ended.
func onThreads(n int, f func(i int)) time.Duration {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-begin
			f(i)
		})
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	return time.Since(start)
}

// readBandwidth is one pass over memory with the engine's number of threads, in bytes per second.
func readBandwidth(memory []byte, threads int) float64 {
	var sums [256]uint64
	d := onThreads(threads, func(i int) {
		sums[i] = kernels.SumBytes(memory[len(memory)*i/threads&^63 : len(memory)*(i+1)/threads&^63])
	})
	return float64(len(memory)) / d.Seconds()
}

// peak is multiply-accumulates per second of a register-only loop on all threads.
func peak(threads int, loop func(iterations int) int) float64 {
	const iterations = 2_000_000
	var macs [256]int
	d := onThreads(threads, func(i int) { macs[i] = loop(iterations) })
	total := 0
	for _, m := range macs {
		total += m
	}
	return float64(total) / d.Seconds()
}

// series are repeated measurements of one rate.
type series []float64

func (s series) best() float64   { return slices.Max(s) }
func (s series) median() float64 { c := slices.Sorted(slices.Values(s)); return c[len(c)/2] }

func printf(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format, args...) }
