package sampling

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// TestPhilox: the known-answer vectors published with Random123.
func TestPhilox(t *testing.T) {
	const f = 0xFFFFFFFF
	for _, tt := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}},
		{[4]uint32{f, f, f, f}, [2]uint32{f, f}, [4]uint32{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}},
		{[4]uint32{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, [2]uint32{0xA4093822, 0x299F31D0},
			[4]uint32{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}},
	} {
		if got := philox4x32(tt.counter, tt.key); got != tt.want {
			t.Errorf("philox(%x, %x) = %x, want %x", tt.counter, tt.key, got, tt.want)
		}
	}
}

func TestUniform(t *testing.T) {
	sum, seen := 0.0, map[float64]bool{}
	for i := range uint64(10000) {
		u := Uniform(1<<40, i<<30)
		if !(u >= 0 && u < 1) || seen[u] {
			t.Fatalf("index %d: %v", i, u)
		}
		seen[u] = true
		sum += u
	}
	if mean := sum / 10000; math.Abs(mean-0.5) > 0.02 {
		t.Errorf("mean %v", mean)
	}
}

type goldenCase struct {
	Kind          string
	LogitsBits    []string `json:"logits_bits"`
	Prompt        []int
	Generated     []int
	Probabilities []float64
	Draft         int
	Accept        float64
	Residual      []float64
	Params        struct {
		Temperature float32
		TopK        int     `json:"top_k"`
		TopP        float32 `json:"top_p"`
		MinP        float32 `json:"min_p"`
		Presence    float32 `json:"presence_penalty"`
		Frequency   float32 `json:"frequency_penalty"`
		Repetition  float32 `json:"repetition_penalty"`
	}
}

func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/sampling.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 73 {
		t.Fatalf("%d cases, want 73", len(cases))
	}
	var s Sampler
	for i, c := range cases {
		logits := make([]float32, len(c.LogitsBits))
		for j, h := range c.LogitsBits {
			b, err := strconv.ParseUint(h, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			logits[j] = math.Float32frombits(uint32(b))
		}
		p := c.Params
		s.Params = Params{Temperature: p.Temperature, TopK: p.TopK, TopP: p.TopP, MinP: p.MinP, Presence: p.Presence,
			Frequency: p.Frequency, Repetition: p.Repetition}
		want := c.Probabilities
		if c.Kind == "speculative" {
			s.Params, want = Params{Temperature: 1}, c.Residual
		}
		var counts Counts
		counts.AddPrompt(c.Prompt...)
		for _, g := range c.Generated {
			counts.Add(g)
		}
		got := make([]float64, len(logits))
		s.Probabilities(got, logits, nil, &counts)
		if c.Kind == "speculative" {
			accept := AcceptOneHot(got, slices.Clone(got), c.Draft)
			if !(math.Abs(accept-c.Accept) <= 1e-6) {
				t.Errorf("case %d: accept %v, want %v", i, accept, c.Accept)
			}
		}
		if len(want) != len(got) {
			t.Fatalf("case %d: %d probabilities, want %d", i, len(got), len(want))
		}
		for j, w := range want {
			if !(math.Abs(got[j]-w) <= 1e-6) || (got[j] == 0) != (w == 0) {
				t.Errorf("case %d %+v: token %d: %v, want %v", i, p, j, got[j], w)
			}
		}
	}
}

// plain is the sampler of the specification: whole sorts, float64, nothing reused. It returns the weights of what it keeps.
func plain(p Params, row []float32) map[int]float64 {
	type cand struct {
		token int
		x     float32
		w     float64
	}
	var all []cand
	most := float32(math.Inf(-1))
	for _, x := range row {
		if x > most {
			most = x
		}
	}
	for t, x := range row {
		if x == x && !math.IsInf(float64(x), -1) {
			w := 1.0
			if x != most {
				w = math.Exp((float64(x) - float64(most)) / float64(p.Temperature))
			}
			all = append(all, cand{t, x, w})
		}
	}
	slices.SortFunc(all, func(a, b cand) int { // descending; among equals the higher token first
		if a.x != b.x {
			if a.x > b.x {
				return -1
			}
			return 1
		}
		return b.token - a.token
	})
	if p.TopK > 0 && p.TopK < len(all) {
		n := p.TopK
		for n < len(all) && all[n].x == all[p.TopK-1].x {
			n++
		}
		all = all[:n]
	}
	for len(all) > 0 && all[len(all)-1].w < float64(p.MinP) {
		all = all[:len(all)-1]
	}
	if p.TopP > 0 && p.TopP < 1 {
		total, before := 0.0, 0.0
		for _, c := range all {
			total += c.w
		}
		for i, c := range all {
			if before >= float64(p.TopP)*total {
				all = all[:i]
				break
			}
			before += c.w
		}
	}
	kept := map[int]float64{}
	for _, c := range all {
		kept[c.token] = c.w
	}
	return kept
}

