package sampling

import (
	"math"
	"slices"

	"hearth/kernels"
)

// topKChunk is how many logits are passed over at once when none reaches the bar.
const topKChunk = 512

// topK keeps the k highest logits and all equal to the k-th, in one pass: candidates gather above a bar, which rises to the
// k-th of them whenever there are many. -Inf and NaN are never kept.
func (s *Sampler) topK(row []float32, k int) {
	bar, limit := float32(lowest), max(4*k, 64)
	kept := &s.kept
	for base := 0; base < len(row); base += topKChunk {
		chunk := row[base:min(base+topKChunk, len(row))]
		if len(kept.tokens) >= limit {
			bar = s.raise(k)
			limit = max(limit, 2*len(kept.tokens)) // many ties
		}
		if chunk[kernels.ArgMax(chunk)] < bar {
			continue
		}
		for i, x := range chunk {
			if x >= bar {
				kept.tokens = append(kept.tokens, int32(base+i))
				kept.logits = append(kept.logits, x)
			}
		}
	}
	if len(kept.tokens) > k {
		s.raise(k)
	}
}

// raise drops what is below the k-th highest kept logit and returns that.
func (s *Sampler) raise(k int) float32 {
	bar := s.rank(k)
	s.keep(func(i int) bool { return s.kept.logits[i] >= bar })
	return bar
}

// rank is the k-th highest of the kept logits, 1 ≤ k ≤ their number, found byte by byte.
func (s *Sampler) rank(k int) float32 {
	s.keys = s.keys[:0]
	for _, x := range s.kept.logits {
		s.keys = append(s.keys, orderKey(x))
	}
	keys, found := s.keys, uint32(0)
	for shift := 24; shift >= 0; shift -= 8 {
		var have [256]int
		for _, key := range keys {
			have[key>>shift&255]++
		}
		digit := 255
		for have[digit] < k {
			k -= have[digit]
			digit--
		}
		found |= uint32(digit) << shift
		n := 0
		for _, key := range keys {
			if key>>shift&255 == uint32(digit) {
				keys[n] = key
				n++
			}
		}
		keys = keys[:n]
	}
	if found>>31 == 1 {
		return math.Float32frombits(found &^ (1 << 31))
	}
	return math.Float32frombits(^found)
}

// orderKey maps floats, NaN apart, to integers of the same order; the zeros are one.
func orderKey(x float32) uint32 {
	b := math.Float32bits(x)
	if b>>31 == 1 && b != 1<<31 {
		return ^b
	}
	return b | 1<<31
}

// bucketShift leaves 5 bits of the mantissa: a bucket's weights are within 3 % of each other.
const bucketShift = 18

// topP keeps the highest weights until their sum reaches p of the total: a token stays when the sum of those before it is
// below that. Order is by bucket of weight, then logit, both descending; among equals the higher token comes first. Sums are
// float64: the total, then whole buckets in ascending order of tokens, then one by one in the bucket that crosses the border.
func (s *Sampler) topP(p float64) {
	if s.sums == nil {
		s.sums = make([]float64, 0x3F800000>>bucketShift+1) // weights are at most 1
	}
	clear(s.sums)
	total := 0.0
	for _, w := range s.kept.weights {
		total += float64(w)
	}
	s.dropTail(float32(0.99 * (1 - p) * total / float64(len(s.kept.weights))))
	for _, w := range s.kept.weights {
		s.sums[math.Float32bits(w)>>bucketShift] += float64(w)
	}
	target, before := p*total, 0.0
	crossing := len(s.sums) - 1
	for crossing > 0 && before+s.sums[crossing] < target {
		before += s.sums[crossing]
		crossing--
	}
	s.border = s.border[:0]
	for i, w := range s.kept.weights {
		if int(math.Float32bits(w)>>bucketShift) == crossing {
			s.border = append(s.border, int32(i))
		}
	}
	logits := s.kept.logits
	slices.SortFunc(s.border, func(a, b int32) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return int(b - a)
	})
	n := 0
	for n < len(s.border) && before < target {
		before += float64(s.kept.weights[s.border[n]])
		n++
	}
	for _, i := range s.border[n:] {
		s.kept.weights[i] = -1
	}
	s.keep(func(i int) bool {
		w := s.kept.weights[i]
		return w >= 0 && int(math.Float32bits(w)>>bucketShift) >= crossing
	})
}

// dropTail drops weights below the bar. Below (1 − p)·total/n even n of them are less than (1 − p)·total, so those above
// reach p of the total and none of them would stay.
func (s *Sampler) dropTail(bar float32) {
	k, n := &s.kept, 0
	for i, w := range k.weights {
		k.tokens[n], k.logits[n], k.weights[n] = k.tokens[i], k.logits[i], w
		if w >= bar { // no branch: it would be guessed wrongly as often as not
			n++
		}
	}
	k.tokens, k.logits, k.weights = k.tokens[:n], k.logits[:n], k.weights[:n]
}
