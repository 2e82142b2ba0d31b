package engine

import "time"

const (
	// defaultMaxQueue waiting requests: one agent rarely has more than a handful in flight, and a longer line than this
	// answers nobody in time.
	defaultMaxQueue = 64
	// MaxStops strings a request may end on: four times the OpenAI API's.
	MaxStops = 16
	// MaxStopBytes of one stop string: what the scanner may have to hold back.
	MaxStopBytes = 1024
	// MaxLogitBias entries of a request: a vocabulary's worth would make sampling slower than the model.
	MaxLogitBias = 1024
	// MaxTemperature as in the OpenAI API: far above it every token is as likely as any other.
	MaxTemperature = 2
	// MaxRepetitionPenalty is far beyond what leaves a text readable.
	MaxRepetitionPenalty = 10
	// memoBytes of remembered token ids: some hundred agent conversations.
	memoBytes = 64 << 20
	// logProgressEvery while loading: enough for people who watch a log.
	logProgressEvery = 5 * time.Second
	// closeTimeout bounds how long Close waits for the running step.
	closeTimeout = 10 * time.Second
)
