package sampling

import (
	"slices"

	"hearth/kernels"
)

// Logprob is the logarithm of a token's probability.
type Logprob struct {
	Token int
	Value float32
}

// Logprobs appends to dst the log-softmax of unmodified logits: first of the tokens asked for, then of the top highest in
// descending order, the lower token first among equals. Rows that name no token count in the sum and are never listed.
// A token outside the rows has −Inf, and so has all where no logit is finite.
func (s *Sampler) Logprobs(dst []Logprob, logits []float32, tokens []int, top int) []Logprob {
	norm, ok := s.logSumExp(logits)
	value := func(t int) float32 {
		if !ok || t < 0 || t >= len(logits) || logits[t] != logits[t] {
			return negInf
		}
		return logits[t] - norm
	}
	for _, t := range tokens {
		dst = append(dst, Logprob{t, value(t)})
	}
	row := logits
	if s.Params.Vocab > 0 && s.Params.Vocab < len(row) {
		row = row[:s.Params.Vocab]
	}
	if top <= 0 {
		return dst
	}
	s.kept.reset()
	s.topK(row, top)
	first := len(dst)
	for _, t := range s.kept.tokens {
		dst = append(dst, Logprob{int(t), value(int(t))})
	}
	slices.SortFunc(dst[first:], func(a, b Logprob) int {
		switch {
		case logits[a.Token] > logits[b.Token]:
			return -1
		case logits[a.Token] < logits[b.Token]:
			return 1
		}
		return a.Token - b.Token
	})
	return dst[:min(len(dst), first+top)]
}

// logSumExp is log Σ e^x over the logits that are not NaN; false if there is no finite highest one.
func (s *Sampler) logSumExp(logits []float32) (float32, bool) {
	best := argMax(logits)
	if best < 0 || logits[best] > -lowest {
		return 0, false
	}
	const chunk = 4096
	highest, sum := logits[best], 0.0
	for len(logits) > 0 {
		n := min(chunk, len(logits))
		s.weights = s.weights[:0]
		for _, x := range logits[:n] {
			if x != x {
				x = negInf
			}
			s.weights = append(s.weights, x-highest)
		}
		kernels.ExpSlice(s.weights, s.weights)
		for _, w := range s.weights {
			sum += float64(w)
		}
		logits = logits[n:]
	}
	return highest + kernels.Log(float32(sum)), true
}
