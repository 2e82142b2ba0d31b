package cpu

import "runtime"

const (
	// defaultMaxRows of a step: enough that unpacking weights costs little beside the products, and that a step of a small
	// model ends within a fraction of a second.
	defaultMaxRows = 512
	// genericMaxRows of a step computed by the reference, which gains nothing from more, and must end in time as well.
	genericMaxRows = 64
	// inlineBytes of weights times rows are multiplied by the calling thread alone: a helper would arrive when it is over.
	inlineBytes = 64 << 10
	// maxThreads is more than any box has that reads weights faster with another one.
	maxThreads = 256
)

func threadCount(asked int) int {
	if asked <= 0 {
		asked = runtime.GOMAXPROCS(0)
	}
	return min(asked, maxThreads)
}
