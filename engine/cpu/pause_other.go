//go:build !amd64 && !arm64

package cpu

import "runtime"

func pause() { runtime.Gosched() }
