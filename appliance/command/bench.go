package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"hearth/appliance"
	"hearth/appliance/bench"
	"hearth/engine/checkpoint"
)

type benchCmd struct {
	Decode  benchDecodeCmd  `cmd:"" help:"Single-sequence decoding, beside the memory bandwidth."`
	Prefill benchPrefillCmd `cmd:"" help:"Prefill, beside what the instructions could do on registers."`
}

// benchFlags are common to the measurements.
type benchFlags struct {
	Shape   string `help:"Shape of random weights: ${shapes}. Default: ${default}." default:"qwen3.5-0.8b" placeholder:"NAME" env:"-"`
	Model   string `help:"Measure a checkpoint folder instead." type:"existingdir" placeholder:"DIR" env:"-"`
	Write   string `help:"Save the shape as a checkpoint folder and measure nothing." placeholder:"DIR" env:"-"`
	Threads int    `help:"Threads to compute with; 0 is one a core." default:"0"`
	CPU     string `name:"cpu" help:"Instruction level: ${enum}." enum:"auto,generic,avx2,avx512,neon" default:"auto"`
	KV      string `name:"kv" help:"Format of attention keys and values: ${enum}." enum:"auto,f32,bf16,fp8" default:"auto"`
	F32     bool   `name:"f32-activations" help:"Never quantise activations." env:"-"`
	Tokens  int    `help:"Tokens per repetition; 0 is 16 for decode, 512 for prefill." default:"0" env:"-"`
	Context int    `help:"Positions before the first measured token." default:"0" env:"-"`
	Repeat  int    `help:"Repetitions, of which the best and the median are told." default:"7" env:"-"`
	JSON    bool   `name:"json" help:"Print the result as JSON." env:"-"`
}

type benchDecodeCmd struct{ benchFlags }

type benchPrefillCmd struct{ benchFlags }

func (c *benchDecodeCmd) Run() error {
	return c.run(func(ctx context.Context, o bench.Options, w io.Writer) (any, error) { return bench.Decode(ctx, o, w) })
}

func (c *benchPrefillCmd) Run() error {
	return c.run(func(ctx context.Context, o bench.Options, w io.Writer) (any, error) { return bench.Prefill(ctx, o, w) })
}

func (c *benchFlags) run(measure func(context.Context, bench.Options, io.Writer) (any, error)) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.Write != "" {
		return c.save()
	}
	if err := appliance.UseLevel(c.CPU, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		return err
	}
	out := io.Writer(os.Stdout)
	if c.JSON {
		out = io.Discard
	}
	res, err := measure(ctx, bench.Options{
		Shape: c.Shape, Dir: c.Model, Threads: c.Threads, KV: c.KV, F32: c.F32, Tokens: c.Tokens, Context: c.Context, Repeat: c.Repeat,
	}, out)
	if err == nil && c.JSON {
		err = json.NewEncoder(os.Stdout).Encode(res)
	}
	return err
}

// shardBytes of a written checkpoint: as published ones.
const shardBytes = 4 << 30

func (c *benchFlags) save() error {
	ck, err := checkpoint.Synthetic(c.Shape, 1)
	if err != nil {
		return err
	}
	defer ck.Close()
	if err := checkpoint.Write(c.Write, ck, shardBytes); err != nil {
		return err
	}
	fmt.Printf("%s: %s, %.2f GB\n", c.Write, c.Shape, float64(ck.Bytes())/1e9)
	return nil
}

func shapeNames() string {
	names := ""
	for i, s := range checkpoint.Shapes() {
		if i > 0 {
			names += ", "
		}
		names += s.Name
	}
	return names
}
