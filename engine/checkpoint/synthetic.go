package checkpoint

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"strings"

	"github.com/minio/sha256-simd"
)

// syntheticVersion is raised when the same shape and seed give other bytes.
const syntheticVersion = 1

// Synthetic makes a checkpoint of random weights in memory, for benchmarks and tests. Weights have a spread of 1/√columns
// (less for the projections that end a block, more for the head), so that activations stay near one and logits spread over
// a few units. Bytes depend on shape, seed and tensor name only; they are made each time a tensor is asked for and belong to
// the caller, so nothing is held. There is no tokenizer and no template.
func Synthetic(shape string, seed uint64) (*Checkpoint, error) {
	var names []string
	for _, s := range Shapes() {
		if s.Name == shape {
			return s.Synthetic(seed)
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("no shape %q, there are %s", shape, strings.Join(names, ", "))
}

// Synthetic makes a checkpoint of this shape, which need not be in Shapes.
func (s Shape) Synthetic(seed uint64) (*Checkpoint, error) {
	config, err := s.configJSON()
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Name: "synthetic-" + s.Name}
	c.small = func(name string) ([]byte, error) {
		if name == "config.json" {
			return config, nil
		}
		return nil, fmt.Errorf("%s of %s: %w", name, c.Name, fs.ErrNotExist)
	}
	if err := c.readConfigs(); err != nil {
		return nil, err
	}
	g := &generator{seed: seed, fills: map[string]fill{}}
	matrices, vectors := c.Config.plan(true)
	for _, m := range matrices {
		g.matrix(m, s.algorithm(m.name), s.Tied)
	}
	for _, v := range vectors {
		center, spread := vectorSpread(v.name)
		g.add(v.name, dtypeBF16, v.shape, uniformBF16(center, spread))
	}
	sortByName(g.tensors)
	c.stored = g.tensors
	sum := sha256.Sum256(fmt.Appendf(nil, "synthetic %d %s %d", syntheticVersion, s.Name, seed))
	c.digest = &Digests{Files: map[string]string{}, Fingerprint: hex.EncodeToString(sum[:])}
	return c, c.catalogue()
}

// fill writes a tensor's bytes from a random stream.
type fill func(r *stream, b []byte)

// generator is the source of random tensors.
type generator struct {
	seed    uint64
	tensors []*Tensor
	fills   map[string]fill // by stored name
}

func (g *generator) bytes(t *Tensor) []byte {
	b := make([]byte, t.Bytes)
	g.fills[t.Name](newStream(g.seed, t.Name), b)
	return b
}

func (g *generator) release(*Tensor) {}

func (g *generator) add(logical string, dtype DType, shape []int, f fill) {
	t := &Tensor{Name: storedName(logical), DType: dtype, Shape: shape, File: "(generated)", source: g}
	t.Bytes = int64(t.elements()) * dtypeBits[dtype] / 8
	g.tensors = append(g.tensors, t)
	g.fills[t.Name] = f
}

// inputPeak is the largest activation the static scales provide for: six sigmas of a normalised row, and room for the
// products inside the MLP.
const inputPeak = 16

func (g *generator) matrix(m matrixPlan, algo string, tied bool) {
	spread := float32(gain(m.name, tied) / math.Sqrt(float64(m.cols)))
	shape := []int{m.rows, m.cols}
	switch algo {
	case algoNVFP4, algoWeight4:
		g.add(m.name+".weight", dtypeU8, []int{m.rows, m.cols / 2}, randomBytes)
		g.add(m.name+".weight_scale", dtypeE4M3, []int{m.rows, m.cols / nvfp4Block}, maskedBytes(scaleBits, scaleMask))
		g.add(m.name+".weight_scale_2", dtypeF32, nil, constant(spread/float32(rms(codesE2M1())*rms(masked(scaleBits, scaleMask)))))
		g.add(m.name+".input_scale", dtypeF32, nil, constant(float32(inputPeak)/(6*448)))
	case algoFP8:
		g.add(m.name+".weight", dtypeE4M3, shape, maskedBytes(fp8Bits, fp8Mask))
		g.add(m.name+".weight_scale", dtypeF32, nil, constant(spread/float32(rms(masked(fp8Bits, fp8Mask)))))
		g.add(m.name+".input_scale", dtypeF32, nil, constant(float32(inputPeak)/448))
	default:
		g.add(m.name+".weight", dtypeBF16, shape, uniformBF16(0, spread))
	}
}

// gain is a matrix's spread times √columns.
func gain(module string, tied bool) float64 {
	const head = 2.5 // logits spread over a few units, as after training
	switch {
	case module == "lm_head", module == "embed_tokens" && tied:
		return head
	case strings.HasSuffix(module, "down_proj"), strings.HasSuffix(module, "o_proj"), strings.HasSuffix(module, "out_proj"):
		return 0.5 // what a block adds to the residual stream
	}
	return 1
}

// vectorSpread is the middle and the standard deviation of a vector's values.
func vectorSpread(name string) (center, spread float32) {
	switch {
	case strings.HasSuffix(name, "A_log"):
		return 1.4, 0.7 // decay rates from 1.2 to 14
	case strings.HasSuffix(name, "dt_bias"):
		return -4, 1
	case strings.HasSuffix(name, "conv1d.weight"):
		return 0, 0.5
	case strings.HasSuffix(name, "linear_attn.norm.weight"):
		return 1, 0.1
	}
	return 0, 0.1 // zero-centred norms
}

// Random E4M3 codes keep some bits and set others: block scales from 32 to 120, weights of either sign of those sizes.
const (
	scaleBits, scaleMask = 0x60, 0x0F
	fp8Bits, fp8Mask     = 0x60, 0x8F
)

// masked lists the values that maskedBytes draws from, equally often.
func masked(bits, mask byte) []float64 {
	var out []float64
	for b := range 256 {
		if byte(b)&^mask == bits {
			out = append(out, decodeE4M3(byte(b)))
		}
	}
	return out
}

func codesE2M1() []float64 { return []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6} }

