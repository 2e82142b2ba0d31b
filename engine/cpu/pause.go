//go:build amd64 || arm64

package cpu

// pause tells the core that this thread spins.
//
//go:noescape
func pause()
