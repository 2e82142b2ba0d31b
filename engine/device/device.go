// Package device is the seam between the engine, which owns ids and policy, and the hardware that owns bytes. A step is a
// plain description with one exchange a round, so that a device may live in another process.
//
// A state or snapshot of length L holds exactly tokens 0..L-1. The root of a round is always a token that is not yet in
// pages or state: after a prefill, the last prompt token.
package device

import (
	"context"

	"hearth/engine/sampling"
	"hearth/kernels"
)

// PageID names a page: the attention keys and values of 32 consecutive positions, every attention layer.
type PageID int32

// StateID names a state: all that is recurrent at one position.
type StateID int32

// Geometry describes a loaded model's memory.
type Geometry struct {
	PageBytes  int              // bytes of one page
	StateBytes int              // bytes of one state
	Pages      int              // ids 0..Pages-1 are valid
	States     int              // ids 0..States-1 are valid
	MaxRows    int              // rows one Prefill call may carry, all sequences together
	KV         kernels.KVFormat // of the keys and values in pages
	Threads    int              // that compute
}

// Prefill asks for tokens of one sequence to be computed into its pages and state.
type Prefill struct {
	State    StateID
	Pages    []PageID // page i holds positions 32i..32i+31; long enough for Position+len(Tokens)
	Position int      // of Tokens[0]; the state holds exactly the tokens before it
	Tokens   []int32
}

// RoundPlan asks for one token after Root.
type RoundPlan struct {
	State    StateID
	Pages    []PageID
	Position int   // of Root; the state holds exactly the tokens before it
	Root     int32 // the last known token, not yet in pages or state
	Params   sampling.Params
	Mask     []uint64         // token t is allowed where bit t%64 of word t/64 is set; nil: all are
	Counts   *sampling.Counts // tokens that count for penalties, Root included
	Index    uint64           // of the token being chosen, for the sampler's generator
}

// RoundResult is what a round chose.
type RoundResult struct {
	Token  int32     // follows Root
	Logits []float32 // one a row of the vocabulary, borrowed until the next call
}

// Device is a loaded model with memory for pages and states. One goroutine uses it at a time.
type Device interface {
	Geometry() Geometry
	// Prefill computes the tokens of each row. When ctx ends it returns ctx.Err() within a layer's time, and the states and
	// pages of the call's rows are then undefined.
	Prefill(ctx context.Context, rows []Prefill) error
	// Round computes each root and samples its successor. Errors as Prefill.
	Round(ctx context.Context, plans []RoundPlan, results []RoundResult) error
	// ResetState makes a state that of length 0.
	ResetState(id StateID)
	// CopyPage copies the first positions of a page: copy-on-write of a partial page.
	CopyPage(dst, src PageID, positions int)
	CopyState(dst, src StateID)
	// ReadPage and friends move the bytes of a page or state for persistence; the layout is the device's own.
	ReadPage(id PageID, dst []byte)
	WritePage(id PageID, src []byte)
	ReadState(id StateID, dst []byte)
	WriteState(id StateID, src []byte)
	Close() error
}
