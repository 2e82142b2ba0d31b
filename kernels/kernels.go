// Package kernels computes one operation at a time over slices: a Go reference that defines the bits, and assembly for
// amd64 (AVX2, AVX-512) and arm64 (NEON) that equals it with tolerance zero. It knows nothing of models or layers.
//
// The rule that bites: a result never depends on how many rows are computed beside it, on the chunk it came in, or on the
// number of threads. So each operation has one summation order, written beside its reference and kept by every
// implementation. References spell fused multiply-add as fma32 and unfused sums as float32(x*y) + z, because a compiler may
// fuse on arm64.
//
// Length mismatches are mistakes of the caller and panic. Nothing here allocates in a step: scratch is passed in.
package kernels
