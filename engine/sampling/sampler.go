package sampling

import (
	"math"
	"slices"

	"hearth/kernels"
)

// Sampler chooses tokens under Params. It keeps its buffers, so that after the first tokens none is allocated; one goroutine
// at a time may use it. Params may be changed between tokens.
type Sampler struct {
	Params Params

	row     []float32 // penalised and masked logits
	kept    kept
	keys    []uint32  // of rank
	sums    []float64 // of top-p, by bucket of weight
	border  []int32
	weights []float32 // of Logprobs
}

// kept are the candidates still in, ascending by token.
type kept struct {
	tokens  []int32
	logits  []float32
	weights []float32 // Exp((logit − highest)/temperature)
}

func (k *kept) reset() { k.tokens, k.logits, k.weights = k.tokens[:0], k.logits[:0], k.weights[:0] }

// Sample is SampleMasked without a mask.
func (s *Sampler) Sample(logits []float32, index uint64, counts *Counts) int {
	return s.SampleMasked(logits, nil, index, counts)
}

// SampleMasked chooses the token at the given index of its sequence from logits [rows]. mask, if not nil, has bit t%64 of
// word t/64 set where token t is allowed. counts may be nil without penalties. A NaN is as −Inf; where nothing else is
// left, the choice is the lowest token allowed, or 0.
func (s *Sampler) SampleMasked(logits []float32, mask []uint64, index uint64, counts *Counts) int {
	row := s.prepare(logits, mask, counts)
	if s.Params.Temperature == 0 {
		if best := argMax(row); best >= 0 {
			return best
		}
		return lowestAllowed(mask)
	}
	s.choose(row)
	if len(s.kept.tokens) == 0 {
		return lowestAllowed(mask)
	}
	total := 0.0
	for _, w := range s.kept.weights {
		total += float64(w)
	}
	target, sum := Uniform(s.Params.Seed, index)*total, 0.0
	last := s.kept.tokens[0]
	for i, w := range s.kept.weights {
		sum += float64(w)
		if sum > target {
			return int(s.kept.tokens[i])
		}
		if w > 0 {
			last = s.kept.tokens[i]
		}
	}
	return int(last) // target was rounded up to total
}

// Probabilities writes to dst [rows of logits] the distribution that Sample draws from.
func (s *Sampler) Probabilities(dst []float64, logits []float32, mask []uint64, counts *Counts) {
	clear(dst)
	if s.Params.Temperature == 0 {
		dst[s.SampleMasked(logits, mask, 0, counts)] = 1
		return
	}
	s.choose(s.prepare(logits, mask, counts))
	if len(s.kept.tokens) == 0 {
		dst[lowestAllowed(mask)] = 1
		return
	}
	total := 0.0
	for _, w := range s.kept.weights {
		total += float64(w)
	}
	for i, w := range s.kept.weights {
		dst[s.kept.tokens[i]] = float64(w) / total
	}
}

// prepare returns the logits of tokens after mask, penalties and bias: those given where nothing changes them.
func (s *Sampler) prepare(logits []float32, mask []uint64, counts *Counts) []float32 {
	p := &s.Params
	row := logits
	if p.Vocab > 0 && p.Vocab < len(row) {
		row = row[:p.Vocab]
	}
	if mask == nil && !p.penalised() {
		return row
	}
	s.row = append(s.row[:0], row...)
	row = s.row
	maskRow(row, mask)
	if counts != nil && (p.Presence != 0 || p.Frequency != 0 || p.Repetition != 0 && p.Repetition != 1) {
		for t, n := range counts.tokens { // tokens are independent, so the map's order does not matter
			if t >= 0 && t < len(row) {
				row[t] = p.penalise(row[t], n)
			}
		}
	}
	for _, b := range p.LogitBias {
		if b.Token >= 0 && b.Token < len(row) {
			row[b.Token] += b.Value
		}
	}
	return row
}

// penalise applies the penalties to the logit of a token with those counts.
func (p *Params) penalise(x float32, n count) float32 {
	if p.Repetition != 0 {
		if x < 0 {
			x *= p.Repetition
		} else {
			x /= p.Repetition
		}
	}
	if n.output > 0 {
		x -= float32(p.Frequency * float32(n.output))
		x -= p.Presence
	}
	return x
}

