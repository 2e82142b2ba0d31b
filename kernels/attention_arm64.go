package kernels

import (
	"fmt"
	"unsafe"
)

// tileScores sets s [n][32] = Σ_d q[d][n]·k[d][32], where q is [dim][12] and k as stored in format. It may compute and write
// up to the next of 4, 6, 8 or 12 queries. Meanwhile next is prefetched.
func tileScores(s, q *float32, k unsafe.Pointer, format KVFormat, dim, n int, next prefetch) {
	size := tileSize(n)
	switch {
	case size == 12 && n <= 8:
		scores4F32NEON(s, q, k, k, dim)
		scores4F32NEON(offset(s, 4*PagePositions), offset(q, 4), k, k, dim)
	case size == 12:
		scores6F32NEON(s, q, k, k, dim)
		scores6F32NEON(offset(s, 6*PagePositions), offset(q, 6), k, k, dim)
	case size == 6 && format == KVF32:
		scores6F32NEON(s, q, k, next.at, dim)
	case size == 6 && format == KVBF16:
		scores6BF16NEON(s, q, k, next.at, dim)
	case size == 6:
		scores6FP8NEON(s, q, k, next.at, dim)
	case format == KVF32:
		scores4F32NEON(s, q, k, next.at, dim)
	case format == KVBF16:
		scores4BF16NEON(s, q, k, next.at, dim)
	default:
		scores4FP8NEON(s, q, k, next.at, dim)
	}
}

// tileValues takes valid positions into acc [steps][12][32]: acc·corr, then + p[pos]·v[pos][dim], ascending. p is [n][32]. It
// may compute and write up to the next of 1, 4, 6, 8 or 12 queries; 1 with KVF32 only.
func tileValues(acc, p, corr *float32, v unsafe.Pointer, format KVFormat, dim, valid, n int, next prefetch) {
	stride, steps := dim*format.size(), (dim+tileDims-1)/tileDims
	size := tileSize(n)
	switch {
	case n == 1 && format == KVF32:
		values1F32NEON(acc, p, corr, v, v, stride, steps, valid)
	case size == 12 && n <= 8:
		values4F32NEON(acc, p, corr, v, v, stride, steps, valid)
		values4F32NEON(offset(acc, 4*tileDims), offset(p, 4*PagePositions), offset(corr, 4), v, v, stride, steps, valid)
	case size == 12:
		values6F32NEON(acc, p, corr, v, v, stride, steps, valid)
		values6F32NEON(offset(acc, 6*tileDims), offset(p, 6*PagePositions), offset(corr, 6), v, v, stride, steps, valid)
	case size == 6 && format == KVF32:
		values6F32NEON(acc, p, corr, v, next.at, stride, steps, valid)
	case size == 6 && format == KVBF16:
		values6BF16NEON(acc, p, corr, v, next.at, stride, steps, valid)
	case size == 6:
		values6FP8NEON(acc, p, corr, v, next.at, stride, steps, valid)
	case format == KVF32:
		values4F32NEON(acc, p, corr, v, next.at, stride, steps, valid)
	case format == KVBF16:
		values4BF16NEON(acc, p, corr, v, next.at, stride, steps, valid)
	default:
		values4FP8NEON(acc, p, corr, v, next.at, stride, steps, valid)
	}
}

// tileSoftmax turns scores s [n][32] into weights, of which valid[i] exist, and updates m and sum; corr [16] receives what
// acc must be multiplied with.
func tileSoftmax(s, m, corr, sum *float32, valid *[16]int32, n int) {
	softmaxNEON(s, m, corr, sum, valid, n)
}

// decodeKV converts n elements, a multiple of 32, to float32.
func decodeKV(dst []float32, src unsafe.Pointer, n int, format KVFormat) {
	switch {
	case n%32 != 0 || n > len(dst):
		panic(fmt.Sprintf("kernels: conversion of %d KV elements", n))
	case format == KVF32:
		copy(dst[:n], unsafe.Slice((*float32)(src), n))
	case format == KVBF16:
		decodeBF16NEON(&dst[0], src, n)
	default:
		decodeFP8NEON(&dst[0], src, n)
	}
}

// scaleAdd computes dst[d] = fma(src[d], b, dst[d]·a).
func scaleAdd(dst, src []float32, a, b float32) {
	if n := len(dst) &^ 3; level == NEON && n > 0 {
		_ = src[n-1]
		scaleAddNEON(&dst[0], &src[0], a, b, n)
		dst, src = dst[n:], src[n:]
	}
	scaleAddGeneric(dst, src, a, b)
}

// Assembly: one loop per number of queries and stored format, see tileScores and tileValues.

//go:noescape
func values1F32NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)

//go:noescape
func scores4F32NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)

//go:noescape
func values4F32NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)

//go:noescape
func scores4BF16NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)

//go:noescape
func values4BF16NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)

//go:noescape
func scores4FP8NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)

//go:noescape
func values4FP8NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)

//go:noescape
func scores6F32NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)

//go:noescape
func values6F32NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)

//go:noescape
func scores6BF16NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)

//go:noescape
func values6BF16NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)

//go:noescape
func scores6FP8NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)

//go:noescape
func values6FP8NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)

//go:noescape
func softmaxNEON(s, m, corr, sum *float32, valid *[16]int32, n int)

//go:noescape
func decodeBF16NEON(dst *float32, src unsafe.Pointer, n int)

//go:noescape
func decodeFP8NEON(dst *float32, src unsafe.Pointer, n int)

//go:noescape
func scaleAddNEON(dst, src *float32, a, b float32, n int)
