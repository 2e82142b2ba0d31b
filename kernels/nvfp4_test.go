package kernels

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// randomNVFP4 makes codes and scales in checkpoint layout, every code and many scales among them.
func randomNVFP4(rng *rand.Rand, rows, cols int) (codes, scales []byte) {
	codes, scales = make([]byte, rows*cols/2), make([]byte, rows*cols/BlockCols)
	for i := range codes {
		codes[i] = byte(rng.Uint32())
	}
	for i := range scales {
		scales[i] = byte(rng.IntN(0x7F))
	}
	return codes, scales
}

func newNVFP4(t testing.TB, rng *rand.Rand, rows, cols int, key InputKey) *NVFP4 {
	t.Helper()
	m, err := NewNVFP4(rows, cols, 0.0371, key)
	if err != nil {
		t.Fatal(err)
	}
	codes, scales := randomNVFP4(rng, rows, cols)
	if err := m.Pack(codes, scales, 0, Panels(m)); err != nil {
		t.Fatal(err)
	}
	return m
}

var nvfp4Keys = map[string]InputKey{"e2m1": {InputE2M1, 0.0123}, "fixed24": {Kind: InputFixed24}}

// TestNVFP4Product compares every tile and split with the reference, operands at the edge of an unreadable page.
func TestNVFP4Product(t *testing.T) {
	seed := rand.Uint64()
	for name, key := range nvfp4Keys {
		t.Run(name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 3))
				var s Scratch
				for _, shape := range [][3]int{
					{1, 16, 1}, {16, 16, 2}, {17, 48, 3}, {33, 80, 5}, {48, 64, 7}, {31, 32, 8}, {16, 160, 13}, {40, 96, 21},
					{64, 1024, 40}, {50, 272, 130},
				} {
					checkNVFP4(t, rng, seed, key, shape[0], shape[1], shape[2], &s)
				}
			})
		})
	}
}

func checkNVFP4(t *testing.T, rng *rand.Rand, seed uint64, key InputKey, rows, cols, n int, s *Scratch) {
	t.Helper()
	m := newNVFP4(t, rng, rows, cols, key)
	m.codes, m.scales = guarded(t, m.codes), guarded(t, m.scales)
	x := make([]float32, n*cols)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * math.Exp(4*rng.NormFloat64()))
	}
	x = guarded(t, x)
	var in Input
	in.Resize(key, n, cols)
	cut := rng.IntN(n + 1)
	m.Prepare(&in, x, 0, cut)
	m.Prepare(&in, x, cut, n)
	in.E2M1, in.Fixed24 = guarded(t, in.E2M1[:len(in.E2M1):len(in.E2M1)]), guarded(t, in.Fixed24)
	stride := rows
	want := make([]float32, n*stride)
	m.mulReference(want, stride, &in, 0, Panels(m))
	got := guarded(t, make([]float32, n*stride))
	for p := 0; p < Panels(m); {
		q := min(Panels(m), p+1+rng.IntN(3))
		m.Mul(got, stride, &in, p, q, s)
		p = q
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("seed %d: %d × %d, %d rows: output %d is %v, want %v", seed, rows, cols, n, i, got[i], want[i])
		}
	}
}

// TestActivationBlocks compares the quantisers of every level with their references, ties and extremes included.
func TestActivationBlocks(t *testing.T) {
	seed := rand.Uint64()
	special := []float32{0, float32(math.Copysign(0, -1)), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
		1, 6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -2.5, 0x1p-126, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 4))
		for range 3000 {
			x := make([]float32, 7*BlockCols)
			for i := range x {
				switch rng.IntN(4) {
				case 0:
					x[i] = special[rng.IntN(len(special)-rng.IntN(4))]
				case 1:
					x[i] = math.Float32frombits(rng.Uint32())
				default:
					x[i] = float32(rng.NormFloat64())
				}
			}
			x = guarded(t, x)
			gs := float32(math.Exp(10 * rng.NormFloat64()))
			got, want := guarded(t, make([]E2M1Block, 7)), make([]E2M1Block, 7)
			quantizeE2M1(got, x, gs)
			quantizeE2M1Reference(want, x, gs)
			fgot, fwant := guarded(t, make([]Fixed24Block, 7)), make([]Fixed24Block, 7)
			fixed24(fgot, x)
			fixed24Reference(fwant, x)
			for i := range want {
				if got[i].Codes != want[i].Codes || got[i].Offset != want[i].Offset || !sameBits(got[i].Scale, want[i].Scale) {
					t.Fatalf("seed %d: gs %v, x %v: %+v, want %+v", seed, gs, x[i*16:i*16+16], got[i], want[i])
				}
				if fgot[i].Digits != fwant[i].Digits || fgot[i].Offset != fwant[i].Offset || !sameBits(fgot[i].Scale, fwant[i].Scale) {
					t.Fatalf("seed %d: x %v: %+v, want %+v", seed, x[i*16:i*16+16], fgot[i], fwant[i])
				}
			}
		}
	})
}

