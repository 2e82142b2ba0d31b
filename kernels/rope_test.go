package kernels

import (
	"math"
	"testing"
)

// TestRoPEFreqs wants the bits that Transformers computes for 64 rotary dims and theta 1e7.
func TestRoPEFreqs(t *testing.T) {
	want := []uint32{
		0x3F800000, 0x3F1AB32B, 0x3EBAF81B, 0x3E61F835, 0x3E088D77, 0x3DA50956, 0x3D47763F, 0x3CF11177,
		0x3C91AD39, 0x3C301052, 0x3BD4CA15, 0x3B80967D, 0x3B1B690D, 0x3ABBD3ED, 0x3A6301E2, 0x3A092E02,
		0x39A5CB60, 0x394860C1, 0x38F22CE2, 0x3892587E, 0x3830DF52, 0x37D5C441, 0x37812DAB, 0x371C1FC4,
		0x36BCB0C1, 0x36640CC6, 0x3609CF4A, 0x35A68E4C, 0x35494C57, 0x34F3499D, 0x3493048E, 0x3431AF44,
	}
	got := RoPEFreqs(1e7, 64)
	if len(got) != len(want) {
		t.Fatalf("%d frequencies, want %d", len(got), len(want))
	}
	for i, f := range got {
		if math.Float32bits(f) != want[i] {
			t.Errorf("inv_freq[%d] = %08X, want %08X", i, math.Float32bits(f), want[i])
		}
	}
	for i, f := range RoPEFreqs(1e4, 24) { // exponents that are rounded themselves
		if w := math.Pow(1e4, -float64(2*i)/24); !(math.Abs(float64(f)-w) <= 1e-6*w) {
			t.Errorf("inv_freq[%d] of 24 dims = %v, want %v", i, f, w)
		}
	}
}

func TestRoPETableAtLongPositions(t *testing.T) {
	freqs := RoPEFreqs(1e7, 64)
	cos, sin := make([]float32, 32), make([]float32, 32)
	for _, c := range []struct {
		pos      int
		cos, sin float64
	}{{262143, 0.923175251, 0.384379312}, {1000, 0.444126500, 0.895964091}} {
		RoPETable(cos, sin, c.pos, freqs)
		vecNear(t, "cos, sin", []float32{cos[1], sin[1]}, []float64{c.cos, c.sin}, 1e-7)
	}
}

func TestRoPELeavesTheRest(t *testing.T) {
	rng := vecRNG(t)
	x := guarded(t, vecNormal(rng, 20, 1))
	cos, sin := guarded(t, vecNormal(rng, 7, 1)), guarded(t, vecNormal(rng, 7, 1))
	want := append([]float32{}, x...)
	for i := range cos {
		a, b := float64(x[i]), float64(x[i+7])
		c, s := float64(cos[i]), float64(sin[i])
		want[i] = float32(float64(float32(a*c)) - float64(float32(b*s))) // a sum of two float32 in float64 rounds once in effect
		want[i+7] = float32(float64(float32(b*c)) + float64(float32(a*s)))
	}
	RoPE(x, cos, sin)
	vecSame(t, "RoPE", x, want)
}

func BenchmarkRoPE64(b *testing.B) {
	rng := vecRNG(b)
	x, c, s := vecNormal(rng, 64, 1), vecNormal(rng, 32, 1), vecNormal(rng, 32, 1)
	for b.Loop() {
		RoPE(x, c, s)
	}
}