// decodeE4M3 is the value of a code that is not NaN: an integer times a power of two, so exact.
func decodeE4M3(b byte) float64 {
	m, e := int(b&7), int(b>>3&15)
	if e > 0 {
		m, e = m+8, e-1
	}
	v := float64(m<<e) / 512
	if b >= 0x80 {
		return -v
	}
	return v
}

func rms(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += float64(v * v)
	}
	return math.Sqrt(s / float64(len(x)))
}

// stream is a sequence of 64-bit random numbers: a counter through the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
type stream struct{ state uint64 }

func newStream(seed uint64, name string) *stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	s := &stream{state: seed}
	s.state = s.next() ^ h.Sum64()
	return s
}

func (s *stream) next() uint64 {
	s.state += 0x9E3779B97F4A7C15
	z := s.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func randomBytes(r *stream, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, r.next())
	}
	tail(r.next(), b)
}

// tail writes the first bytes of w to b, shorter than 8.
func tail(w uint64, b []byte) {
	for i := range b {
		b[i] = byte(w >> (8 * i))
	}
}

func maskedBytes(bits, mask byte) fill {
	const ones = 0x0101010101010101
	set, keep := uint64(bits)*ones, uint64(mask)*ones
	return func(r *stream, b []byte) {
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, r.next()&keep|set)
		}
		tail(r.next()&keep|set, b)
	}
}

func constant(x float32) fill {
	return func(_ *stream, b []byte) { binary.LittleEndian.PutUint32(b, math.Float32bits(x)) }
}

// uniformBF16 draws from 256 equally spaced values with the given mean and standard deviation, eight for a number.
func uniformBF16(center, spread float32) fill {
	var table [256]uint64
	for i := range table {
		step := float32(2*i-255) / 256 * float32(math.Sqrt(3))
		table[i] = uint64(roundBF16(center + float32(step*spread)))
	}
	return func(r *stream, b []byte) {
		for len(b) > 0 {
			w := r.next()
			lo := table[w&255] | table[w>>8&255]<<16 | table[w>>16&255]<<32 | table[w>>24&255]<<48
			hi := table[w>>32&255] | table[w>>40&255]<<16 | table[w>>48&255]<<32 | table[w>>56]<<48
			if len(b) < 16 {
				var last [16]byte
				binary.LittleEndian.PutUint64(last[:], lo)
				binary.LittleEndian.PutUint64(last[8:], hi)
				copy(b, last[:])
				return
			}
			binary.LittleEndian.PutUint64(b, lo)
			binary.LittleEndian.PutUint64(b[8:], hi)
			b = b[16:]
		}
	}
}

// roundBF16 rounds a finite value to the nearest BF16, ties to even.
func roundBF16(x float32) uint16 {
	u := math.Float32bits(x)
	return uint16((u + 0x7FFF + u>>16&1) >> 16)
}
