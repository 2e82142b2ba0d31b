package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// deltaCase is one head with strides wider than its rows.
type deltaCase struct {
	rows, dk, dv, qkStride, vStride, oStride, gateStride int
	q, k, v, state, decay, beta                          []float32
}

func newDeltaCase(t testing.TB, rows, dk, dv int) *deltaCase {
	rng := vecRNG(t)
	c := &deltaCase{rows: rows, dk: dk, dv: dv, qkStride: dk + rng.IntN(5), vStride: dv + rng.IntN(5),
		oStride: dv + rng.IntN(5), gateStride: 1 + rng.IntN(3)}
	c.q = guarded(t, vecNormal(rng, (rows-1)*c.qkStride+dk, 0.1))
	c.k = guarded(t, vecNormal(rng, (rows-1)*c.qkStride+dk, 1/math.Sqrt(float64(dk))))
	c.v = guarded(t, vecNormal(rng, (rows-1)*c.vStride+dv, 1))
	c.state = vecNormal(rng, dk*dv, 1)
	gates := (rows-1)*c.gateStride + 1
	c.decay, c.beta = make([]float32, gates), make([]float32, gates)
	for i := range gates {
		c.decay[i], c.beta[i] = rng.Float32(), rng.Float32()
	}
	c.decay, c.beta = guarded(t, c.decay), guarded(t, c.beta)
	return c
}

// run computes tokens t0..t1 of columns j0..j1.
func (c *deltaCase) run(o, state []float32, t0, t1, j0, j1 int) {
	last := t1 - 1
	DeltaRule(o[t0*c.oStride:last*c.oStride+c.dv], c.oStride, state, c.q[t0*c.qkStride:last*c.qkStride+c.dk],
		c.k[t0*c.qkStride:last*c.qkStride+c.dk], c.qkStride, c.v[t0*c.vStride:last*c.vStride+c.dv], c.vStride,
		c.decay[t0*c.gateStride:], c.beta[t0*c.gateStride:], c.gateStride, t1-t0, c.dk, c.dv, j0, j1)
}

func (c *deltaCase) reference() (o, state []float32) {
	o, state = make([]float32, (c.rows-1)*c.oStride+c.dv), slices.Clone(c.state)
	deltaGeneric(&deltaRun{o, c.oStride, state, c.q, c.k, c.qkStride, c.v, c.vStride, c.decay, c.beta, c.gateStride,
		c.rows, c.dk, c.dv}, 0, c.dv)
	return o, state
}

// TestDeltaRule cuts the tokens and the columns in random places: every cut gives the bits of the reference.
func TestDeltaRule(t *testing.T) {
	sizes := [][3]int{{1, 128, 128}, {6, 128, 128}, {5, 32, 32}, {5, 16, 16}, {3, 64, 48}, {2, 1, 1}, {4, 3, 5}, {3, 17, 100}, {3, 30, 77}}
	eachLevel(t, func(t *testing.T) {
		for _, s := range sizes {
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				rng := vecRNG(t)
				c := newDeltaCase(t, s[0], s[1], s[2])
				wantO, wantState := c.reference()
				for try := range 6 {
					o, state := guarded(t, make([]float32, len(wantO))), guarded(t, c.state)
					for t0 := 0; t0 < c.rows; {
						t1 := c.rows
						if try > 0 {
							t1 = t0 + 1 + rng.IntN(c.rows-t0)
						}
						j := 0
						if try > 1 {
							j = rng.IntN(c.dv + 1)
						}
						c.run(o, state, t0, t1, j, c.dv)
						c.run(o, state, t0, t1, 0, j)
						t0 = t1
					}
					vecSame(t, "output", o, wantO)
					vecSame(t, "state", state, wantState)
				}
			})
		}
	})
}

