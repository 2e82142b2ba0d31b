package bench

import (
	"context"
	"io"
	"time"

	"hearth/kernels"
)

// PrefillResult compares prefill with what the instructions could do on registers alone. Rates are the best of the
// repetitions; MAC/s counts the products of weight matrices only.
type PrefillResult struct {
	Shape           string  `json:"shape"`
	Level           string  `json:"level"`
	Threads         int     `json:"threads"`
	Tokens          int     `json:"tokens"`
	Context         int     `json:"context"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	MedianPerSecond float64 `json:"tokens_per_second_median"`
	MACsPerSecond   float64 `json:"macs_per_second"`
	InnerPeak       float64 `json:"inner_block_peak_macs_per_second"` // on registers, the whole inner block of the kernel that does most of the work
	FMAPeak         float64 `json:"fma_peak_macs_per_second"`
	InnerFraction   float64 `json:"inner_fraction"`
	FMARatio        float64 `json:"fma_ratio"`
}

// Prefill measures prefill of Tokens (512) after Context positions.
func Prefill(ctx context.Context, o Options, out io.Writer) (PrefillResult, error) {
	tokens, repeat := o.Tokens, o.Repeat
	if tokens <= 0 {
		tokens = 512
	}
	if repeat <= 0 {
		repeat = defaultRepeat
	}
	r, err := open(ctx, &o, o.Context, tokens, 1)
	if err != nil {
		return PrefillResult{}, err
	}
	defer r.close()
	r.dev.ResetState(0)
	if err := r.prefill(ctx, 0, o.Context); err != nil {
		return PrefillResult{}, err
	}
	if err := r.prefill(ctx, o.Context, o.Context+tokens); err != nil { // warm up
		return PrefillResult{}, err
	}
	threads, cost := r.dev.Geometry().Threads, r.dev.Cost()
	loop := kernels.NVFP4InnerPeak
	if 2*cost.FixedMACs > cost.MACs {
		loop = kernels.NVFP4Fixed24InnerPeak
	}
	var rate, inner, fma series
	for range repeat {
		inner = append(inner, peak(threads, loop))
		fma = append(fma, peak(threads, kernels.FMAPeak))
		begin := time.Now()
		if err := r.prefill(ctx, o.Context, o.Context+tokens); err != nil {
			return PrefillResult{}, err
		}
		rate = append(rate, float64(tokens)/time.Since(begin).Seconds())
	}
	res := PrefillResult{
		Shape: name(&o), Level: kernels.Active().String(), Threads: threads, Tokens: tokens, Context: o.Context,
		TokensPerSecond: rate.best(), MedianPerSecond: rate.median(), InnerPeak: inner.best(), FMAPeak: fma.best(),
	}
	res.MACsPerSecond = float64(cost.MACs) * res.TokensPerSecond
	res.InnerFraction, res.FMARatio = res.MACsPerSecond/res.InnerPeak, res.MACsPerSecond/res.FMAPeak
	res.print(out)
	return res, nil
}

func (r *PrefillResult) print(w io.Writer) {
	printf(w, "prefill %s  %s, %d threads, %d tokens after %d\n", r.Shape, r.Level, r.Threads, r.Tokens, r.Context)
	printf(w, "  tokens/s                %.1f best, %.1f median\n", r.TokensPerSecond, r.MedianPerSecond)
	printf(w, "  weight products         %.1f GMAC/s\n", r.MACsPerSecond/1e9)
	printf(w, "  inner block, registers  %.1f GMAC/s, share %.1f %%\n", r.InnerPeak/1e9, 100*r.InnerFraction)
	printf(w, "  FMA peak                %.1f GMAC/s, ratio %.2f\n", r.FMAPeak/1e9, r.FMARatio)
}
