package sampling

import (
	"fmt"
	"math"
	"slices"
)

// Params says how to choose. The zero value, but for Vocab, is greedy without penalties.
type Params struct {
	Temperature float32 // 0: the highest logit after penalties, the lowest id among equals
	TopP        float32 // 0 or ≥ 1: off
	MinP        float32 // ≤ 0: off
	TopK        int     // ≤ 0: off
	Presence    float32 // subtracted once from tokens of the output
	Frequency   float32 // subtracted once per occurrence in the output
	Repetition  float32 // divides positive and multiplies other logits of tokens of prompt and output; 0 or 1: off
	LogitBias   []Bias  // sorted by token, each at most once
	Seed        uint64
	Vocab       int // rows from here on name no token and are never chosen; 0: all rows do
}

// Bias is added to a token's logit.
type Bias struct {
	Token int
	Value float32
}

// SortBias makes a LogitBias of a request's map.
func SortBias(m map[int]float32) []Bias {
	b := make([]Bias, 0, len(m))
	for token, value := range m {
		b = append(b, Bias{token, value})
	}
	slices.SortFunc(b, func(x, y Bias) int { return x.Token - y.Token })
	return b
}

// Validate names the first parameter that makes no sense.
func (p *Params) Validate() error {
	for _, f := range []struct {
		name        string
		value       float32
		least, most float32
	}{
		{"temperature", p.Temperature, 0, math.MaxFloat32},
		{"top_p", p.TopP, 0, 1},
		{"min_p", p.MinP, 0, 1},
		{"presence_penalty", p.Presence, -math.MaxFloat32, math.MaxFloat32},
		{"frequency_penalty", p.Frequency, -math.MaxFloat32, math.MaxFloat32},
		{"repetition_penalty", p.Repetition, 0, math.MaxFloat32},
	} {
		if !(f.value >= f.least && f.value <= f.most) {
			return fmt.Errorf("%s is %v: want a number from %v to %v", f.name, f.value, f.least, f.most)
		}
	}
	if p.TopK < 0 {
		return fmt.Errorf("top_k is %d: want 0 (off) or more", p.TopK)
	}
	for i, b := range p.LogitBias {
		if b.Token < 0 || p.Vocab > 0 && b.Token >= p.Vocab {
			return fmt.Errorf("logit_bias names token %d: the vocabulary has %d", b.Token, p.Vocab)
		}
		if b.Value != b.Value {
			return fmt.Errorf("logit_bias of token %d is not a number", b.Token)
		}
		if i > 0 && b.Token <= p.LogitBias[i-1].Token {
			return fmt.Errorf("logit_bias names token %d twice or out of order", b.Token)
		}
	}
	return nil
}

// penalised says whether the logits differ from those given.
func (p *Params) penalised() bool {
	return p.Presence != 0 || p.Frequency != 0 || p.Repetition != 0 && p.Repetition != 1 || len(p.LogitBias) > 0
}
