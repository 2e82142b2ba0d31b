package kernels

// SiLUMul computes y[i] = SiLU(gate[i])·up[i]. y may be gate or up.
func SiLUMul(y, gate, up []float32) {
	if len(y) != len(gate) || len(up) != len(gate) {
		panic("kernels: SiLUMul: lengths differ")
	}
	done := siluMulVector(y, gate, up)
	siluMulGeneric(y[done:], gate[done:], up[done:])
}

// SigmoidMul computes y[i] = x[i]·Sigmoid(gate[i]). y may be x or gate.
func SigmoidMul(y, x, gate []float32) {
	if len(y) != len(x) || len(gate) != len(x) {
		panic("kernels: SigmoidMul: lengths differ")
	}
	done := sigmoidMulVector(y, x, gate)
	sigmoidMulGeneric(y[done:], x[done:], gate[done:])
}

// Add computes y[i] += x[i].
func Add(y, x []float32) {
	if len(y) != len(x) {
		panic("kernels: Add: lengths differ")
	}
	done := addVector(y, x)
	addGeneric(y[done:], x[done:])
}

func siluMulGeneric(y, gate, up []float32) {
	for i, g := range gate {
		y[i] = SiLU(g) * up[i]
	}
}

func sigmoidMulGeneric(y, x, gate []float32) {
	for i, g := range gate {
		y[i] = x[i] * Sigmoid(g)
	}
}

func addGeneric(y, x []float32) {
	for i, v := range x {
		y[i] += v
	}
}
