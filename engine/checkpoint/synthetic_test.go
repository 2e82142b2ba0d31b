package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// same fails unless both checkpoints hold the same tensors and configs, byte for byte.
func same(t *testing.T, got, want *Checkpoint) {
	t.Helper()
	if len(got.stored) != len(want.stored) {
		t.Fatalf("%d tensors, want %d", len(got.stored), len(want.stored))
	}
	for i, w := range want.stored {
		g := got.stored[i]
		if g.Name != w.Name || g.DType != w.DType || len(g.Shape) != len(w.Shape) || !bytes.Equal(g.Data(), w.Data()) {
			t.Errorf("%s %s %v differs from %s %s %v", g.Name, g.DType, g.Shape, w.Name, w.DType, w.Shape)
		}
		for k := range min(len(g.Shape), len(w.Shape)) {
			if g.Shape[k] != w.Shape[k] {
				t.Errorf("%s: shape %v, want %v", g.Name, g.Shape, w.Shape)
			}
		}
	}
	for _, name := range smallFiles {
		g, gerr := got.File(name)
		w, werr := want.File(name)
		if (gerr == nil) != (werr == nil) || !bytes.Equal(g, w) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestSyntheticRoundTrip(t *testing.T) {
	for _, shardBytes := range []int64{0, 1 << 20} {
		c, err := Synthetic("demo", 7)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "model")
		if err := Write(dir, c, shardBytes); err != nil {
			t.Fatal(err)
		}
		back, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer back.Close()
		same(t, back, c)
		if files := len(back.Files()); (files > 1) != (shardBytes > 0) {
			t.Errorf("%d weight files with shards of %d bytes", files, shardBytes)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*partial*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		embedded, err := OpenFS(os.DirFS(filepath.Dir(dir)), "model")
		if err != nil {
			t.Fatal(err)
		}
		same(t, embedded, c)
	}
}

func TestGoldenRoundTrip(t *testing.T) {
	for _, name := range []string{"tiny-b-mixed", "tiny-a-ct"} { // shards, vision tensors and F32; [1] shapes
		c := openGolden(t, name)
		dir := t.TempDir()
		if err := Write(dir, c, 300_000); err != nil {
			t.Fatal(err)
		}
		back, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer back.Close()
		same(t, back, c)
	}
}

func TestWriteRefusesNonEmpty(t *testing.T) {
	c, err := Synthetic("demo", 7)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	keep := filepath.Join(dir, "config.json")
	if err := os.WriteFile(keep, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, c, 0); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("error %v", err)
	}
	if b, _ := os.ReadFile(keep); string(b) != "mine" {
		t.Errorf("file was changed to %q", b)
	}
}

func TestSyntheticFormats(t *testing.T) {
	type form struct {
		f Format
		s Scheme
	}
	for shape, want := range map[string]map[string]form{
		"demo": {"layers.0.mlp.up_proj": {NVFP4, StaticNVFP4}, "layers.0.linear_attn.in_proj_a": {BF16, None}, "embed_tokens": {BF16, None}, "mtp.fc": {BF16, None}},
		"qwen3.5-0.8b": {"layers.3.self_attn.k_proj": {NVFP4, StaticNVFP4}, "layers.0.linear_attn.in_proj_b": {BF16, None},
			"layers.23.mlp.down_proj": {NVFP4, StaticNVFP4}, "mtp.layers.0.self_attn.k_proj": {BF16, None}},
		"qwen3.5-0.8b-w4a16": {"layers.3.self_attn.k_proj": {NVFP4, None}, "layers.23.mlp.down_proj": {NVFP4, None}},
		"qwen3.6-27b-layer":  {"layers.3.self_attn.k_proj": {FP8Tensor, StaticFP8}, "layers.0.linear_attn.in_proj_a": {BF16, None}, "lm_head": {NVFP4, None}},
	} {
		c, err := Synthetic(shape, 1)
		if err != nil {
			t.Fatal(err)
		}
		matrices, _ := c.Config.plan(true)
		for _, p := range matrices {
			w, ok := want[p.name]
			if !ok {
				continue
			}
			m, err := c.Matrix(p.name, p.rows, p.cols)
			if err != nil {
				t.Fatal(err)
			}
			if m.Format != w.f || m.Activations != w.s {
				t.Errorf("%s %s: %v with %v activations, want %v with %v", shape, p.name, m.Format, m.Activations, w.f, w.s)
			}
			x := dequantise(m)
			var s float64
			for _, v := range x {
				s += float64(v) * float64(v)
			}
			got, target := math.Sqrt(s/float64(len(x))), gain(p.name, c.Config.Tied)/math.Sqrt(float64(p.cols))
			if !(math.Abs(got/target-1) < 0.02) {
				t.Errorf("%s %s: spread %g, want %g", shape, p.name, got, target)
			}
		}
		if _, err := c.File("tokenizer.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("tokenizer.json: %v", err)
		}
	}
}

func TestSyntheticDependsOnSeedAndName(t *testing.T) {
	open := func(seed uint64) *Checkpoint {
		c, err := Synthetic("demo", seed)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	get := func(c *Checkpoint, name string) []byte {
		m, err := c.Matrix(name, 512, 256)
		if err != nil {
			t.Fatal(err)
		}
		return m.Codes
	}
	a := get(open(1), "layers.0.mlp.up_proj")
	if !bytes.Equal(a, get(open(1), "layers.0.mlp.up_proj")) {
		t.Error("the same seed gives other bytes")
	}
	if bytes.Equal(a, get(open(2), "layers.0.mlp.up_proj")) || bytes.Equal(a, get(open(1), "layers.0.mlp.gate_proj")) {
		t.Error("another seed or name gives the same bytes")
	}
	one, _ := open(1).Digest(context.Background(), nil)
	two, _ := open(2).Digest(context.Background(), nil)
	if one.Fingerprint == two.Fingerprint || len(one.Fingerprint) != 64 {
		t.Errorf("fingerprints %q and %q", one.Fingerprint, two.Fingerprint)
	}
	if _, err := Synthetic("qwen9", 1); err == nil || !strings.Contains(err.Error(), "demo") {
		t.Errorf("unknown shape: %v", err)
	}
}

func BenchmarkGenerate(b *testing.B) {
	buf := make([]byte, 16<<20)
	for _, f := range []struct {
		name string
		fill fill
	}{{"codes", randomBytes}, {"masked", maskedBytes(fp8Bits, fp8Mask)}, {"bf16", uniformBF16(0, 1)}} {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				f.fill(newStream(1, f.name), buf)
			}
		})
	}
}
