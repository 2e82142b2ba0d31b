package checkpoint

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Format is how a matrix is stored.
type Format uint8

const (
	F32        Format = iota
	BF16              //
	F16               //
	NVFP4             // E2M1 codes, low nibble first; an E4M3 scale per 16 columns; one float32 scale
	FP8Tensor         // E4M3, one scale
	FP8Channel        // E4M3, one scale per row
	FP8Block          // E4M3, one scale per 128×128 block, ragged at the edges
)

func (f Format) String() string {
	return [...]string{"F32", "BF16", "F16", "NVFP4", "FP8 per tensor", "FP8 per channel", "FP8 per block"}[f]
}

const (
	nvfp4Block = 16  // columns that share an NVFP4 block scale
	fp8Block   = 128 // edge of an FP8 block
)

// Matrix is W [Rows, Cols] as stored. Dequantised: F32, BF16, F16 exactly; NVFP4 code · block scale · Scale; FP8 code · scale.
type Matrix struct {
	Name        string // logical
	Rows, Cols  int
	Format      Format
	Codes       []byte    // row-major elements: 4, 2, 2, ½ or 1 bytes each
	BlockScales []byte    // NVFP4: E4M3 [Rows, Cols/16]; neither NaN nor negative
	Scales      []float32 // FP8: [1], [Rows] or [ceil(Rows/128), ceil(Cols/128)]; finite, not negative
	Scale       float32   // NVFP4: multiplies everything; finite, above zero. Else 0
	Activations Scheme
	InputScale  float32 // StaticNVFP4, StaticFP8: multiplies the activation codes; finite, above zero. Else 0

	parts []Tensor
}

// Done gives the memory under Codes and BlockScales back to the system.
func (m Matrix) Done() {
	for _, t := range m.parts {
		t.Done()
	}
}

// Matrix finds the matrix of a module ("layers.0.mlp.up_proj"; a trailing ".weight" is accepted) and checks its shape and
// scales. Codes are not scanned: Verify does that. Safe for concurrent use.
func (c *Checkpoint) Matrix(name string, rows, cols int) (Matrix, error) {
	m := Matrix{Name: strings.TrimSuffix(name, ".weight"), Rows: rows, Cols: cols}
	err := c.refuseForeign(m.Name)
	if err != nil {
		return Matrix{}, err
	}
	if t, ok := c.take(m.Name + ".weight_packed"); ok {
		if u, both := c.tensors[m.Name+".weight"]; both {
			return Matrix{}, t.errorf("%s is there too: which one holds the weights?", u.Name)
		}
		err = c.packedNVFP4(&m, t)
	} else if t, ok := c.take(m.Name + ".weight"); !ok {
		return Matrix{}, c.missing(m.Name + ".weight")
	} else {
		err = c.storedAs(&m, t)
	}
	if err != nil {
		return Matrix{}, err
	}
	c.takeCompanions(m.Name)
	return m, nil
}

// companions are stored beside a matrix and may have no use: a weight-only format ignores input_scale.
var companions = []string{".input_scale", ".input_global_scale", ".weight_shape"}

func (c *Checkpoint) takeCompanions(module string) {
	for _, s := range companions {
		c.take(module + s)
	}
}

// refuseForeign names formats that are recognised by their companions and do not run.
func (c *Checkpoint) refuseForeign(module string) error {
	for _, f := range []struct{ suffix, what string }{
		{".pre_quant_scale", "NVFP4_AWQ (pre_quant_scale)"},
		{".qweight", "GPTQ or AWQ (qweight)"},
		{".weight.absmax", "bitsandbytes (absmax)"},
		{".weight.quant_state.bitsandbytes__nf4", "bitsandbytes (nf4)"},
		{".scales", "MLX or GPTQ quantisation (scales)"},
		{".weight_zero_point", "asymmetric quantisation (weight_zero_point)"},
		{".bias", "a projection with a bias"},
	} {
		if t, ok := c.tensors[module+f.suffix]; ok {
			return unsupportedf(t.File+": tensor "+clip(t.Name), f.what, supportedQuant)
		}
	}
	return nil
}

