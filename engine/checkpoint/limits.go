package checkpoint

// Limits on what a checkpoint may claim. The largest model of the family has 64 layers, hidden 5120, vocabulary 248,320;
// each limit leaves room for a successor and keeps products of two of them far below 2^63.
const (
	maxHeaderBytes  = 100 << 20 // safetensors' own limit; the 27B has 300 KB
	maxTensors      = 1 << 17   // per folder; the 27B in NVFP4 has 2,194
	maxShards       = 4096      // files per folder; the FP8 27B has 66
	maxTensorDims   = 8         // the vision tower has 5
	maxTensorName   = 512       // bytes
	maxSmallFile    = 64 << 20  // bytes of one file beside the weights; tokenizer.json has 20 MB at most
	maxConfigBytes  = 16 << 20  // config.json of the mixed 27B has 100 KB
	maxJSONDepth    = 32        // config.json nests 5 deep
	maxJSONValues   = 1 << 20   // of one file; the index of the 27B has 2,200, its mixed config 1,500
	maxEntryValues  = 32        // of one tensor's entry in a header: three members and the numbers in them
	maxPatterns     = 1 << 16   // names and wildcards of a quantisation config
	maxPatternBytes = 1024      // one of them

	maxHidden       = 1 << 16
	maxIntermediate = 1 << 19
	maxLayers       = 1024
	maxHeads        = 1024
	maxHeadDim      = 1024
	maxVocab        = 1 << 22
	maxPositions    = 1 << 24
	maxEOS          = 64

	digestChunkBytes = 4 << 20 // read at a time when hashing: large enough for the disk, small enough to cancel quickly
)
