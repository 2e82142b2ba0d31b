package kernels

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// vecGolden hands out the recorded tensors of one group and remembers which were read.
type vecGolden struct {
	t       *testing.T
	group   string
	tensors map[string]goldenTensor
	read    map[string]bool
}

// f32 is the tensor group/name.
func (g *vecGolden) f32(name string) []float32 {
	g.t.Helper()
	x, ok := g.tensors[g.group+name]
	if !ok {
		g.t.Fatalf("no tensor %s%s", g.group, name)
	}
	g.read[name] = true
	return x.floats(g.t)
}

func (g *vecGolden) dims(name string) []int {
	g.f32(name)
	return g.tensors[g.group+name].shape
}

// near compares with the tensor group/name, 1e-5 of its largest value allowed.
func (g *vecGolden) near(got []float32, name string) {
	g.t.Helper()
	want := make([]float64, len(got))
	for i, w := range g.f32(name) {
		want[i] = float64(w)
	}
	vecNear(g.t, g.group+name, got, want, 1e-5)
}

// eachGolden runs body at every level for every group of tensors under prefix, and fails when one was left unread.
func eachGolden(t *testing.T, prefix string, body func(g *vecGolden)) {
	tensors := goldenTensors(t)
	sizes := map[string]int{}
	for name := range tensors {
		if strings.HasPrefix(name, prefix+"/") {
			sizes[name[:strings.LastIndexByte(name, '/')+1]]++
		}
	}
	if len(sizes) == 0 {
		t.Fatalf("no tensors under %s", prefix)
	}
	eachLevel(t, func(t *testing.T) {
		for group, size := range sizes {
			g := &vecGolden{t, group, tensors, map[string]bool{}}
			body(g)
			if len(g.read) != size {
				t.Errorf("group %s has %d tensors, only %d were read", group, size, len(g.read))
			}
		}
	})
}

func TestGoldenUnary(t *testing.T) {
	eachGolden(t, "unary", func(g *vecGolden) {
		x := g.f32("x")
		apply := func(f func(float32) float32) []float32 {
			y := make([]float32, len(x))
			for i, v := range x {
				y[i] = f(v)
			}
			return y
		}
		g.near(apply(Sigmoid), "sigmoid")
		g.near(apply(SiLU), "silu")
		g.near(apply(Softplus), "softplus")
		one := slices.Repeat([]float32{1}, len(x))
		y := make([]float32, len(x))
		SiLUMul(y, x, one)
		g.near(y, "silu")
		SigmoidMul(y, one, x)
		g.near(y, "sigmoid")
	})
}

func TestGoldenNorms(t *testing.T) {
	eachGolden(t, "rmsnorm", func(g *vecGolden) {
		n := g.dims("x")[1]
		w := slices.Clone(g.f32("weight"))
		for i := range w {
			w[i]++
		}
		y := slices.Clone(g.f32("x"))
		for r := 0; r < len(y); r += n {
			RMSNorm(y[r:r+n], y[r:r+n], w, 1e-6)
		}
		g.near(y, "y")
	})
	eachGolden(t, "gated_norm", func(g *vecGolden) {
		n := g.dims("x")[1]
		y, z := slices.Clone(g.f32("x")), g.f32("z")
		for r := 0; r < len(y); r += n {
			GatedRMSNorm(y[r:r+n], y[r:r+n], z[r:r+n], g.f32("weight"), 1e-6)
		}
		g.near(y, "y")
	})
}

func TestGoldenConv(t *testing.T) {
	eachGolden(t, "conv", func(g *vecGolden) {
		rows, channels := g.dims("u")[0], g.dims("u")[1]
		u, weight := g.f32("u"), make([]float32, ConvTaps*channels)
		for c := range channels { // from [C, 1, 4] to tap-major
			for k := range ConvTaps {
				weight[k*channels+c] = g.f32("weight")[c*ConvTaps+k]
			}
		}
		state, y := slices.Clone(g.f32("state_in")), make([]float32, len(u))
		at := 0
		for _, to := range []int{1, 2, rows} {
			ConvSiLU(y[at*channels:], u[at*channels:], state, weight, to-at, channels, channels, 0, channels)
			ConvState(state, u[at*channels:], to-at, channels, channels)
			g.near(state, map[int]string{1: "state_after_1", 2: "state_after_2", rows: "state_out"}[to])
			at = to
		}
		g.near(y, "y")
	})
}

func TestGoldenDelta(t *testing.T) {
	eachGolden(t, "delta", func(g *vecGolden) {
		rows, nk, dk := g.dims("k")[0], g.dims("k")[1], g.dims("k")[2]
		nv, dv := g.dims("v")[1], g.dims("v")[2]
		scale := float32(1 / math.Sqrt(float64(dk)))
		q, k := slices.Clone(g.f32("q")), slices.Clone(g.f32("k"))
		for r := 0; r < len(q); r += dk {
			L2Norm(q[r:r+dk], q[r:r+dk], scale)
			L2Norm(k[r:r+dk], k[r:r+dk], 1)
		}
		decay, beta, negExpA := make([]float32, rows*nv), make([]float32, rows*nv), make([]float32, nv)
		for h, a := range g.f32("A_log") {
			negExpA[h] = -Exp(a)
		}
		for i := 0; i < len(decay); i += nv {
			DeltaGates(decay[i:i+nv], beta[i:i+nv], g.f32("a")[i:i+nv], g.f32("b")[i:i+nv], negExpA, g.f32("dt_bias"))
		}
		g.near(beta, "beta")
		wantDecay := make([]float64, len(decay))
		for i, x := range g.f32("g") {
			wantDecay[i] = math.Exp(float64(x))
		}
		vecNear(g.t, g.group+"g", decay, wantDecay, 1e-5)

		o, state := make([]float32, rows*nv*dv), slices.Clone(g.f32("state_in"))
		for h := range nv {
			kh := h / (nv / nk) * dk
			DeltaRule(o[h*dv:], nv*dv, state[h*dk*dv:][:dk*dv], q[kh:], k[kh:], nk*dk, g.f32("v")[h*dv:], nv*dv,
				decay[h:], beta[h:], nv, rows, dk, dv, 0, dv)
		}
		g.near(o, "o")
		g.near(o, "o_chunked")
		g.near(state, "state_out")
		g.near(state, "state_out_chunked")
	})
}

func TestGoldenRoPE(t *testing.T) {
	theta := map[string]float64{"rope/real/": 1e7, "rope/tiny/": 1e4}
	eachGolden(t, "rope", func(g *vecGolden) {
		half := g.dims("inv_freq")[0]
		freqs := RoPEFreqs(theta[g.group], 2*half)
		vecSame(g.t, g.group+"inv_freq", freqs, g.f32("inv_freq"))
		var cos, sin []float32 // [positions, 2·half], each half twice
		for _, p := range g.f32("positions") {
			c, s := make([]float32, half), make([]float32, half)
			RoPETable(c, s, int(p), freqs)
			cos, sin = append(append(cos, c...), c...), append(append(sin, s...), s...)
		}
		g.near(cos, "cos")
		g.near(sin, "sin")
		for _, name := range []string{"q", "k"} {
			heads, rows, dim := g.dims(name)[0], g.dims(name)[1], g.dims(name)[2]
			x := slices.Clone(g.f32(name))
			for h := range heads {
				for r := range rows {
					RoPE(x[(h*rows+r)*dim:][:dim], cos[r*2*half:][:half], sin[r*2*half:][:half])
				}
			}
			g.near(x, fmt.Sprint(name, "_out"))
		}
	})
}