// storedAs reads what is under X.weight.
func (c *Checkpoint) storedAs(m *Matrix, t Tensor) error {
	switch t.DType {
	case dtypeF32, dtypeBF16, dtypeF16:
		m.Format = map[DType]Format{dtypeF32: F32, dtypeBF16: BF16, dtypeF16: F16}[t.DType]
		return m.setCodes(t, m.Cols)
	case dtypeU8:
		return c.modelOptNVFP4(m, t)
	case dtypeE4M3:
		return c.fp8(m, t)
	}
	return unsupportedf(t.File+": tensor "+clip(t.Name), fmt.Sprintf("weight dtype %s", t.DType), supportedQuant)
}

// setCodes takes t as the codes, stored with width elements in a row.
func (m *Matrix) setCodes(t Tensor, width int) error {
	if len(t.Shape) != 2 || t.Shape[0] != m.Rows || t.Shape[1] != width {
		return t.errorf("shape %v, want [%d %d] for %s of %d×%d", t.Shape, m.Rows, width, m.Format, m.Rows, m.Cols)
	}
	m.Codes = t.Data()
	m.parts = append(m.parts, t)
	return nil
}

// modelOptNVFP4: U8 codes, weight_scale, weight_scale_2 and input_scale, all multiplied.
func (c *Checkpoint) modelOptNVFP4(m *Matrix, t Tensor) error {
	second, ok := c.take(m.Name + ".weight_scale_2")
	if !ok {
		return unsupportedf(t.File+": tensor "+clip(t.Name), "U8 weights without weight_scale_2", supportedQuant)
	}
	if err := c.nvfp4Codes(m, t); err != nil {
		return err
	}
	var err error
	if m.Scale, err = second.scalar(); err != nil {
		return err
	}
	return c.activations(m, t, ".input_scale", false)
}

// packedNVFP4: weight_packed with global scales that divide.
func (c *Checkpoint) packedNVFP4(m *Matrix, t Tensor) error {
	global, ok := c.take(m.Name + ".weight_global_scale")
	if t.DType != dtypeU8 || !ok {
		what := fmt.Sprintf("weight_packed of %s without weight_global_scale (MXFP4?)", t.DType)
		if t.DType != dtypeU8 {
			what = fmt.Sprintf("weight_packed of %s", t.DType)
		}
		return unsupportedf(t.File+": tensor "+clip(t.Name), what, supportedQuant)
	}
	if err := c.nvfp4Codes(m, t); err != nil {
		return err
	}
	var err error
	if m.Scale, err = global.reciprocal(); err != nil {
		return err
	}
	return c.activations(m, t, ".input_global_scale", true)
}

// reciprocal reads a dividing scale as the multiplier it stands for.
func (t Tensor) reciprocal() (float32, error) {
	x, err := t.scalar()
	if err != nil {
		return 0, err
	}
	r := 1 / x
	if r == 0 || r-r != 0 {
		return 0, t.errorf("scale is %v, its reciprocal is no float32", x)
	}
	return r, nil
}

func (c *Checkpoint) nvfp4Codes(m *Matrix, t Tensor) error {
	m.Format = NVFP4
	if m.Cols%nvfp4Block != 0 {
		return t.errorf("%d columns, NVFP4 needs a multiple of %d", m.Cols, nvfp4Block)
	}
	if err := m.setCodes(t, m.Cols/2); err != nil {
		return err
	}
	s, ok := c.take(m.Name + ".weight_scale")
	if !ok {
		return c.missing(m.Name + ".weight_scale")
	}
	if s.DType != dtypeE4M3 {
		return unsupportedf(s.File+": tensor "+clip(s.Name), fmt.Sprintf("4-bit weights with %s block scales (MXFP4?)", s.DType), supportedQuant)
	}
	if len(s.Shape) != 2 || s.Shape[0] != m.Rows || s.Shape[1] != m.Cols/nvfp4Block {
		return s.errorf("shape %v, want [%d %d]", s.Shape, m.Rows, m.Cols/nvfp4Block)
	}
	m.BlockScales = s.Data()
	m.parts = append(m.parts, s)
	if i := badBlockScale(m.BlockScales); i >= 0 {
		return s.errorf("block scale %d is %#02x: NaN or negative, the file is damaged", i, m.BlockScales[i])
	}
	return nil
}

