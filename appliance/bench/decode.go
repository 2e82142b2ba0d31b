package bench

import (
	"context"
	"io"
	"time"

	"hearth/kernels"
)

// DecodeResult compares decoding with the memory bandwidth that bounds it. Rates are the best of the repetitions.
type DecodeResult struct {
	Shape             string  `json:"shape"`
	Level             string  `json:"level"`
	Threads           int     `json:"threads"`
	Context           int     `json:"context"`
	WeightBytes       int64   `json:"weight_bytes_per_token"`
	StateBytes        int64   `json:"state_bytes_per_token"` // read; as many are written
	TokensPerSecond   float64 `json:"tokens_per_second"`
	MedianPerSecond   float64 `json:"tokens_per_second_median"`
	ReadBandwidth     float64 `json:"read_bandwidth_bytes_per_second"`
	BandwidthFraction float64 `json:"bandwidth_fraction"` // bytes read per token · tokens/s / bandwidth
}

// Decode measures single-sequence decoding.
func Decode(ctx context.Context, o Options, out io.Writer) (DecodeResult, error) {
	tokens, repeat := o.Tokens, o.Repeat
	if tokens <= 0 {
		tokens = 16
	}
	if repeat <= 0 {
		repeat = defaultRepeat
	}
	start := max(o.Context, 32)
	r, err := open(ctx, &o, start, tokens, repeat+1)
	if err != nil {
		return DecodeResult{}, err
	}
	defer r.close()
	if err := r.prefill(ctx, 0, start); err != nil {
		return DecodeResult{}, err
	}
	if err := r.decode(ctx, start, tokens); err != nil { // warm up
		return DecodeResult{}, err
	}
	threads := r.dev.Geometry().Threads
	memory := make([]byte, yardstickBytes)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = byte(i >> 12)
	}
	var rate, bandwidth series
	for i := range repeat {
		bandwidth = append(bandwidth, readBandwidth(memory, threads))
		from := start + tokens*(i+1)
		begin := time.Now()
		if err := r.decode(ctx, from, tokens); err != nil {
			return DecodeResult{}, err
		}
		rate = append(rate, float64(tokens)/time.Since(begin).Seconds())
	}
	c := r.dev.Cost()
	res := DecodeResult{
		Shape: name(&o), Level: kernels.Active().String(), Threads: threads, Context: start, WeightBytes: c.WeightBytes, StateBytes: c.StateBytes,
		TokensPerSecond: rate.best(), MedianPerSecond: rate.median(), ReadBandwidth: bandwidth.best(),
	}
	res.BandwidthFraction = float64(c.WeightBytes+c.StateBytes) * res.TokensPerSecond / res.ReadBandwidth
	res.print(out)
	return res, nil
}

func (r *DecodeResult) print(w io.Writer) {
	printf(w, "decode  %s  %s, %d threads, after %d positions\n", r.Shape, r.Level, r.Threads, r.Context)
	printf(w, "  bytes read per token    %.1f MB weights + %.1f MB state\n", float64(r.WeightBytes)/1e6, float64(r.StateBytes)/1e6)
	printf(w, "  tokens/s                %.2f best, %.2f median\n", r.TokensPerSecond, r.MedianPerSecond)
	printf(w, "  read bandwidth          %.2f GB/s (unrolled sum over 1 GiB, same threads, interleaved)\n", r.ReadBandwidth/1e9)
	printf(w, "  share of bandwidth      %.1f %%\n", 100*r.BandwidthFraction)
}

func name(o *Options) string {
	if o.Dir != "" {
		return o.Dir
	}
	return o.Shape
}
