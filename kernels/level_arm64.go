package kernels

import "golang.org/x/sys/cpu"

func supported(l Level) bool { return l == NEON && cpu.ARM64.HasASIMD && cpu.ARM64.HasASIMDDP }
