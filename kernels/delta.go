package kernels

// DeltaGates turns the raw gates of one token into the delta rule's, per value head:
//
//	beta = Sigmoid(b)    decay = Exp(negExpA·Softplus(a + dtBias))
//
// negExpA is -Exp(A_log), kept from loading. decay may be a, beta may be b.
func DeltaGates(decay, beta, a, b, negExpA, dtBias []float32) {
	if n := len(decay); len(beta) != n || len(a) != n || len(b) != n || len(negExpA) != n || len(dtBias) != n {
		panic("kernels: DeltaGates: lengths differ")
	}
	done := deltaGatesVector(decay, beta, a, b, negExpA, dtBias)
	deltaGatesGeneric(decay[done:], beta[done:], a[done:], b[done:], negExpA[done:], dtBias[done:])
}

func deltaGatesGeneric(decay, beta, a, b, negExpA, dtBias []float32) {
	for h := range decay {
		beta[h] = Sigmoid(b[h])
		decay[h] = Exp(negExpA[h] * Softplus(a[h]+dtBias[h]))
	}
}

// DeltaRule runs the gated delta rule of one value head over rows tokens, for value columns j0..j1. For each token t:
//
//	m[j]   = decay · Σ_i S[i,j]·k[i]         S not yet decayed
//	d[j]   = (v[j] - m[j]) · beta
//	S[i,j] = S[i,j]·decay + k[i]·d[j]        product with decay rounded, then fused
//	o[j]   = Σ_i S[i,j]·q[i]                 S updated
//
// Both sums are one accumulator over ascending i from zero, fused. state is S [dk][dv], updated in place; row t of q and k is
// at t·qkStride (dk entries), of v at t·vStride and of o at t·oStride (dv entries, of which j0..j1 are used), and its gates at
// t·gateStride. q is normalised and scaled, k normalised. Columns are independent, so threads may split them.
//
// Assembly walks a tile of columns over all tokens before the next, so that the tile stays in the L1 cache, and computes m
// of the next token while it updates S for this one: S is read and written once per token, and each column has two
// independent sums in flight.
func DeltaRule(o []float32, oStride int, state []float32, q, k []float32, qkStride int, v []float32, vStride int,
	decay, beta []float32, gateStride int, rows, dk, dv, j0, j1 int) {
	if rows == 0 || j0 == j1 {
		return
	}
	last := rows - 1
	if rows < 0 || dk < 1 || j0 < 0 || j1 < j0 || j1 > dv || len(state) != dk*dv ||
		len(q) < last*qkStride+dk || len(k) < last*qkStride+dk || len(v) < last*vStride+j1 || len(o) < last*oStride+j1 ||
		len(decay) <= last*gateStride || len(beta) <= last*gateStride {
		panic("kernels: DeltaRule: lengths do not fit rows, dk, dv and strides")
	}
	r := deltaRun{o, oStride, state, q, k, qkStride, v, vStride, decay, beta, gateStride, rows, dk, dv}
	deltaGeneric(&r, deltaVector(&r, j0, j1), j1)
}

// deltaRun is DeltaRule's arguments but the columns.
type deltaRun struct {
	o           []float32
	oStride     int
	state       []float32
	q, k        []float32
	qkStride    int
	v           []float32
	vStride     int
	decay, beta []float32
	gateStride  int
	rows        int
	dk, dv      int
}

func deltaGeneric(r *deltaRun, j0, j1 int) {
	for j := j0; j < j1; j++ {
		for t := range r.rows {
			q, k := r.q[t*r.qkStride:][:r.dk], r.k[t*r.qkStride:][:r.dk]
			decay := r.decay[t*r.gateStride]
			var m, o float32
			for i, ki := range k {
				m = fma32(r.state[i*r.dv+j], ki, m)
			}
			d := float32(r.v[t*r.vStride+j]-float32(m*decay)) * r.beta[t*r.gateStride]
			for i, ki := range k {
				s := fma32(ki, d, float32(r.state[i*r.dv+j]*decay))
				r.state[i*r.dv+j] = s
				o = fma32(s, q[i], o)
			}
			r.o[t*r.oStride+j] = o
		}
	}
}
