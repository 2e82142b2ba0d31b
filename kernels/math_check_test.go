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

// TestVectorOperationsDoNotAllocate covers what a step calls.
func TestVectorOperationsDoNotAllocate(t *testing.T) {
	const n = 70
	a, b, y, w, state := checkVector(n, 1), checkVector(n, 2), make([]float32, n), checkVector(4*n, 3), make([]float32, n*n)
	eachLevel(t, func(t *testing.T) {
		if got := testing.AllocsPerRun(3, func() {
			ExpSlice(y, a)
			SiLUMul(y, a, b)
			SigmoidMul(y, a, b)
			Add(y, a)
			RMSNorm(y, a, b, 1e-6)
			GatedRMSNorm(y, a, b, b, 1e-6)
			L2Norm(y, a, 1)
			ConvSiLU(y, a, w[:3*n], w, 1, n, n, 0, n)
			ConvState(w[:3*n], a, 1, n, n)
			DeltaGates(y, b, a, b, a, a)
			DeltaRule(y, n, state, a, a, n, a, n, w, w, 1, 1, n, n, 0, n)
			RoPE(y, a[:30], b[:30])
			RoPETable(y, b, 7, a)
		}); got != 0 {
			t.Errorf("%v allocations", got)
		}
	})
}

// TestVectorLengthMismatchesPanic: assembly trusts lengths, so no wrong one may reach it.
func TestVectorLengthMismatchesPanic(t *testing.T) {
	x, long := make([]float32, 32), make([]float32, 1024)
	short := x[:31]
	for name, call := range map[string]func(){
		"ExpSlice":             func() { ExpSlice(x, short) },
		"SiLUMul":              func() { SiLUMul(x, x, short) },
		"SiLUMul gate":         func() { SiLUMul(x, short, x) },
		"SigmoidMul":           func() { SigmoidMul(x, x, short) },
		"Add":                  func() { Add(x, short) },
		"RMSNorm":              func() { RMSNorm(x, x, short, 1e-6) },
		"RMSNorm y":            func() { RMSNorm(short, x, x, 1e-6) },
		"GatedRMSNorm z":       func() { GatedRMSNorm(x, x, short, x, 1e-6) },
		"GatedRMSNorm weight":  func() { GatedRMSNorm(x, x, x, short, 1e-6) },
		"L2Norm":               func() { L2Norm(x, short, 1) },
		"ConvSiLU u":           func() { ConvSiLU(long, x[:63-32], long[:48], long[:64], 2, 16, 16, 0, 16) },
		"ConvSiLU y":           func() { ConvSiLU(short, x, long[:48], long[:64], 2, 16, 16, 0, 16) },
		"ConvSiLU state":       func() { ConvSiLU(x, x, long[:47], long[:64], 2, 16, 16, 0, 16) },
		"ConvSiLU weight":      func() { ConvSiLU(x, x, long[:48], long[:63], 2, 16, 16, 0, 16) },
		"ConvSiLU channels":    func() { ConvSiLU(x, x, long[:48], long[:64], 2, 16, 16, 0, 17) },
		"ConvState":            func() { ConvState(long[:48], short, 2, 16, 16) },
		"DeltaGates":           func() { DeltaGates(x, x, x, x, x, short) },
		"DeltaRule state":      func() { DeltaRule(x, 16, long[:255], x, x, 16, x, 16, x, x, 1, 2, 16, 16, 0, 16) },
		"DeltaRule q":          func() { DeltaRule(x, 16, long[:256], short, x, 16, x, 16, x, x, 1, 2, 16, 16, 0, 16) },
		"DeltaRule k":          func() { DeltaRule(x, 16, long[:256], x, short, 16, x, 16, x, x, 1, 2, 16, 16, 0, 16) },
		"DeltaRule v":          func() { DeltaRule(x, 16, long[:256], x, x, 16, short, 16, x, x, 1, 2, 16, 16, 0, 16) },
		"DeltaRule o":          func() { DeltaRule(short, 16, long[:256], x, x, 16, x, 16, x, x, 1, 2, 16, 16, 0, 16) },
		"DeltaRule gates":      func() { DeltaRule(x, 16, long[:256], x, x, 16, x, 16, x[:1], x, 1, 2, 16, 16, 0, 16) },
		"DeltaRule columns":    func() { DeltaRule(x, 16, long[:256], x, x, 16, x, 16, x, x, 1, 2, 16, 16, 8, 17) },
		"RoPE":                 func() { RoPE(short, x[:16], x[:16]) },
		"RoPE tables":          func() { RoPE(x, x[:16], x[:15]) },
		"RoPETable":            func() { RoPETable(x, short, 1, x) },
		"RoPEFreqs odd":        func() { RoPEFreqs(1e4, 3) },
		"RoPEFreqs zero theta": func() { RoPEFreqs(0, 4) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
