package kernels

import (
	"fmt"
	"math"
)

// checkVector is n fixed values between -8 and 8.
func checkVector(n int, seed uint32) []float32 {
	x := make([]float32, n)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)>>8) * 0x1p-20
	}
	return x
}

func checkSame(got, want []float32) error {
	for i, w := range want {
		if math.Float32bits(got[i]) != math.Float32bits(w) {
			return fmt.Errorf("entry %d is %x, not %x", i, got[i], w)
		}
	}
	return nil
}

func init() {
	const n = 83 // several vectors of every level, and a tail
	a, b, c := checkVector(n, 1), checkVector(n, 2), checkVector(n, 3)
	// compare runs op and reference on zeroed destinations.
	compare := func(op, reference func(y []float32)) func() error {
		return func() error {
			got, want := make([]float32, n), make([]float32, n)
			op(got)
			reference(want)
			return checkSame(got, want)
		}
	}
	registerCheck("ExpSlice", compare(func(y []float32) { ExpSlice(y, a) }, func(y []float32) { expGeneric(y, a) }))
	registerCheck("SiLUMul", compare(func(y []float32) { SiLUMul(y, a, b) }, func(y []float32) { siluMulGeneric(y, a, b) }))
	registerCheck("SigmoidMul", compare(func(y []float32) { SigmoidMul(y, a, b) },
		func(y []float32) { sigmoidMulGeneric(y, a, b) }))
	registerCheck("Add", compare(func(y []float32) { Add(y, a) }, func(y []float32) { addGeneric(y, a) }))
	registerCheck("RMSNorm", compare(func(y []float32) { RMSNorm(y[:80], a[:80], b[:80], 1e-6) }, func(y []float32) {
		inv := 1 / sqrt32(float32(sumSquaresGeneric(a[:80])/80)+1e-6)
		scaleMulGeneric(y[:80], a[:80], b[:80], inv)
	}))
	registerCheck("GatedRMSNorm", compare(func(y []float32) { GatedRMSNorm(y, a, b, c, 1e-6) }, func(y []float32) {
		inv := 1 / sqrt32(float32(sumSquaresGeneric(a)/n)+1e-6)
		gateMulGeneric(y, a, b, c, inv)
	}))
	registerCheck("L2Norm", compare(func(y []float32) { L2Norm(y[:64], a[:64], 0.5) }, func(y []float32) {
		scaleGeneric(y[:64], a[:64], 1/sqrt32(sumSquaresGeneric(a[:64])+1e-6), 0.5)
	}))
	registerCheck("ConvSiLU", compare(func(y []float32) {
		ConvSiLU(y, a, checkVector(3*n, 4), checkVector(ConvTaps*n, 5), 1, n, n, 0, n)
	}, func(y []float32) {
		state, weight := checkVector(3*n, 4), checkVector(ConvTaps*n, 5)
		convGeneric(y, &[ConvTaps][]float32{state[:n], state[n : 2*n], state[2*n:], a},
			&[ConvTaps][]float32{weight[:n], weight[n : 2*n], weight[2*n : 3*n], weight[3*n:]}, 0)
	}))
	registerCheck("DeltaGates", compare(func(y []float32) { DeltaGates(y[:40], y[40:80], a[:40], b[:40], c[:40], c[40:80]) },
		func(y []float32) { deltaGatesGeneric(y[:40], y[40:80], a[:40], b[:40], c[:40], c[40:80]) }))
	registerCheck("DeltaRule", checkDeltaRule)
	registerCheck("ArgMax", func() error {
		x := checkVector(argMaxChunk+n, 6)
		x[7], x[argMaxChunk+n-2] = 9, 9 // the first of two equals wins
		if got, want := ArgMax(x), argMaxReference(x); got != want {
			return fmt.Errorf("the largest value is at %d, not %d", want, got)
		}
		return nil
	})
}

// checkDeltaRule runs three tokens of one head whose columns need every tile.
func checkDeltaRule() error {
	const rows, dk, dv = 3, 18, 101
	q, k, v := checkVector(rows*dk, 1), checkVector(rows*dk, 2), checkVector(rows*dv, 3)
	for i := range k {
		k[i] *= 0x1p-5
	}
	gates := []float32{0.25, 0.5, 0.875}
	got, want := make([]float32, rows*dv), make([]float32, rows*dv)
	gotState, wantState := checkVector(dk*dv, 4), checkVector(dk*dv, 4)
	DeltaRule(got, dv, gotState, q, k, dk, v, dv, gates, gates, 1, rows, dk, dv, 0, dv)
	deltaGeneric(&deltaRun{want, dv, wantState, q, k, dk, v, dv, gates, gates, 1, rows, dk, dv}, 0, dv)
	if err := checkSame(got, want); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := checkSame(gotState, wantState); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}
