package kernels

// ConvTaps is the length of the causal convolution in front of the delta rule; its state holds one row less.
const ConvTaps = 4

// convBlock is how many channels go through all rows before the next: their weights and four input rows stay in the L1
// cache (32 KiB).
const convBlock = 1024

// ConvSiLU applies the causal depthwise convolution of four taps, then SiLU, to channels c0..c1 of rows tokens:
//
//	y[t,c] = SiLU(w[0,c]·u[t-3,c] + w[1,c]·u[t-2,c] + w[2,c]·u[t-1,c] + w[3,c]·u[t,c])
//
// with the first product rounded and the others fused in this order. u and y are [rows][stride], u raw; state [3][channels]
// holds the raw rows before row 0, oldest first, and is only read: ConvState moves it on. weight is [4][channels]. y must not
// overlap u. Channels are independent, so threads may split them.
func ConvSiLU(y, u, state, weight []float32, rows, channels, stride, c0, c1 int) {
	if rows == 0 || c0 == c1 {
		return
	}
	if c0 < 0 || c1 < c0 || c1 > channels || channels > stride || len(state) != (ConvTaps-1)*channels ||
		len(weight) != ConvTaps*channels || len(u) < (rows-1)*stride+channels || len(y) < (rows-1)*stride+channels {
		panic("kernels: ConvSiLU: lengths do not fit rows, channels and stride")
	}
	for b0 := c0; b0 < c1; b0 += convBlock {
		b1 := min(b0+convBlock, c1)
		var w [ConvTaps][]float32
		for k := range w {
			w[k] = weight[k*channels+b0 : k*channels+b1]
		}
		row := func(t int) []float32 {
			if t < 0 {
				return state[(t+ConvTaps-1)*channels+b0 : (t+ConvTaps-1)*channels+b1]
			}
			return u[t*stride+b0 : t*stride+b1]
		}
		for t := range rows {
			x := [ConvTaps][]float32{row(t - 3), row(t - 2), row(t - 1), row(t)}
			out := y[t*stride+b0 : t*stride+b1]
			done := convVector(out, &x, &w)
			convGeneric(out, &x, &w, done)
		}
	}
}

// convGeneric computes one row from channel c on.
func convGeneric(y []float32, x, w *[ConvTaps][]float32, c int) {
	for ; c < len(y); c++ {
		sum := w[0][c] * x[0][c]
		sum = fma32(w[1][c], x[1][c], sum)
		sum = fma32(w[2][c], x[2][c], sum)
		sum = fma32(w[3][c], x[3][c], sum)
		y[c] = SiLU(sum)
	}
}

// ConvState makes state [3][channels] the last three rows of concat(state, u), u being [rows][stride].
func ConvState(state, u []float32, rows, channels, stride int) {
	if rows == 0 {
		return
	}
	if channels > stride || len(state) != (ConvTaps-1)*channels || len(u) < (rows-1)*stride+channels {
		panic("kernels: ConvState: lengths do not fit rows, channels and stride")
	}
	const keep = ConvTaps - 1
	if rows < keep {
		copy(state, state[rows*channels:])
	}
	for t := max(rows-keep, 0); t < rows; t++ {
		copy(state[(t-rows+keep)*channels:][:channels], u[t*stride:][:channels])
	}
}