// maskRow makes −Inf of tokens whose bit is missing. A nil mask allows all.
func maskRow(row []float32, mask []uint64) {
	if mask == nil {
		return
	}
	for base := 0; base < len(row); base += 64 {
		var word uint64
		if base/64 < len(mask) {
			word = mask[base/64]
		}
		if word == math.MaxUint64 {
			continue
		}
		for i := range row[base:min(base+64, len(row))] {
			if word>>i&1 == 0 {
				row[base+i] = negInf
			}
		}
	}
}

func lowestAllowed(mask []uint64) int {
	for i, word := range mask {
		for bit := range 64 {
			if word>>bit&1 == 1 {
				return i*64 + bit
			}
		}
	}
	return 0
}

// argMax is the highest logit above −Inf, the lowest token among equals; -1 if there is none.
func argMax(row []float32) int {
	if len(row) == 0 {
		return -1
	}
	if best := kernels.ArgMax(row); row[best] > negInf {
		return best
	}
	return -1
}

// choose leaves in s.kept the tokens that pass min-p, top-k and top-p, with their weights.
//
// Division by the temperature keeps the order of logits, so who stays is found on the logits as they are. What min-p and
// top-k keep is each all above some logit, ties included, so their order does not matter.
func (s *Sampler) choose(row []float32) {
	p := &s.Params
	s.kept.reset()
	if p.TopK > 0 && p.TopK < len(row) {
		s.topK(row, p.TopK)
	} else if best := argMax(row); best >= 0 {
		s.within(row, row[best])
	}
	if len(s.kept.tokens) == 0 {
		return
	}
	s.weigh()
	if p.MinP > 0 {
		s.keep(func(i int) bool { return s.kept.weights[i] >= p.MinP })
	}
	if p.TopP > 0 && p.TopP < 1 {
		s.topP(float64(p.TopP))
	}
}

// within keeps the tokens that can pass min-p and whose weight can be above 0: Exp is 0 below −104.
func (s *Sampler) within(row []float32, highest float32) {
	depth := float32(105)
	if s.Params.MinP > 0 {
		depth = min(depth, 1e-3-float32(1.001*kernels.Log(s.Params.MinP))) // a little more than −log: rounding
	}
	cut := max(highest-float32(depth*s.Params.Temperature), lowest)
	k := &s.kept
	k.tokens, k.logits = slices.Grow(k.tokens, len(row))[:len(row)], slices.Grow(k.logits, len(row))[:len(row)]
	n := 0
	for t, x := range row {
		if x >= cut { // nearly all or nearly none
			k.tokens[n], k.logits[n] = int32(t), x
			n++
		}
	}
	k.tokens, k.logits = k.tokens[:n], k.logits[:n]
}

// weigh computes the weights of what is kept. If there is a +Inf, only such have weight.
func (s *Sampler) weigh() {
	k, temperature := &s.kept, s.Params.Temperature
	highest := k.logits[kernels.ArgMax(k.logits)]
	k.weights = slices.Grow(k.weights, len(k.logits))[:len(k.logits)]
	for i, x := range k.logits {
		w := x - highest
		if temperature != 1 {
			w /= temperature
		}
		if x == highest {
			w = 0 // +Inf − +Inf, or divided by a temperature of almost 0
		}
		k.weights[i] = w
	}
	kernels.ExpSlice(k.weights, k.weights)
}

// keep drops what f rejects.
func (s *Sampler) keep(f func(i int) bool) {
	n, k := 0, &s.kept
	weighed := len(k.weights) > 0
	for i := range k.tokens {
		stays := f(i)
		k.tokens[n], k.logits[n] = k.tokens[i], k.logits[i]
		if weighed {
			k.weights[n] = k.weights[i]
		}
		if stays { // no branch: it would be guessed wrongly as often as not
			n++
		}
	}
	k.tokens, k.logits = k.tokens[:n], k.logits[:n]
	if weighed {
		k.weights = k.weights[:n]
	}
}

var negInf = float32(math.Inf(-1))

const lowest = -math.MaxFloat32
