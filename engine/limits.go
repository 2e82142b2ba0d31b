package engine

import "time"

const (
	// defaultMaxQueue waiting requests: one agent rarely has more than a handful in flight, and a longer line than this
	// answers nobody in time.
	defaultMaxQueue = 64
	// maxStops strings a request may end on, as in the OpenAI API.
	maxStops = 16
	// maxStopBytes of one stop string: what the scanner may have to hold back.
	maxStopBytes = 4096
	// maxLogitBias entries of a request: a vocabulary's worth would make sampling slower than the model.
	maxLogitBias = 1024
	// maxKwargsDepth of nested template variables: as deep as the deepest schema that is accepted.
	maxKwargsDepth = 64
	// memoBytes of remembered token ids: some hundred agent conversations.
	memoBytes = 64 << 20
	// logProgressEvery while loading: enough for people who watch a log.
	logProgressEvery = 5 * time.Second
	// closeTimeout bounds how long Close waits for the running step.
	closeTimeout = 10 * time.Second
)
