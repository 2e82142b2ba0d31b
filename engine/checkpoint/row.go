package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Row writes row r of a BF16, F16 or F32 matrix to dst [Cols]: an embedding.
func (m *Matrix) Row(dst []float32, r int) {
	switch m.Format {
	case BF16:
		src := m.Codes[2*r*m.Cols : 2*(r+1)*m.Cols]
		for i := range dst[:m.Cols] {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	case F16:
		src := m.Codes[2*r*m.Cols : 2*(r+1)*m.Cols]
		for i := range dst[:m.Cols] {
			dst[i] = halfToFloat(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case F32:
		src := m.Codes[4*r*m.Cols : 4*(r+1)*m.Cols]
		for i := range dst[:m.Cols] {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	default:
		panic(fmt.Sprintf("checkpoint: a row of %s, which is %v", m.Name, m.Format))
	}
}
