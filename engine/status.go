package engine

// State of an engine's life.
type State string

const (
	Starting State = "starting"
	Loading  State = "loading"
	Ready    State = "ready"
	Failed   State = "failed"
)

// Status is a snapshot for /health and the page.
type Status struct {
	State    State
	Stage    string  // what a loading engine does now, for people
	Progress float64 // 0..1 while loading
	Err      error   // why it failed
	Model    ModelInfo
	Running  int // sequences being computed
	Waiting  int // requests queued
}

// ModelInfo describes a loaded (or loading) checkpoint.
type ModelInfo struct {
	Name          string
	Architecture  string // as in config.json
	Parameters    int64
	WeightBytes   int64
	Formats       string // for people: "NVFP4 (W4A4), BF16"
	KVFormat      string
	ContextLength int
	VocabSize     int
	MTP           bool
	Fingerprint   string // of the weights and numerics, hex
	Created       int64  // unix seconds: modification time of the weights
	Level         string // instruction level in use
	Threads       int
}
