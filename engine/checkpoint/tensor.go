package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Tensor is one stored tensor. Its bytes are little-endian and row-major.
type Tensor struct {
	Name    string // as stored
	Logical string // without the container prefix, "" for vision tensors
	DType   DType
	Shape   []int
	Bytes   int64
	File    string // base name of the file that holds it

	offset int64 // in the file
	source source
}

// source holds the bytes of tensors: a file in memory, or a generator.
type source interface {
	// bytes of t, valid until release or the end of the source.
	bytes(t *Tensor) []byte
	// release says that the bytes will not be read again soon.
	release(t *Tensor)
}

// Data is the tensor's bytes: read-only, valid until the checkpoint is closed.
func (t Tensor) Data() []byte { return t.source.bytes(&t) }

// Done gives the memory under Data back to the system. Data may be called again.
func (t Tensor) Done() { t.source.release(&t) }

// elements is the product of the shape, which the header check bounded.
func (t Tensor) elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

func (t Tensor) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: tensor %s: %w", t.File, clip(t.Name), fmt.Errorf(format, args...))
}

// floats reads F32, BF16 or F16 exactly into float32.
func (t Tensor) floats() ([]float32, error) {
	if t.DType != dtypeF32 && t.DType != dtypeBF16 && t.DType != dtypeF16 {
		return nil, t.errorf("dtype %s, want F32, BF16 or F16", t.DType)
	}
	b := t.Data()
	out := make([]float32, t.elements())
	switch t.DType {
	case dtypeF32:
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case dtypeBF16:
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		}
	default:
		for i := range out {
			out[i] = halfToFloat(binary.LittleEndian.Uint16(b[2*i:]))
		}
	}
	t.Done()
	return out, nil
}

// finite is floats, and refuses NaN and infinities.
func (t Tensor) finite() ([]float32, error) {
	x, err := t.floats()
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		if v-v != 0 {
			return nil, t.errorf("element %d is %v: the file is damaged", i, v)
		}
	}
	return x, nil
}

// scalar reads a tensor-wide scale, stored as [] or [1]: finite and above zero.
func (t Tensor) scalar() (float32, error) {
	if t.elements() != 1 {
		return 0, t.errorf("shape %v, want one number", t.Shape)
	}
	x, err := t.floats()
	if err != nil {
		return 0, err
	}
	if !(x[0] > 0) || math.IsInf(float64(x[0]), 0) {
		return 0, t.errorf("scale is %v, want a finite number above zero", x[0])
	}
	return x[0], nil
}

// halfToFloat widens IEEE binary16 exactly.
func halfToFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0:
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7F800000 | frac<<13)
	default:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
}
