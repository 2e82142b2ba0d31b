package kernels

// deltaVector returns the column up to which it computed.
func deltaVector(r *deltaRun, j0, j1 int) int {
	if level != NEON || r.dk%4 != 0 {
		return j0
	}
	for _, w := range [...]int{32, 4} {
		for ; j0+w <= j1; j0 += w {
			deltaTile(r, j0, w)
		}
	}
	return j0
}

// deltaTile takes columns j..j+width through all tokens.
func deltaTile(r *deltaRun, j, width int) {
	var m [32]float32
	s, stride := &r.state[j], 4*r.dv
	if width == 32 {
		deltaDot32NEON(s, stride, r.dk, &r.k[0], &m[0])
	} else {
		deltaDot4NEON(s, stride, r.dk, &r.k[0], &m[0])
	}
	for t := range r.rows {
		q, k, next := &r.q[t*r.qkStride], &r.k[t*r.qkStride], &r.k[0]
		more := t+1 < r.rows
		if more {
			next = &r.k[(t+1)*r.qkStride]
		}
		v, o := &r.v[t*r.vStride+j], &r.o[t*r.oStride+j]
		decay, beta := r.decay[t*r.gateStride], r.beta[t*r.gateStride]
		switch {
		case width == 32 && more:
			deltaStep32NEON(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case width == 32:
			deltaLast32NEON(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case more:
			deltaStep4NEON(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		default:
			deltaLast4NEON(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		}
	}
}

func deltaGatesVector(decay, beta, a, b, negExpA, dtBias []float32) int {
	n := vectorLength(len(decay))
	if n > 0 {
		deltaGatesNEON(&decay[0], &beta[0], &a[0], &b[0], &negExpA[0], &dtBias[0], n)
	}
	return n
}

// Dot sets m[j] to Σ_i S[i,j]·k[i]. Step takes m of this token, updates S, writes o, and leaves m of the token whose key is
// next; Last does all but that. stride is in bytes; the number in the name is the columns.

//go:noescape
func deltaDot32NEON(state *float32, stride, dk int, k, m *float32)

//go:noescape
func deltaDot4NEON(state *float32, stride, dk int, k, m *float32)

//go:noescape
func deltaStep32NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaStep4NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaLast32NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaLast4NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaGatesNEON(decay, beta, a, b, negExpA, dtBias *float32, n int)