func TestDeltaToyVectors(t *testing.T) {
	q := [][]float32{{1, 2}, {-1, 0.5}, {0.25, -0.75}}
	k := [][]float32{{0.5, -1}, {2, 1}, {1, 1}}
	heads := []struct {
		v                []float32
		a, b             []float32
		negExpA, dtBias  float32
		g, beta, o, last []float64
	}{
		{[]float32{1, 0, 0, 2, 3, -1}, []float32{0.1, 1, -1}, []float32{0, -1, 0.5}, -1, -0.5,
			[]float64{-0.513015252, -0.974076984, -0.201413278}, []float64{0.5, 0.268941421, 0.622459331},
			[]float64{-0.212131928, 0, -0.106784541, -0.228204249, -0.492089251, 0.234982394},
			[]float64{1.410936569, -0.230437561, 1.203876121, -0.427103872}},
		{[]float32{0.5, -0.5, -1, 1, 0.25, 0.75}, []float32{-0.2, 0, 2}, []float32{1, 2, 0.5}, -Exp(1), 0.25,
			[]float64{-1.952975806, -2.245136116, -6.388523782}, []float64{0.731058579, 0.880797078, 0.622459331},
			[]float64{-0.155080866, 0.155080866, 0.351790240, -0.351790240, -0.049296587, -0.147542130},
			[]float64{0.109368482, 0.330776622, 0.109943232, 0.330201872}},
	}
	eachLevel(t, func(t *testing.T) {
		var qn, kn []float32
		for i := range q {
			y := make([]float32, 4)
			L2Norm(y[:2], q[i], 0.70710678)
			L2Norm(y[2:], k[i], 1)
			qn, kn = append(qn, y[:2]...), append(kn, y[2:]...)
		}
		for _, h := range heads {
			decay, beta := make([]float32, 3), make([]float32, 3)
			for i := range decay {
				DeltaGates(decay[i:i+1], beta[i:i+1], h.a[i:i+1], h.b[i:i+1], []float32{h.negExpA}, []float32{h.dtBias})
			}
			want := make([]float64, 3)
			for i, g := range h.g {
				want[i] = math.Exp(g)
			}
			o, state := make([]float32, 6), make([]float32, 4)
			DeltaRule(o, 2, state, qn, kn, 2, h.v, 2, decay, beta, 1, 3, 2, 2, 0, 2)
			vecNear(t, "decay", decay, want, 3e-7)
			vecNear(t, "beta", beta, h.beta, 3e-7)
			vecNear(t, "o", o, h.o, 1e-6)
			vecNear(t, "state", state, h.last, 1e-6)
		}
	})
}

func TestDeltaGates(t *testing.T) {
	rng := vecRNG(t)
	eachLevel(t, func(t *testing.T) {
		for n := range 50 {
			a, b := guarded(t, vecMixed(rng, n)), guarded(t, vecMixed(rng, n))
			negExpA, dtBias := guarded(t, vecNormal(rng, n, 2)), guarded(t, vecNormal(rng, n, 1))
			decay, beta := make([]float32, n), make([]float32, n)
			for h := range n {
				beta[h] = Sigmoid(b[h])
				decay[h] = Exp(negExpA[h] * Softplus(a[h]+dtBias[h]))
			}
			DeltaGates(a, b, a, b, negExpA, dtBias)
			vecSame(t, "decay", a, decay)
			vecSame(t, "beta", b, beta)
		}
	})
}

// BenchmarkDeltaRule runs the sixteen heads of one layer; bytes are those of the state, once per token.
func BenchmarkDeltaRule(b *testing.B) {
	for _, rows := range []int{1, 64} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			vecBench(b, func(b *testing.B) {
				const heads = 16
				c := newDeltaCase(b, rows, 128, 128)
				o := make([]float32, rows*c.oStride)
				states := make([][]float32, heads)
				for h := range states {
					states[h] = slices.Clone(c.state)
				}
				b.SetBytes(int64(rows * heads * 4 * 128 * 128))
				for b.Loop() {
					for h := range heads {
						c.run(o, states[h], 0, rows, 0, c.dv)
					}
				}
			})
		})
	}
}

func BenchmarkDeltaGates48(b *testing.B) {
	vecBench(b, func(b *testing.B) {
		x := vecNormal(vecRNG(b), 48, 1)
		y, z := make([]float32, 48), make([]float32, 48)
		for b.Loop() {
			DeltaGates(y, z, x, x, x, x)
		}
	})
}
