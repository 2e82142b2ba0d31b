package tokenizer

import "time"

// Bounds on what a tokenizer.json may ask for, and on what is kept beside it.
const (
	maxFileBytes  = 64 << 20 // the largest known file of this family (248 thousand tokens) is about 20 MB
	maxTokens     = 1 << 20  // ids take 20 bits in the pair table; the largest known vocabulary has 262,144
	maxRanks      = 1<<24 - 1
	maxTokenBytes = 4096 // one vocabulary entry; the longest known are runs of 128 spaces

	maxAddedTokens     = 8192
	maxAddedTokenBytes = 512       // Escape looks this far across the ends of a text
	maxAddedBytes      = 256 << 10 // all of them together

	maxPatternBytes    = 4096
	maxPreTokenizers   = 16
	maxTimePerMatch    = 2 * time.Second // of a foreign split expression, which may backtrack without end
	shortPieceBytes    = 96              // up to here a scan for the lowest rank beats a heap
	cachedPieceBytes   = 64              // pieces up to this size are remembered with their ids
	pieceCacheSlots    = 1 << 13         // times at most 64 bytes and 64 ids: below 4 MB
	maxScratchElements = 1 << 16         // larger merge buffers go back to the collector

	memoMinSegmentBytes = 128 // below, encoding costs about what remembering does
	memoEntryBytes      = 256 // map slots, list and headers of one entry, estimated from above
)
