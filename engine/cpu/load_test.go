package cpu

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"hearth/engine/checkpoint"
)

// TestProgress: a load tells of nearly all of the checkpoint's bytes, never going back, with a tied head (a) and without (b).
func TestProgress(t *testing.T) {
	for _, name := range []string{"tiny-a-bf16", "tiny-b-bf16"} {
		ck, err := checkpoint.Open(filepath.Join(goldenDir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		last := int64(0)
		d, err := Load(context.Background(), ck, Options{Threads: 2, Pages: func(int) int { return 1 }, Progress: func(bytes int64) {
			if bytes < last {
				t.Errorf("%s: %d bytes after %d", name, bytes, last)
			}
			last = bytes
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if total := ck.Bytes(); last < total*9/10 || last > total {
			t.Errorf("%s: told of %d bytes of %d", name, last, total)
		}
	}
}

// TestHeadDimension: a head dimension that attention has no kernel for is refused before anything is computed.
func TestHeadDimension(t *testing.T) {
	ck, err := checkpoint.Open(filepath.Join(goldenDir, "tiny-a-bf16"))
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	ck.Config.HeadDim = 36
	_, err = Load(context.Background(), ck, Options{Pages: func(int) int { return 1 }})
	if err == nil || !strings.Contains(err.Error(), "head_dim 36") {
		t.Errorf("got %v, want a refusal of head_dim 36", err)
	}
}
