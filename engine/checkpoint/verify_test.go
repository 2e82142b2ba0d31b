package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestVerifyGoldens(t *testing.T) {
	for _, name := range goldenNames {
		c := openGolden(t, name)
		var last, total int64
		r, err := c.Verify(context.Background(), func(done, of int64) {
			if done < last || done > of {
				t.Errorf("%s: progress %d after %d of %d", name, done, last, of)
			}
			last, total = done, of
		})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if strings.HasPrefix(name, "tiny-d") {
			want = 1 // no MTP tensors, as its description says
		}
		if len(r.Findings) != want || !r.Sound() {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		if last != total || total == 0 {
			t.Errorf("%s: progress ends at %d of %d", name, last, total)
		}
		if len(c.Unused()) == 0 {
			t.Errorf("%s: verifying counts as using", name)
		}
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	const up = "model.language_model.layers.0.mlp.up_proj"
	for _, tt := range []struct {
		name, checkpoint string
		damage           func(files fstest.MapFS, m map[string][]byte)
		severity         Severity
		subject, want    string
	}{
		{"NaN in BF16", "tiny-a-bf16", func(_ fstest.MapFS, m map[string][]byte) { copy(m[up+".weight"][1000:], []byte{0xC0, 0x7F}) },
			Broken, "layers.0.mlp.up_proj", "near byte 1000 of " + up + ".weight is a NaN or an infinity"},
		{"NaN in FP8", "tiny-a-fp8", func(_ fstest.MapFS, m map[string][]byte) { m[up+".weight"][77] = 0xFF },
			Broken, "layers.0.mlp.up_proj", "near byte 72 of " + up + ".weight"},
		{"infinite norm", "tiny-a-bf16", func(_ fstest.MapFS, m map[string][]byte) {
			copy(m["model.language_model.norm.weight"][6:], []byte{0x80, 0x7F})
		},
			Broken, "norm.weight", "element 3 is +Inf"},
		{"no tokenizer", "tiny-a-bf16", func(f fstest.MapFS, _ map[string][]byte) { delete(f, "tokenizer.json") }, Broken, "tokenizer.json", "does not exist"},
		{"no generation config", "tiny-a-bf16", func(f fstest.MapFS, _ map[string][]byte) { delete(f, "generation_config.json") }, Warning, "generation_config.json", "absent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := goldenFiles(t, tt.checkpoint)
			c, err := OpenFS(files, ".")
			if err != nil {
				t.Fatal(err)
			}
			m := map[string][]byte{}
			for _, s := range c.stored {
				m[s.Name] = s.Data()
			}
			tt.damage(files, m)
			r, err := c.Verify(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Findings) != 1 {
				t.Fatalf("%+v", r.Findings)
			}
			if f := r.Findings[0]; f.Severity != tt.severity || f.Subject != tt.subject || !strings.Contains(f.Message, tt.want) {
				t.Errorf("%+v, want %s about %s: %s", f, tt.severity, tt.subject, tt.want)
			}
		})
	}
}

// TestVerifyHubLink: the hub's cache keeps a weight file under its SHA-256 and links to it.
func TestVerifyHubLink(t *testing.T) {
	blobs, dir := t.TempDir(), t.TempDir()
	weights, err := os.ReadFile(filepath.Join(goldenDir, "tiny-a-bf16", "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range smallFiles {
		if b, err := os.ReadFile(filepath.Join(goldenDir, "tiny-a-bf16", f)); err == nil {
			if err := os.WriteFile(filepath.Join(dir, f), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	sum := sha256.Sum256(weights)
	blob := filepath.Join(blobs, hex.EncodeToString(sum[:]))
	if err := errors.Join(os.WriteFile(blob, weights, 0o644), os.Symlink(blob, filepath.Join(dir, "model.safetensors"))); err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []bool{false, true} {
		if damaged {
			weights[len(weights)-2] ^= 1
			if err := os.WriteFile(blob, weights, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Verify(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Sound() == damaged {
			t.Errorf("damaged %v: %+v", damaged, r.Findings)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDigest(t *testing.T) {
	c := openGolden(t, "tiny-b-bf16")
	d, err := c.Digest(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Files() {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := d.Files[filepath.Base(f.Path)], fmt.Sprintf("%x", sha256.Sum256(b)); got != want {
			t.Errorf("%s: %s, want %s", f.Path, got, want)
		}
		if f.Size != int64(len(b)) || f.Inode == 0 || f.ModTime.IsZero() {
			t.Errorf("%+v", f)
		}
	}
	files := goldenFiles(t, "tiny-b-bf16")
	again, err := OpenFS(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if e, err := again.Digest(context.Background(), nil); err != nil || e.Fingerprint != d.Fingerprint {
		t.Errorf("the same bytes elsewhere have fingerprint %s, not %s (%v)", e.Fingerprint, d.Fingerprint, err)
	}
	if err := replace(files, "config.json", "10000000.0", "10000001.0"); err != nil {
		t.Fatal(err)
	}
	if e, err := again.Fingerprint(d.Files); err != nil || e.Fingerprint == d.Fingerprint {
		t.Errorf("another config has the same fingerprint (%v)", err)
	}
	if _, err := again.Fingerprint(nil); err == nil || !strings.Contains(err.Error(), "no digest of model-00001") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Digest(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestInventory(t *testing.T) {
	for name, want := range map[string]struct {
		formats string
		params  int64
	}{
		"tiny-a-bf16": {"BF16", 0}, "tiny-a-nvfp4": {"NVFP4 (W4A4), BF16", 0}, "tiny-a-mixed": {"NVFP4 (W4A16), FP8, BF16", 0},
		"tiny-a-ct": {"NVFP4 (W4A4), BF16", 0}, "tiny-c-ctw4a16": {"NVFP4 (W4A16), BF16", 0}, "tiny-b-fp8": {"FP8, BF16", 0},
	} {
		c := openGolden(t, name)
		if got := c.Formats(); got != want.formats {
			t.Errorf("%s: formats %s, want %s", name, got, want.formats)
		}
		// A BF16 checkpoint of the same letter stores each parameter once, in two bytes (a few in four).
		var params, bytes int64
		for _, x := range openGolden(t, name[:7]+"bf16").Inventory() {
			if x.Logical != "" {
				params += int64(x.elements())
			}
		}
		for _, x := range c.Inventory() {
			if x.Logical != "" {
				bytes += x.Bytes
			}
		}
		if c.Params() != params || c.Bytes() != bytes {
			t.Errorf("%s: %d parameters in %d bytes, want %d in %d", name, c.Params(), c.Bytes(), params, bytes)
		}
	}
}

func TestBadBytesAreFoundEverywhere(t *testing.T) {
	for n := 1; n < 40; n++ {
		for i := range n {
			b := make([]byte, n)
			for k := range b {
				b[k] = 0x7E
			}
			if got := badBlockScale(b); got != -1 {
				t.Fatalf("largest scale is bad at %d", got)
			}
			if got := firstNonFinite(FP8Block, b); got != -1 {
				t.Fatalf("largest code is bad at %d", got)
			}
			for _, bad := range []byte{0x7F, 0x80, 0xFF} {
				b[i] = bad
				if got := badBlockScale(b); got != i {
					t.Errorf("%#x at %d of %d: found %d", bad, i, n, got)
				}
				if got, want := firstNonFinite(FP8Block, b), i/8*8; bad != 0x80 && got != want {
					t.Errorf("%#x at %d of %d: found near %d", bad, i, n, got)
				}
			}
		}
	}
	for f, values := range map[Format]map[uint32]bool{
		BF16: {0x7F7F: true, 0xFF7F: true, 0x7F80: false, 0xFF80: false, 0x7FC0: false, 0x0001: true, 0x8000: true},
		F16:  {0x7BFF: true, 0xFBFF: true, 0x7C00: false, 0xFC01: false},
		F32:  {0x7F7FFFFF: true, 0x7F800000: false, 0xFFC00000: false, math.Float32bits(-1): true},
	} {
		for v, finite := range values {
			b := make([]byte, 12)
			b[8], b[9], b[10], b[11] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
			if got := firstNonFinite(f, b) < 0; got != finite {
				t.Errorf("%v %#x finite: %v", f, v, got)
			}
		}
	}
}

func TestHalfToFloat(t *testing.T) {
	for h, want := range map[uint16]float64{
		0x0000: 0, 0x3C00: 1, 0xC000: -2, 0x7BFF: 65504, 0x0400: 1.0 / (1 << 14), 0x0001: 1.0 / (1 << 24), 0x83FF: -1023.0 / (1 << 24), 0x3555: 0.333251953125,
		0x7C00: math.Inf(1), 0xFC00: math.Inf(-1),
	} {
		if got := float64(halfToFloat(h)); got != want {
			t.Errorf("%#04x is %v, want %v", h, got, want)
		}
	}
	if x := halfToFloat(0x7E00); x == x {
		t.Errorf("NaN is %v", x)
	}
	if math.Float32bits(halfToFloat(0x8000)) != 1<<31 {
		t.Error("the sign of zero is lost")
	}
}
