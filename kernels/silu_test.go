package kernels

import "testing"

func TestElementwise(t *testing.T) {
	rng := vecRNG(t)
	ops := []struct {
		name      string
		op        func(y, a, b []float32)
		reference func(y, a, b []float32)
	}{
		{"SiLUMul", SiLUMul, siluMulGeneric},
		{"SigmoidMul", SigmoidMul, sigmoidMulGeneric},
		{"Add", func(y, a, b []float32) { copy(y, a); Add(y, b) }, func(y, a, b []float32) { copy(y, a); addGeneric(y, b) }},
	}
	eachLevel(t, func(t *testing.T) {
		for _, o := range ops {
			for n := range 70 {
				a, b := guarded(t, vecMixed(rng, n)), guarded(t, vecMixed(rng, n))
				want := make([]float32, n)
				o.reference(want, a, b)
				y := guarded(t, make([]float32, n))
				o.op(y, a, b)
				vecSame(t, o.name, y, want)
				if o.name == "Add" {
					continue
				}
				a2 := guarded(t, a)
				o.op(a2, a2, b)
				vecSame(t, o.name+" over its first operand", a2, want)
				o.op(b, a, b)
				vecSame(t, o.name+" over its second operand", b, want)
			}
		}
	})
}

func BenchmarkSiLUMul3584(b *testing.B) {
	vecBench(b, func(b *testing.B) {
		rng := vecRNG(b)
		g, u := vecNormal(rng, 3584, 2), vecNormal(rng, 3584, 1)
		y := make([]float32, len(g))
		b.SetBytes(int64(4 * len(g)))
		for b.Loop() {
			SiLUMul(y, g, u)
		}
	})
}
