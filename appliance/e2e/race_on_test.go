//go:build race

package e2e

// underRace: the race detector is on. It takes several times the memory and, in Go code, the time.
const underRace = true