// TestSelection compares what is kept with plain sorting, ties included.
func TestSelection(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	var s Sampler
	for trial := range 400 {
		n := 1 + rng.IntN(3000)
		row := make([]float32, n)
		levels := []float32{4, 64, 1e6}[rng.IntN(3)] // few levels: many ties
		for i := range row {
			row[i] = float32(math.Round(rng.NormFloat64()*3*float64(levels))) / levels
		}
		for range rng.IntN(4) {
			row[rng.IntN(n)] = []float32{negInf, float32(math.NaN()), -1e38}[rng.IntN(3)]
		}
		p := Params{Temperature: []float32{0.3, 1, 2.5}[rng.IntN(3)]}
		if rng.IntN(2) == 0 {
			p.TopK = 1 + rng.IntN(60)
		}
		if rng.IntN(2) == 0 {
			p.TopP = 0.01 + 0.98*rng.Float32()
		}
		if rng.IntN(3) == 0 {
			p.MinP = 0.001 + 0.3*rng.Float32()
		}
		s.Params = p
		got, want := make([]float64, n), plain(p, row)
		s.Probabilities(got, row, nil, nil)
		if len(want) == 0 { // no logit at all
			want[0] = 1
		}
		differ := 0
		for t := range row {
			if got[t] == 0 && want[t] > 1e-35 || got[t] > 1e-25 && want[t] == 0 { // float32 weights end near 1e-45
				differ++
			}
		}
		if differ > 1 || differ > 0 && p.TopP == 0 && p.MinP == 0 { // float32 weights may move a border by one
			t.Fatalf("seed %d trial %d: %+v of %d: %d tokens differ", seed, trial, p, n, differ)
		}
	}
}

// TestFrequencies: drawn tokens follow Probabilities.
func TestFrequencies(t *testing.T) {
	s := Sampler{Params: Params{Temperature: 0.8, TopK: 6, Seed: 42}}
	row := []float32{1, 0.5, -2, 0, 1.5, 1.5, -0.3, 0.2, -5, 0.9}
	p, n := make([]float64, len(row)), make([]float64, len(row))
	s.Probabilities(p, row, nil, nil)
	const draws = 40000
	for i := range draws {
		n[s.Sample(row, uint64(i), nil)]++
	}
	for i := range p {
		if d := math.Abs(n[i]/draws - p[i]); d > 5*math.Sqrt(p[i]*(1-p[i])/draws) {
			t.Errorf("token %d: drawn %v, probability %v", i, n[i]/draws, p[i])
		}
	}
}

func TestGreedy(t *testing.T) {
	nan := float32(math.NaN())
	s := Sampler{Params: Params{Vocab: 5}}
	for _, tt := range []struct {
		logits []float32
		mask   []uint64
		want   int
	}{
		{[]float32{1, 3, 3, 2, 0, 9}, nil, 1}, // the lowest of equals; row 5 names no token
		{[]float32{1, 3, 3, 2, 0, 9}, []uint64{0b111001}, 3},
		{[]float32{nan, negInf, -4, nan, -5}, nil, 2},
		{[]float32{nan, negInf, nan, nan, negInf}, nil, 0},
		{[]float32{nan, negInf, nan, nan, negInf}, []uint64{0b11000}, 3},
		{[]float32{negInf, negInf}, []uint64{0, 1}, 64}, // a mask that allows no row: its word, nothing better exists
		{nil, nil, 0},
	} {
		for _, temperature := range []float32{0, 1e-30} {
			s.Params.Temperature = temperature
			got := s.SampleMasked(tt.logits, tt.mask, 7, nil)
			if temperature > 0 && len(tt.logits) == 6 && tt.mask == nil && got == 2 {
				continue // sampled among the two equals
			}
			if got != tt.want {
				t.Errorf("%v mask %b temperature %v: token %d, want %d", tt.logits, tt.mask, temperature, got, tt.want)
			}
		}
	}
	s.Params = Params{LogitBias: SortBias(map[int]float32{2: 5, 0: -100, 99: 3})}
	if got := s.Sample([]float32{9, 1, 0, 2}, 0, nil); got != 2 {
		t.Errorf("biased: token %d, want 2", got)
	}
}

