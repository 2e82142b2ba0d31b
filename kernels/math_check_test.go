package kernels

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"
)

// TestVectorSelfChecks runs the registered checks at every level: none may fail, and a spoiled operand must be noticed.
func TestVectorSelfChecks(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, c := range checks {
			if err := c.run(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
	x := checkVector(5, 1)
	y := append([]float32{}, x...)
	y[4] = -y[4]
	if checkSame(y, x) == nil {
		t.Error("a wrong sign passed")
	}
}

// TestVectorBits hashes results on fixed operands. The digest is that of every architecture and level: where it changes, so
// does the numerics version.
func TestVectorBits(t *testing.T) {
	const want = 0x807c6adc4cedd2c1
	const n, dk, dv, rows = 2048, 32, 48, 5
	eachLevel(t, func(t *testing.T) {
		h := fnv.New64a()
		add := func(xs ...[]float32) {
			for _, x := range xs {
				for _, v := range x {
					h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
				}
			}
		}
		a, b, y := checkVector(n, 1), checkVector(n, 2), make([]float32, n)
		for i := range a {
			a[i] *= 12 // to the ends of Exp's range
		}
		ExpSlice(y, a)
		add(y)
		SiLUMul(y, a, b)
		add(y)
		SigmoidMul(y, a, b)
		add(y)
		RMSNorm(y, a, b, 1e-6)
		add(y)
		L2Norm(y, a, 0.1)
		add(y)
		GatedRMSNorm(y, a, a, b, 1e-6)
		add(y)
		ConvSiLU(y, a, b[:3*128], b[512:1024], 16, 128, 128, 0, 128)
		add(y)
		decay, beta := make([]float32, n), make([]float32, n)
		DeltaGates(decay, beta, b, a, b, a)
		add(decay, beta)
		q, k, v := checkVector(rows*dk, 5), checkVector(rows*dk, 6), checkVector(rows*dv, 7)
		for i := range k {
			k[i] *= 0x1p-6
		}
		o, state := make([]float32, rows*dv), checkVector(dk*dv, 8)
		DeltaRule(o, dv, state, q, k, dk, v, dv, checkVector(rows, 9), checkVector(rows, 10), 1, rows, dk, dv, 0, dv)
		add(o, state)
		for i, x := range a {
			s, c := SinCos(x * 1000)
			add([]float32{Softplus(x), Sigmoid(x), SiLU(x), Log(abs32(x)), Log1p(abs32(x)), s, c})
			if i < 32 {
				RoPE(a[i*64:][:64], y[:32], y[32:64])
			}
		}
		add(a, RoPEFreqs(1e6, 96))
		if got := h.Sum64(); got != want {
			t.Errorf("digest %#x, want %#x", got, uint64(want))
		}
	})
}
