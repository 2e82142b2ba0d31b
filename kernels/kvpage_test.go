package kernels

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

var kvFormats = []KVFormat{KVF32, KVBF16, KVFP8}

func TestKVStoreLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, format := range kvFormats {
		l := KVLayout{Format: format, Heads: 3, Dim: 24}
		if l.Bytes()%64 != 0 {
			t.Errorf("%v: %d bytes", format, l.Bytes())
		}
		page := guarded(t, make([]byte, l.Bytes()))
		const kScale, vScale = 0.03, 0.7
		n := l.Heads * l.Dim
		var k, v [PagePositions][]float32
		for slot := range PagePositions {
			for range n {
				k[slot] = append(k[slot], float32(rng.NormFloat64()))
				v[slot] = append(v[slot], float32(rng.NormFloat64())*10)
			}
		}
		for _, slot := range rng.Perm(PagePositions) {
			l.Store(page, slot, k[slot], v[slot], kScale, vScale)
		}
		rel, abs := 0.0, 0.0
		switch format {
		case KVBF16:
			rel = 1.0 / 256
		case KVFP8:
			rel, abs = 1.0/16+1e-6, 0x1p-10
		}
		for slot := range PagePositions {
			gotK, gotV := make([]float32, n), make([]float32, n)
			l.Load(page, slot, gotK, gotV, kScale, vScale)
			for i := range n {
				if d := math.Abs(float64(gotK[i] - k[slot][i])); !(d <= rel*math.Abs(float64(k[slot][i]))+abs*kScale) {
					t.Fatalf("%v slot %d key %d: %v, want %v", format, slot, i, gotK[i], k[slot][i])
				}
				if d := math.Abs(float64(gotV[i] - v[slot][i])); !(d <= rel*math.Abs(float64(v[slot][i]))+abs*vScale) {
					t.Fatalf("%v slot %d value %d: %v, want %v", format, slot, i, gotV[i], v[slot][i])
				}
			}
		}
	}
}

func TestKVStoreSpecials(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	in := []float32{1e9, -1e9, inf, nan, 0x1p-9, 0x1p-11, 1.0625, 1.1875}
	want := map[KVFormat][]float32{
		KVF32:  in,
		KVBF16: {0x1.dcp+29, -0x1.dcp+29, inf, nan, 0x1p-9, 0x1p-11, 1.0625, 1.1875},
		KVFP8:  {448, -448, 448, 480, 0x1p-9, 0, 1, 1.25}, // ties to even
	}
	for format, w := range want {
		l := KVLayout{Format: format, Heads: 1, Dim: 8}
		page, k, v := make([]byte, l.Bytes()), make([]float32, 8), make([]float32, 8)
		l.Store(page, 5, in, in, 1, 1)
		l.Load(page, 5, k, v, 1, 1)
		for i := range w {
			if !sameBits(k[i], w[i]) || !sameBits(v[i], w[i]) {
				t.Errorf("%v: %v stored as %v and %v, want %v", format, in[i], k[i], v[i], w[i])
			}
		}
	}
}

// sameBits treats all NaNs as one: their signs differ between makers.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func TestKVFP8Table(t *testing.T) {
	for c, over := range fp8Over256 {
		if c&0x7F == 0x7F {
			continue
		}
		if got := fp8Code(over * fp8Unit); int(got) != c {
			t.Errorf("code %#x is %v, which encodes as %#x", c, over*fp8Unit, got)
		}
	}
}

// TestKVFP8Rounding: between neighbours the nearer wins, the even one in the middle.
func TestKVFP8Rounding(t *testing.T) {
	for c := range 0x7E {
		low, high := fp8Over256[c]*fp8Unit, fp8Over256[c+1]*fp8Unit
		middle := (low + high) / 2
		even := c + c&1
		for x, want := range map[float32]int{
			middle: even, math.Nextafter32(middle, 0): c, math.Nextafter32(middle, 1e9): c + 1,
		} {
			if got := fp8Code(x); int(got) != want {
				t.Errorf("%v: code %#x, want %#x", x, got, want)
			}
			if got := fp8Code(-x); int(got) != want|0x80 {
				t.Errorf("%v: code %#x, want %#x", -x, got, want|0x80)
			}
		}
	}
}

func TestKVCopyPositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, format := range kvFormats {
		l := KVLayout{Format: format, Heads: 2, Dim: 16}
		n := l.Heads * l.Dim
		random := func() []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			return x
		}
		a, b := make([]byte, l.Bytes()), make([]byte, l.Bytes())
		for slot := range PagePositions {
			l.Store(a, slot, random(), random(), 1, 1)
			l.Store(b, slot, random(), random(), 1, 1)
		}
		for count := range PagePositions + 1 {
			got := bytes.Clone(b)
			l.CopyPositions(got, a, count)
			for slot := range PagePositions {
				from := b
				if slot < count {
					from = a
				}
				k, v, wantK, wantV := random(), random(), random(), random()
				l.Load(got, slot, k, v, 1, 1)
				l.Load(from, slot, wantK, wantV, 1, 1)
				for i := range k {
					if k[i] != wantK[i] || v[i] != wantV[i] {
						t.Fatalf("%v, %d copied: slot %d differs", format, count, slot)
					}
				}
			}
		}
	}
}