func TestDeterminism(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	row := make([]float32, 5000)
	for i := range row {
		row[i] = float32(rng.NormFloat64() * 2)
	}
	before := slices.Clone(row)
	p := Params{Temperature: 1, TopP: 0.9, Presence: 0.5, Seed: 11, Vocab: 4990}
	var counts Counts
	counts.Add(3)
	a, b := Sampler{Params: p}, Sampler{Params: p}
	var want []int
	for i := range uint64(50) {
		want = append(want, a.Sample(row, i, &counts))
	}
	for i := 49; i >= 0; i-- { // in another order: the index decides
		if got := b.Sample(row, uint64(i), counts.Clone()); got != want[i] {
			t.Errorf("index %d: token %d, want %d", i, got, want[i])
		}
	}
	if !slices.Equal(row, before) {
		t.Error("the logits were written to")
	}
	b.Params.Seed++
	same := 0
	for i := range uint64(50) {
		if b.Sample(row, i, &counts) == want[i] {
			same++
		}
	}
	if same > 10 {
		t.Errorf("%d of 50 tokens equal under another seed", same)
	}
}

// TestSampleBits pins tokens: the digest holds on every machine, and a change of it is a change of the numerics version.
func TestSampleBits(t *testing.T) {
	const want = 0xc2acb6e98cb64d55
	rng := rand.New(rand.NewPCG(21, 9))
	row := make([]float32, 4000)
	for i := range row {
		row[i] = 24*rng.Float32() - 12
	}
	var counts Counts
	counts.AddPrompt(1, 2, 3)
	counts.Add(77)
	h := fnv.New64a()
	for _, p := range []Params{
		{Temperature: 1}, {Temperature: 0.6, TopK: 20, TopP: 0.95}, {Temperature: 1.7, TopP: 0.9, Repetition: 1.2, Presence: 0.3},
		{Temperature: 0.9, MinP: 0.02, LogitBias: []Bias{{5, 3.5}}},
	} {
		p.Seed = 1 << 50
		s := Sampler{Params: p}
		for i := range uint64(500) {
			h.Write(binary.LittleEndian.AppendUint32(nil, uint32(s.Sample(row, i, &counts))))
		}
	}
	if got := h.Sum64(); got != want {
		t.Errorf("digest %#x, want %#x", got, uint64(want))
	}
}

func TestNoAllocation(t *testing.T) {
	row := make([]float32, 20000)
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range row {
		row[i] = float32(rng.NormFloat64() * 2)
	}
	var counts Counts
	counts.AddPrompt(1, 2, 3)
	for _, p := range []Params{
		{}, {Temperature: 1}, {Temperature: 1, TopK: 20, TopP: 0.95}, {Temperature: 1, TopP: 0.9, MinP: 0.01},
		{Temperature: 1, TopP: 0.9, Repetition: 1.1, Presence: 1, LogitBias: []Bias{{4, 1}}},
	} {
		s, i := Sampler{Params: p}, uint64(0)
		if n := testing.AllocsPerRun(20, func() { s.Sample(row, i, &counts); i++ }); n != 0 {
			t.Errorf("%+v: %v allocations a token", p, n)
		}
	}
}

func TestCounts(t *testing.T) {
	var c Counts
	c.AddPrompt(5)
	c.Add(5)
	c.Add(7)
	c.Add(7)
	d := c.Clone()
	c.Remove(7)
	c.Remove(5)
	c.Remove(9)
	if c.Output(7) != 1 || c.Output(5) != 0 || d.Output(7) != 2 || !c.tokens[5].prompt {
		t.Errorf("after removal: %+v, clone %+v", c.tokens, d.tokens)
	}
	c.Remove(7)
	if _, there := c.tokens[7]; there {
		t.Error("an empty count stays")
	}
}

