package kernels

// deltaVector returns the column up to which it computed.
func deltaVector(r *deltaRun, j0, j1 int) int {
	var widths [2]int
	switch level {
	case AVX512:
		widths = [2]int{64, 16}
	case AVX2:
		widths = [2]int{32, 8}
	default:
		return j0
	}
	for _, w := range widths {
		for ; j0+w <= j1; j0 += w {
			deltaTile(r, j0, w)
		}
	}
	return j0
}

// deltaTile takes columns j..j+width through all tokens.
func deltaTile(r *deltaRun, j, width int) {
	var m [64]float32
	s, stride := &r.state[j], 4*r.dv
	switch width {
	case 64:
		deltaDot64AVX512(s, stride, r.dk, &r.k[0], &m[0])
	case 32:
		deltaDot32AVX2(s, stride, r.dk, &r.k[0], &m[0])
	case 16:
		deltaDot16AVX512(s, stride, r.dk, &r.k[0], &m[0])
	case 8:
		deltaDot8AVX2(s, stride, r.dk, &r.k[0], &m[0])
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
		case width == 64 && more:
			deltaStep64AVX512(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case width == 64:
			deltaLast64AVX512(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case width == 32 && more:
			deltaStep32AVX2(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case width == 32:
			deltaLast32AVX2(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case width == 16 && more:
			deltaStep16AVX512(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case width == 16:
			deltaLast16AVX512(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		case more:
			deltaStep8AVX2(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		default:
			deltaLast8AVX2(s, stride, r.dk, q, k, next, v, o, &m[0], decay, beta)
		}
	}
}

func deltaGatesVector(decay, beta, a, b, negExpA, dtBias []float32) int {
	n := vectorLength(len(decay))
	switch {
	case n == 0:
	case level == AVX512:
		deltaGatesAVX512(&decay[0], &beta[0], &a[0], &b[0], &negExpA[0], &dtBias[0], n)
	default:
		deltaGatesAVX2(&decay[0], &beta[0], &a[0], &b[0], &negExpA[0], &dtBias[0], n)
	}
	return n
}

// Dot sets m[j] to Σ_i S[i,j]·k[i]. Step takes m of this token, updates S, writes o, and leaves m of the token whose key is
// next; Last does all but that. stride is in bytes; the number in the name is the columns.

//go:noescape
func deltaDot64AVX512(state *float32, stride, dk int, k, m *float32)

//go:noescape
func deltaDot32AVX2(state *float32, stride, dk int, k, m *float32)

//go:noescape
func deltaDot16AVX512(state *float32, stride, dk int, k, m *float32)

//go:noescape
func deltaDot8AVX2(state *float32, stride, dk int, k, m *float32)

//go:noescape
func deltaStep64AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaStep32AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaStep16AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaStep8AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaLast64AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaLast32AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaLast16AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaLast8AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)

//go:noescape
func deltaGatesAVX512(decay, beta, a, b, negExpA, dtBias *float32, n int)

//go:noescape
func deltaGatesAVX2(decay, beta, a, b, negExpA, dtBias *float32, n int)
