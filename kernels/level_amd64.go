package kernels

import "golang.org/x/sys/cpu"

// supported wants VNNI of AVX-512: the few CPUs that have AVX-512 without it run AVX2 as fast.
func supported(l Level) bool {
	switch l {
	case AVX2:
		return cpu.X86.HasAVX2 && cpu.X86.HasFMA && hasF16C()
	case AVX512:
		return supported(AVX2) && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ &&
			cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI
	}
	return false
}

// hasF16C asks CPUID leaf 1, ECX bit 29, which x/sys/cpu does not report.
func hasF16C() bool { return cpuid1ecx()&(1<<29) != 0 }

//go:noescape
func cpuid1ecx() uint32