func TestValidate(t *testing.T) {
	nan := float32(math.NaN())
	good := Params{Temperature: 0.7, TopP: 0.95, TopK: 20, Vocab: 10, LogitBias: []Bias{{1, 2}, {9, -100}}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, p := range map[string]Params{
		"temperature": {Temperature: -1}, "NaN": {MinP: nan}, "top_p": {TopP: 1.5}, "top_k": {TopK: -1},
		"repetition": {Repetition: float32(math.Inf(1))},
		"bias range": {Vocab: 3, LogitBias: []Bias{{3, 1}}}, "bias twice": {LogitBias: []Bias{{3, 1}, {3, 1}}}, "bias NaN": {LogitBias: []Bias{{3, nan}}},
	} {
		if p.Validate() == nil {
			t.Errorf("%s: accepted %+v", name, p)
		}
	}
}

func TestLogprobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	row := make([]float32, 9000)
	sum := 0.0
	for i := range row {
		row[i] = float32(math.Round(rng.NormFloat64()*100) / 20)
	}
	row[70], row[8999] = 30, 31
	row[17] = float32(math.NaN())
	for _, x := range row {
		if x == x {
			sum += math.Exp(float64(x))
		}
	}
	s := Sampler{Params: Params{Vocab: 8990}}
	got := s.Logprobs(nil, row, []int{3, 8999, 17, -1, 9000}, 4)
	if len(got) != 9 {
		t.Fatalf("%d entries, want 9", len(got))
	}
	for i, l := range got {
		if i >= 2 && i < 5 {
			if !math.IsInf(float64(l.Value), -1) {
				t.Errorf("entry %d: %+v, want -Inf", i, l)
			}
			continue
		}
		if want := float64(row[l.Token]) - math.Log(sum); !(math.Abs(float64(l.Value)-want) <= 4e-6) {
			t.Errorf("entry %d: %+v, want %v", i, l, want)
		}
	}
	top := got[5:]
	if top[0].Token != 70 {
		t.Errorf("the highest is %+v", top[0])
	}
	for i := 1; i < 4; i++ {
		a, b := top[i-1], top[i]
		if a.Value < b.Value || a.Value == b.Value && a.Token > b.Token {
			t.Errorf("order: %+v", top)
		}
	}
	if n := len(s.Logprobs(nil, []float32{negInf, negInf}, []int{0}, 2)); n != 1 {
		t.Errorf("%d entries without a finite logit, want that asked for", n)
	}
}

// FuzzSample: nothing makes the sampler panic or name a row that is no token, and the same input gives the same token.
func FuzzSample(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 192, 127}, float32(1), float32(0.9), float32(0.1), 2, float32(1.1), uint64(1))
	f.Add([]byte{0, 0, 128, 127, 0, 0, 128, 255}, float32(0), float32(0), float32(0), 0, float32(0), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, temperature, topP, minP float32, topK int, repetition float32, seed uint64) {
		row := make([]float32, len(data)/4)
		for i := range row {
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		p := Params{Temperature: temperature, TopP: topP, MinP: minP, TopK: topK, Repetition: repetition, Presence: minP, Seed: seed, Vocab: len(row)}
		if p.Validate() != nil {
			return
		}
		var counts Counts
		counts.AddPrompt(0, 2)
		counts.Add(1)
		s := Sampler{Params: p}
		got := s.Sample(row, seed, &counts)
		if got < 0 || got >= max(1, len(row)) {
			t.Fatalf("token %d of %d", got, len(row))
		}
		if again := (&Sampler{Params: p}).Sample(row, seed, &counts); again != got {
			t.Fatalf("token %d, then %d", got, again)
		}
		s.Logprobs(nil, row, []int{got}, 3)
	})
}

func BenchmarkSample(b *testing.B) {
	row := make([]float32, 248320)
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range row {
		row[i] = float32(rng.NormFloat64() * 2)
	}
	row[1234] = 14
	for _, p := range []Params{
		{}, {Temperature: 1, TopK: 20, TopP: 0.95}, {Temperature: 1, TopP: 0.95}, {Temperature: 1}, {Temperature: 0.6, MinP: 0.05},
	} {
		p.Vocab = 248077
		b.Run(fmt.Sprintf("t%v,k%d,p%v,min%v", p.Temperature, p.TopK, p.TopP, p.MinP), func(b *testing.B) {
			s := Sampler{Params: p}
			for i := 0; b.Loop(); i++ {
				s.Sample(row, uint64(i), nil)
			}
		})
	}
}