// TestFixed24Error holds fixed point to its bound: half a step of 2^(e−22).
func TestFixed24Error(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	for range 2000 {
		x := make([]float32, BlockCols)
		most := 0.0
		scale := math.Exp(20 * rng.NormFloat64())
		for i := range x {
			x[i] = float32(rng.NormFloat64() * scale)
			most = max(most, math.Abs(float64(x[i])))
		}
		var b [1]Fixed24Block
		fixed24Reference(b[:], x)
		for i := range x {
			v := float64(int32(b[0].Digits[2][i])<<16+int32(b[0].Digits[1][i])<<8+int32(b[0].Digits[0][i])) * float64(b[0].Scale) / 128
			if !(math.Abs(v-float64(x[i])) <= most*0x1p-22) && most > 0x1p-99 {
				t.Fatalf("%v became %v in a block up to %v", x[i], v, most)
			}
		}
	}
}

func bitsOf(t *testing.T, hex string) float32 {
	t.Helper()
	u, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return math.Float32frombits(uint32(u))
}

// TestGoldenE2M1 holds the activation quantiser to the oracle's blocks, exactly.
func TestGoldenE2M1(t *testing.T) {
	text, err := os.ReadFile("testdata/nvfp4.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name       string
		ScaleBits  string   `json:"scale_bits"`
		InputBits  []string `json:"input_bits"`
		Activation struct {
			Codes       []int
			BlockScale  byte     `json:"block_scale"`
			DequantBits []string `json:"dequant_bits"`
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 50 {
		t.Fatalf("%d cases", len(cases))
	}
	eachLevel(t, func(t *testing.T) {
		for _, c := range cases {
			scale := bitsOf(t, c.ScaleBits)
			x := make([]float32, BlockCols)
			for i := range x {
				x[i] = bitsOf(t, c.InputBits[i])
			}
			var b [1]E2M1Block
			quantizeE2M1(b[:], x, 1/scale)
			sf := E4M3ToF32(c.Activation.BlockScale)
			if b[0].Scale != sf*blockScaleUp {
				t.Errorf("%s at %v: block scale %v, want %v", c.Name, scale, b[0].Scale/blockScaleUp, sf)
			}
			for i, code := range c.Activation.Codes {
				want := e2m1Values[code&7]
				if code&8 != 0 {
					want = -want
				}
				if b[0].Codes[i] != want {
					t.Errorf("%s at %v: value %d: code %d, want %d", c.Name, scale, i, b[0].Codes[i], want)
				}
			}
		}
	})
}

// TestGoldenE2M1Weights: packed codes and block scales mean what the oracle dequantises: code · block scale is exact, and the
// tensor's scale rounds once.
func TestGoldenE2M1Weights(t *testing.T) {
	text, err := os.ReadFile("testdata/nvfp4.json")
	if err != nil {
		t.Fatal(err)
	}
	type weights struct {
		Packed      []int
		BlockScale  byte     `json:"block_scale"`
		GlobalBits  string   `json:"global_scale_bits"`
		DequantBits []string `json:"dequant_bits"`
	}
	var cases []struct {
		Name      string
		ScaleBits string  `json:"scale_bits"`
		ModelOpt  weights `json:"weight_modelopt"`
		Tensors   weights `json:"weight_compressed_tensors"`
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range cases {
		for _, w := range []weights{c.ModelOpt, c.Tensors} {
			for i, hex := range w.DequantBits {
				code := w.Packed[i/2] >> (4 * (i % 2)) & 15
				v := float32(e2m1Values[code&7]) / 2 * E4M3ToF32(w.BlockScale)
				if code&8 != 0 {
					v = -v
				}
				if w.GlobalBits == "" {
					v *= bitsOf(t, c.ScaleBits)
				} else {
					v /= bitsOf(t, w.GlobalBits)
				}
				compared++
				if want := bitsOf(t, hex); v != want {
					t.Errorf("%s at %s: weight %d is %v, want %v", c.Name, c.ScaleBits, i, v, want)
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("compared %d weights", compared)
	}
}

// TestGoldenTables compares conversions with the oracle's tables.
func TestGoldenTables(t *testing.T) {
	text, err := os.ReadFile("testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	type encode struct {
		InputBits []string `json:"input_bits"`
		Code      []byte
	}
	var tables struct {
		E4M3Values []*float32 `json:"e4m3_values"`
		E4M3Encode encode     `json:"e4m3_encode"`
		E2M1Values []float32  `json:"e2m1_values"`
		E2M1Encode encode     `json:"e2m1_encode"`
	}
	var raw struct {
		E4M3Encode struct{ Code []int } `json:"e4m3_encode"`
		E2M1Encode struct{ Code []int } `json:"e2m1_encode"`
	}
	json.Unmarshal(text, &tables) // codes are lists of numbers, which []byte refuses: read below
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	if len(tables.E4M3Values) != 256 || len(tables.E2M1Values) != 16 || len(raw.E4M3Encode.Code) < 20 || len(raw.E2M1Encode.Code) < 10 {
		t.Fatal("tables are short")
	}
	for code, want := range tables.E4M3Values {
		got := E4M3ToF32(byte(code))
		if want == nil && got == got || want != nil && math.Float32bits(got) != math.Float32bits(*want) {
			t.Errorf("E4M3 code %#02x is %v, want %v", code, got, want)
		}
	}
	for code, want := range tables.E2M1Values {
		got := float32(e2m1Values[code&7]) / 2
		if code&8 != 0 {
			got = -got
		}
		if got != want {
			t.Errorf("E2M1 code %d is %v, want %v", code, got, want)
		}
	}
	for i, hex := range tables.E4M3Encode.InputBits {
		v := bitsOf(t, hex)
		var got [1]float32
		roundE4M3([]float32{0}[:0], nil, 1)
		roundE4M3(got[:], []float32{v}, 1)
		if want := E4M3ToF32(byte(raw.E4M3Encode.Code[i])); got[0] != want {
			t.Errorf("E4M3 of %v is %v, want %v", v, got[0], want)
		}
		if v >= 0 {
			if s := roundE4M3Magnitude(min(v, maxE4M3)); s != got[0] {
				t.Errorf("E4M3 scale of %v is %v, want %v", v, s, got[0])
			}
		}
	}
	for i, hex := range tables.E2M1Encode.InputBits {
		v, code := bitsOf(t, hex), raw.E2M1Encode.Code[i]
		want := e2m1Values[code&7]
		if code&8 != 0 {
			want = -want
		}
		if got := roundE2M1(v); got != want {
			t.Errorf("E2M1 of %v is %d/2, want %d/2", v, got, want)
		}
	}
}

// TestGoldenNVFP4Product holds both kinds of product to float64 sums.
func TestGoldenNVFP4Product(t *testing.T) {
	vals, _ := vecGoldenTensors(t)
	tensors := goldenTensors(t)
	codes, scales := tensors["gemm/weight"].bytes, tensors["gemm/weight_scale"].bytes
	const rows, cols, n = 48, 64, 5
	eachLevel(t, func(t *testing.T) {
		for name, key := range map[string]InputKey{"gemm/y_w4a16": {Kind: InputFixed24}, "gemm/y_w4a4": {InputE2M1, vals["gemm/input_scale"][0]}} {
			m, err := NewNVFP4(rows, cols, vals["gemm/weight_scale_2"][0], key)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Pack(codes, scales, 0, Panels(m)); err != nil {
				t.Fatal(err)
			}
			var in Input
			in.Resize(key, n, cols)
			m.Prepare(&in, vals["gemm/x"], 0, n)
			got := make([]float32, n*rows)
			m.Mul(got, rows, &in, 0, Panels(m), new(Scratch))
			want, largest := vals[name], 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(float64(v)))
			}
			for i := range want {
				if !(math.Abs(float64(got[i]-want[i])) <= 1e-5*largest) {
					t.Fatalf("%s: output %d is %v, want %v", name, i, got[i], want[i])
				}
			}
			if key.Kind == InputE2M1 {
				checkGoldenCodes(t, in.E2M1)
			}
		}
	})
}

func checkGoldenCodes(t *testing.T, blocks []E2M1Block) {
	tensors := goldenTensors(t)
	codes, scales := tensors["gemm/x_codes"].bytes, tensors["gemm/x_scales"].bytes
	for b, blk := range blocks {
		if want := E4M3ToF32(scales[b]) * blockScaleUp; blk.Scale != want {
			t.Errorf("block %d: scale %v, want %v", b, blk.Scale, want)
		}
		for i, c := range blk.Codes {
			code := codes[b*BlockCols+i]
			want := e2m1Values[code&7]
			if code&8 != 0 {
				want = -want
			}
			if c != want {
				t.Errorf("block %d value %d: code %d, want %d", b, i, c, want)
			}
		}
	}
}

// TestNVFP4Refuses names what cannot be packed.
func TestNVFP4Refuses(t *testing.T) {
	if _, err := NewNVFP4(16, 24, 1, InputKey{Kind: InputFixed24}); err == nil {
		t.Error("24 columns accepted")
	}
	for _, scale := range []float32{0, -1, float32(math.NaN()), float32(math.Inf(1)), 1e-40} {
		if _, err := NewNVFP4(16, 16, 1, InputKey{InputE2M1, scale}); err == nil {
			t.Errorf("activation scale %v accepted", scale)
		}
	}
	m, err := NewNVFP4(2, 32, 1, InputKey{Kind: InputFixed24})
	if err != nil {
		t.Fatal(err)
	}
	codes, scales := make([]byte, 32), make([]byte, 4)
	for _, bad := range []byte{0x7F, 0x80, 0xFF, 0xB8} {
		scales[3] = bad
		if err := m.Pack(codes, scales, 0, 1); err == nil {
			t.Errorf("block scale %#02x accepted", bad)
		}
	}
	if err := m.Pack(codes[1:], scales[:4], 0, 1); err == nil {
		t.Error("short codes accepted")
	}
}

// FuzzNVFP4 packs and multiplies arbitrary bytes: either an error, or every level's bits are the reference's.
func FuzzNVFP4(f *testing.F) {
	f.Add([]byte("codes and scales and activations"), uint8(3), uint8(2), uint8(5), false)
	f.Fuzz(func(t *testing.T, data []byte, rows, blocks, n uint8, e2m1 bool) {
		r, c, rowsX := int(rows)%40+1, (int(blocks)%6+1)*BlockCols, int(n)%20+1
		at := 0
		next := func() byte {
			if len(data) == 0 {
				return 0
			}
			at++
			return data[at%len(data)] ^ byte(at/len(data))
		}
		codes, scales := make([]byte, r*c/2), make([]byte, r*c/BlockCols)
		for i := range codes {
			codes[i] = next()
		}
		for i := range scales {
			scales[i] = next() % 0x7F
		}
		x := make([]float32, rowsX*c)
		for i := range x {
			x[i] = math.Float32frombits(uint32(next())<<24 | uint32(next())<<16)
		}
		key := InputKey{Kind: InputFixed24}
		if e2m1 {
			key = InputKey{InputE2M1, 0.01}
		}
		m, err := NewNVFP4(r, c, 1, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Pack(codes, scales, 0, Panels(m)); err != nil {
			t.Fatal(err)
		}
		var in Input
		in.Resize(key, rowsX, c)
		m.Prepare(&in, x, 0, rowsX)
		want, got := make([]float32, rowsX*r), make([]float32, rowsX*r)
		m.mulReference(want, r, &in, 0, Panels(m))
		m.Mul(got, r, &in, 0, Panels(m), new(Scratch))
		for i := range want {
			if !sameBits(got[i], want[i]) {
				t.Fatalf("output %d is %v, want %v", i, got[i], want[i])
			}
		}
	})
}
