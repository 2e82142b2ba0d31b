package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
)

// PagePositions is how many consecutive positions a page holds.
const PagePositions = 32

// KVFormat is how keys and values are stored.
type KVFormat uint8

const (
	KVF32  KVFormat = iota
	KVBF16          // rounded to nearest even
	KVFP8           // E4M3 of value/scale, clamped to ±448
)

var kvFormatNames = [...]string{KVF32: "f32", KVBF16: "bf16", KVFP8: "fp8"}

func (f KVFormat) String() string { return kvFormatNames[f] }

// ParseKVFormat reads a format's name: f32, bf16 or fp8.
func ParseKVFormat(name string) (KVFormat, error) {
	for f, n := range kvFormatNames {
		if n == name {
			return KVFormat(f), nil
		}
	}
	return KVF32, fmt.Errorf("unknown KV cache format %q: want f32, bf16 or fp8", name)
}

// size is the bytes of one element.
func (f KVFormat) size() int { return [...]int{KVF32: 4, KVBF16: 2, KVFP8: 1}[f] }

// KVLayout is one attention layer's slice of a page: first the keys, transposed, [head][dim][32]; then the values,
// [head][32][dim]. So a score is a lane and a value's dimension is a lane, and neither needs a sum across lanes.
//
// The scales kScale and vScale given to its methods matter to KVFP8 alone; the other formats ignore them.
type KVLayout struct {
	Format KVFormat
	Heads  int // key/value heads
	Dim    int // a multiple of 8
	First  int // positions before it do not exist, whatever a row's length; 0 for the target, 1 for an MTP layer
}

// Bytes is the size of the slice, a multiple of 64.
func (l KVLayout) Bytes() int { return 2 * l.Heads * l.headBytes() }

// headBytes is the keys, or the values, of one head.
func (l KVLayout) headBytes() int { return PagePositions * l.Dim * l.Format.size() }

func (l KVLayout) keys(page []byte, head int) []byte {
	n := l.headBytes()
	return page[head*n : (head+1)*n]
}

func (l KVLayout) values(page []byte, head int) []byte {
	n := l.headBytes()
	return page[(l.Heads+head)*n : (l.Heads+head+1)*n]
}

// Store writes the keys and values [Heads, Dim] of the position at slot 0..31 of the page. A NaN becomes the code 0x7F in
// KVFP8, which attention reads as 480: a page cannot make a row NaN that had finite operands.
func (l KVLayout) Store(page []byte, slot int, k, v []float32, kScale, vScale float32) {
	l.check(page, slot, k, v)
	for h := range l.Heads {
		keys, values := l.keys(page, h), l.values(page, h)
		for d := range l.Dim {
			l.put(keys, d*PagePositions+slot, k[h*l.Dim+d], kScale)
			l.put(values, slot*l.Dim+d, v[h*l.Dim+d], vScale)
		}
	}
}

// Load reads back what Store wrote, times the scales.
func (l KVLayout) Load(page []byte, slot int, k, v []float32, kScale, vScale float32) {
	l.check(page, slot, k, v)
	for h := range l.Heads {
		keys, values := l.keys(page, h), l.values(page, h)
		for d := range l.Dim {
			k[h*l.Dim+d] = l.get(keys, d*PagePositions+slot) * l.restore(kScale)
			v[h*l.Dim+d] = l.get(values, slot*l.Dim+d) * l.restore(vScale)
		}
	}
}

func (l KVLayout) check(page []byte, slot int, k, v []float32) {
	if len(page) != l.Bytes() || slot < 0 || slot >= PagePositions || len(k) != l.Heads*l.Dim || len(v) != l.Heads*l.Dim {
		panic(fmt.Sprintf("kernels: KV page %+v: %d bytes, slot %d, %d keys, %d values", l, len(page), slot, len(k), len(v)))
	}
}

// CopyPositions copies the first n positions of src to dst and leaves the others of dst alone.
func (l KVLayout) CopyPositions(dst, src []byte, n int) {
	if len(dst) != l.Bytes() || len(src) != l.Bytes() || n < 0 || n > PagePositions {
		panic(fmt.Sprintf("kernels: copy of %d positions between KV pages of %d and %d bytes, want %d", n, len(src), len(dst), l.Bytes()))
	}
	size := l.Format.size()
	row, column := PagePositions*size, l.Dim*size
	for d := range l.Heads * l.Dim {
		copy(dst[d*row:d*row+n*size], src[d*row:])
	}
	half := l.Heads * l.headBytes()
	for h := range l.Heads {
		at := half + h*PagePositions*column
		copy(dst[at:at+n*column], src[at:])
	}
}

// fp8Unit: attention reads an E4M3 code as the float16 of the same bits, whose exponent bias is 8 larger, so what it reads is
// the value over 256. The 256 goes into the factors that carry the scales. It is a power of two and changes no bit.
const fp8Unit = 256

// restore is what get must be multiplied with, given the scale of Store.
func (l KVLayout) restore(scale float32) float32 {
	if l.Format == KVFP8 {
		return scale * fp8Unit
	}
	return 1
}

func (l KVLayout) put(b []byte, i int, x, scale float32) {
	switch l.Format {
	case KVF32:
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	case KVBF16:
		binary.LittleEndian.PutUint16(b[2*i:], roundBF16(x))
	case KVFP8:
		b[i] = fp8Code(x / scale)
	}
}

// get decodes element i, without scales; KVFP8: over fp8Unit.
func (l KVLayout) get(b []byte, i int) float32 {
	switch l.Format {
	case KVF32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	case KVBF16:
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
	}
	return fp8Over256[b[i]]
}

// decode is get of all of b.
func (l KVLayout) decode(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = l.get(b, i)
	}
}

// fp8Over256 holds every code's value over 256. 0x7F and 0xFF, the NaNs of E4M3, read as ±480/256.
var fp8Over256 = func() (t [256]float32) {
	for c := range t {
		mantissa, exponent := float32(c&7), c>>3&15
		if exponent > 0 {
			mantissa += 8
		} else {
			exponent = 1
		}
		x := mantissa * math.Float32frombits(uint32(exponent-18+127)<<23) // 2^(e-7-3-8)
		if c >= 128 {
			x = -x
		}
		t[c] = x
	}
	return t
}()

// roundBF16 rounds to nearest even; a NaN stays a NaN.
func roundBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7FFF + b>>16&1) >> 16)
}

// fp8Code rounds to the nearest E4M3, ties to even, after clamping to ±448.
func fp8Code(x float32) byte {
	b := math.Float32bits(x)
	sign, b := byte(b>>24&0x80), b&^(1<<31)
	a := math.Float32frombits(b)
	switch {
	case a != a:
		return 0x7F
	case a >= 448:
		return sign | 0x7E
	case a < 0x1p-6: // subnormal: a multiple of 2^-9
		const nearest = 0x1p23
		return sign | byte(math.Float32bits(a*0x1p9+nearest))
	}
	b += 1<<19 - 1 + b>>20&1
	return sign | byte(b>>20-(127-7)<<3)
}
