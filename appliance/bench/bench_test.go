package bench

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"
)

// TestRefused: what the model has no positions for is refused before anything is reserved for it.
func TestRefused(t *testing.T) {
	for _, o := range []Options{{Context: 1 << 40}, {Tokens: math.MaxInt / 2}} {
		o.Shape, o.Threads = "demo", 1
		if _, err := Prefill(context.Background(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "65536") {
			t.Errorf("prefill %+v: %v", o, err)
		}
		if _, err := Decode(context.Background(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "65536") {
			t.Errorf("decode %+v: %v", o, err)
		}
	}
	if _, err := Prefill(context.Background(), Options{Shape: "demo", Context: -7}, io.Discard); err == nil {
		t.Error("a context of -7 positions was accepted")
	}
	if _, err := Decode(context.Background(), Options{Shape: "none"}, io.Discard); err == nil || !strings.Contains(err.Error(), "qwen3.5-0.8b") {
		t.Errorf("unknown shape: %v", err)
	}
}