// badBlockScale is the index of the first E4M3 code that is NaN or has its sign set, -1 without one.
func badBlockScale(b []byte) int {
	const high, ones = 0x8080808080808080, 0x0101010101010101
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if (w|((w&^high)+ones))&high != 0 { // sign set, or 0x7F + 1 reaches the sign
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] >= 0x7F {
			return i
		}
	}
	return -1
}

// fp8 reads E4M3 weights; the shape of the scales says what they belong to.
func (c *Checkpoint) fp8(m *Matrix, t Tensor) error {
	s, ok := c.take(m.Name + ".weight_scale_inv") // multiplies, despite its name
	if !ok {
		if s, ok = c.take(m.Name + ".weight_scale"); !ok {
			return c.missing(m.Name + ".weight_scale")
		}
	}
	if s.DType == dtypeU8 || s.DType == "F8_E8M0" {
		return unsupportedf(s.File+": tensor "+clip(s.Name), fmt.Sprintf("8-bit weights with %s block scales (MXFP8)", s.DType), supportedQuant)
	}
	format, ok := fp8Format(s.Shape, m.Rows, m.Cols)
	if !ok {
		return s.errorf("shape %v fits neither the tensor, nor its %d rows, nor 128×128 blocks of %d×%d", s.Shape, m.Rows, m.Rows, m.Cols)
	}
	m.Format = format
	if err := m.setCodes(t, m.Cols); err != nil {
		return err
	}
	var err error
	if m.Scales, err = s.finite(); err != nil {
		return err
	}
	for i, v := range m.Scales {
		if v < 0 || v == 0 && format == FP8Tensor {
			return s.errorf("scale %d is %v, want above zero", i, v)
		}
	}
	return c.activations(m, t, ".input_scale", false)
}

func fp8Format(shape []int, rows, cols int) (Format, bool) {
	br, bc := (rows+fp8Block-1)/fp8Block, (cols+fp8Block-1)/fp8Block
	is := func(want ...int) bool {
		if len(shape) != len(want) {
			return false
		}
		for i := range want {
			if shape[i] != want[i] {
				return false
			}
		}
		return true
	}
	switch {
	case is() || is(1):
		return FP8Tensor, true
	case is(rows) || is(rows, 1) && !is(br, bc):
		return FP8Channel, true
	case is(br, bc) || is(br, 1, bc, 1):
		return FP8Block, true
	}
	return 0, false
}

// activations asks the config how the inputs of m are quantised, and reads the scale that needs.
func (c *Checkpoint) activations(m *Matrix, t Tensor, suffix string, divides bool) error {
	scheme, err := c.quant.scheme(moduleNames(m.Name, storedModule(&t)), m.Name != "embed_tokens")
	if err != nil || scheme == None {
		return err
	}
	if !fits(m.Format, scheme) {
		return unsupportedf(t.File+": tensor "+clip(t.Name), fmt.Sprintf("%s weights with %s activations", m.Format, scheme), supportedQuant)
	}
	m.Activations = scheme
	if scheme != StaticNVFP4 && scheme != StaticFP8 {
		return nil
	}
	s, ok := c.take(m.Name + suffix)
	if !ok {
		return fmt.Errorf("%w: %s quantises the activations of %s with a stored scale", c.missing(m.Name+suffix), c.quant.file, m.Name)
	}
	if divides {
		m.InputScale, err = s.reciprocal()
	} else {
		m.InputScale, err = s.scalar()
	}
	return err
}

// fits tells the pairs of formats that exist.
func fits(f Format, s Scheme) bool {
	switch s {
	case StaticNVFP4:
		return f == NVFP4
	case StaticFP8, DynamicFP8Token:
		return f == FP8Tensor || f == FP8Channel
	case DynamicFP8Block:
		return f == FP8Block
	}
	return true
}
