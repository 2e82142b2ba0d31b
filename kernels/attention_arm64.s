#include "textflag.h"
#include "exp_arm64.h"

// Attention for NEON. V24 to V27 are 16 positions of a key's dimension, or 16 dimensions of a value; query i of the tile has
// the accumulators V(4i) to V(4i+3). The 32 of a page or step take two passes.
//
// R0 results, R1 keys or values, R2 queries, R3 what to prefetch, R4 loop count, R5 to R10 weights, R11 corrections.

#define STEP 1536 // bytes between steps of a tile's accumulators: 12 queries of 32 float32

// FMLA Vd.4S, Vn.4S, Vm.S[i]
#define FMLAE(i, m, n, d) WORD $(0x4F801000 | ((i)&1)<<21 | (m)<<16 | ((i)>>1)<<11 | (n)<<5 | (d))
// FMUL Vd.4S, Vn.4S, Vm.S[i]
#define FMULE(i, m, n, d) WORD $(0x4F809000 | ((i)&1)<<21 | (m)<<16 | ((i)>>1)<<11 | (n)<<5 | (d))
// FMAXNM Vd.4S, Vn.4S, Vm.4S
#define FMAXNM4S(m, n, d) WORD $(0x4E20C400 | (m)<<16 | (n)<<5 | (d))
// FMAXNMV Sd, Vn.4S
#define FMAXNMV4S(n, d) WORD $(0x6E30C800 | (n)<<5 | (d))
// SHLL Vd.4S, Vn.4H, #16 and SHLL2
#define SHLL4S(n, d) WORD $(0x2E613800 | (n)<<5 | (d))
#define SHLL24S(n, d) WORD $(0x6E613800 | (n)<<5 | (d))
// SHLL Vd.8H, Vn.8B, #8 and SHLL2
#define SHLL8H(n, d) WORD $(0x2E213800 | (n)<<5 | (d))
#define SHLL28H(n, d) WORD $(0x6E213800 | (n)<<5 | (d))
// SSHR Vd.8H, Vn.8H, #1
#define SSHR8H1(n, d) WORD $(0x4F1F0400 | (n)<<5 | (d))
// FCVTL Vd.4S, Vn.4H and FCVTL2
#define FCVTL4S(n, d) WORD $(0x0E217800 | (n)<<5 | (d))
#define FCVTL24S(n, d) WORD $(0x4E217800 | (n)<<5 | (d))

// 16 elements as stored, without moving R1.
#define LOAD_F32 \
	VLD1 (R1), [V24.S4, V25.S4, V26.S4, V27.S4]

#define LOAD_BF16 \
	VLD1 (R1), [V26.H8, V27.H8] \
	SHLL4S(26, 24) \
	SHLL24S(26, 25) \
	SHLL4S(27, 26) \
	SHLL24S(27, 27)

// E4M3 to the float16 with the same bits: sign, an exponent bit of 0, the other 7.
#define LOAD_FP8 \
	VLD1 (R1), [V27.B16] \
	SHLL8H(27, 25) \
	SHLL28H(27, 27) \
	SSHR8H1(25, 25) \
	SSHR8H1(27, 27) \
	VAND V31.B16, V25.B16, V25.B16 \
	VAND V31.B16, V27.B16, V27.B16 \
	FCVTL4S(25, 24) \
	FCVTL24S(25, 25) \
	FCVTL4S(27, 26) \
	FCVTL24S(27, 27)

#define SIZE_F32 4
#define SIZE_BF16 2
#define SIZE_FP8 1

#define MASK_F32
#define MASK_BF16
#define MASK_FP8 \
	MOVD $0xBFFF, R16 \
	VDUP R16, V31.H8

#define AHEAD(size) \
	PRFM (R3), PLDL1KEEP \
	ADD  $(16*size), R3

// A step over d: 12 queries lie side by side, six of them in V28 and V29.
#define QUERY(i, m, a0, a1, a2, a3) \
	FMLAE(i, m, 24, a0) \
	FMLAE(i, m, 25, a1) \
	FMLAE(i, m, 26, a2) \
	FMLAE(i, m, 27, a3)

// A step over positions: each query has its row of weights.
#define WEIGHT(r, a0, a1, a2, a3) \
	VLD1R.P 4(r), [V28.S4] \
	FMLA4S(28, 24, a0) \
	FMLA4S(28, 25, a1) \
	FMLA4S(28, 26, a2) \
	FMLA4S(28, 27, a3)

// R12 walks the accumulators of a step, 128 bytes a query, R13 the corrections.
#define CORRECT(v0, v1, v2, v3, a0, a1, a2, a3) \
	VLD1    (R12), [v0.S4, v1.S4, v2.S4, v3.S4] \
	VLD1R.P 4(R13), [V28.S4] \
	FMUL4S(28, a0, a0) \
	FMUL4S(28, a1, a1) \
	FMUL4S(28, a2, a2) \
	FMUL4S(28, a3, a3) \
	ADD     $128, R12

#define STORE(v0, v1, v2, v3) \
	VST1 [v0.S4, v1.S4, v2.S4, v3.S4], (R12) \
	ADD  $128, R12

#define ZERO(v0, v1, v2, v3) \
	VEOR v0.B16, v0.B16, v0.B16 \
	VEOR v1.B16, v1.B16, v1.B16 \
	VEOR v2.B16, v2.B16, v2.B16 \
	VEOR v3.B16, v3.B16, v3.B16

#define ZEROS4 \
	ZERO(V0, V1, V2, V3) \
	ZERO(V4, V5, V6, V7) \
	ZERO(V8, V9, V10, V11) \
	ZERO(V12, V13, V14, V15)
#define ZEROS6 \
	ZEROS4 \
	ZERO(V16, V17, V18, V19) \
	ZERO(V20, V21, V22, V23)

#define QUERIES4 \
	QUERY(0, 28, 0, 1, 2, 3) \
	QUERY(1, 28, 4, 5, 6, 7) \
	QUERY(2, 28, 8, 9, 10, 11) \
	QUERY(3, 28, 12, 13, 14, 15)
#define QUERIES6 \
	QUERIES4 \
	QUERY(0, 29, 16, 17, 18, 19) \
	QUERY(1, 29, 20, 21, 22, 23)

#define WEIGHTS1 \
	WEIGHT(R5, 0, 1, 2, 3)
#define WEIGHTS4 \
	WEIGHTS1 \
	WEIGHT(R6, 4, 5, 6, 7) \
	WEIGHT(R7, 8, 9, 10, 11) \
	WEIGHT(R8, 12, 13, 14, 15)
#define WEIGHTS6 \
	WEIGHTS4 \
	WEIGHT(R9, 16, 17, 18, 19) \
	WEIGHT(R10, 20, 21, 22, 23)

#define CORRECTS1 \
	CORRECT(V0, V1, V2, V3, 0, 1, 2, 3)
#define CORRECTS4 \
	CORRECTS1 \
	CORRECT(V4, V5, V6, V7, 4, 5, 6, 7) \
	CORRECT(V8, V9, V10, V11, 8, 9, 10, 11) \
	CORRECT(V12, V13, V14, V15, 12, 13, 14, 15)
#define CORRECTS6 \
	CORRECTS4 \
	CORRECT(V16, V17, V18, V19, 16, 17, 18, 19) \
	CORRECT(V20, V21, V22, V23, 20, 21, 22, 23)

#define STORES1 \
	STORE(V0, V1, V2, V3)
#define STORES4 \
	STORES1 \
	STORE(V4, V5, V6, V7) \
	STORE(V8, V9, V10, V11) \
	STORE(V12, V13, V14, V15)
#define STORES6 \
	STORES4 \
	STORE(V16, V17, V18, V19) \
	STORE(V20, V21, V22, V23)

// func scores4F32NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4F32NEON(SB), NOSPLIT, $0-40
	MOVD s+0(FP), R0
	MOVD k+16(FP), R14
	MOVD ahead+24(FP), R3
	MOVD $2, R15
	MASK_F32

half:
	MOVD R14, R1
	MOVD q+8(FP), R2
	MOVD dim+32(FP), R4
	ZEROS4

loop:
	LOAD_F32
	VLD1 (R2), [V28.S4, V29.S4]
	ADD  $(32*SIZE_F32), R1
	ADD  $48, R2
	AHEAD(SIZE_F32)
	QUERIES4
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES4
	ADD  $64, R0
	ADD  $(16*SIZE_F32), R14
	SUBS $1, R15
	BNE  half
	RET

// func scores4BF16NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4BF16NEON(SB), NOSPLIT, $0-40
	MOVD s+0(FP), R0
	MOVD k+16(FP), R14
	MOVD ahead+24(FP), R3
	MOVD $2, R15
	MASK_BF16

half:
	MOVD R14, R1
	MOVD q+8(FP), R2
	MOVD dim+32(FP), R4
	ZEROS4

loop:
	LOAD_BF16
	VLD1 (R2), [V28.S4, V29.S4]
	ADD  $(32*SIZE_BF16), R1
	ADD  $48, R2
	AHEAD(SIZE_BF16)
	QUERIES4
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES4
	ADD  $64, R0
	ADD  $(16*SIZE_BF16), R14
	SUBS $1, R15
	BNE  half
	RET

// func scores4FP8NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4FP8NEON(SB), NOSPLIT, $0-40
	MOVD s+0(FP), R0
	MOVD k+16(FP), R14
	MOVD ahead+24(FP), R3
	MOVD $2, R15
	MASK_FP8

half:
	MOVD R14, R1
	MOVD q+8(FP), R2
	MOVD dim+32(FP), R4
	ZEROS4

loop:
	LOAD_FP8
	VLD1 (R2), [V28.S4, V29.S4]
	ADD  $(32*SIZE_FP8), R1
	ADD  $48, R2
	AHEAD(SIZE_FP8)
	QUERIES4
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES4
	ADD  $64, R0
	ADD  $(16*SIZE_FP8), R14
	SUBS $1, R15
	BNE  half
	RET

// func scores6F32NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6F32NEON(SB), NOSPLIT, $0-40
	MOVD s+0(FP), R0
	MOVD k+16(FP), R14
	MOVD ahead+24(FP), R3
	MOVD $2, R15
	MASK_F32

half:
	MOVD R14, R1
	MOVD q+8(FP), R2
	MOVD dim+32(FP), R4
	ZEROS6

loop:
	LOAD_F32
	VLD1 (R2), [V28.S4, V29.S4]
	ADD  $(32*SIZE_F32), R1
	ADD  $48, R2
	AHEAD(SIZE_F32)
	QUERIES6
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES6
	ADD  $64, R0
	ADD  $(16*SIZE_F32), R14
	SUBS $1, R15
	BNE  half
	RET

// func scores6BF16NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6BF16NEON(SB), NOSPLIT, $0-40
	MOVD s+0(FP), R0
	MOVD k+16(FP), R14
	MOVD ahead+24(FP), R3
	MOVD $2, R15
	MASK_BF16

half:
	MOVD R14, R1
	MOVD q+8(FP), R2
	MOVD dim+32(FP), R4
	ZEROS6

loop:
	LOAD_BF16
	VLD1 (R2), [V28.S4, V29.S4]
	ADD  $(32*SIZE_BF16), R1
	ADD  $48, R2
	AHEAD(SIZE_BF16)
	QUERIES6
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES6
	ADD  $64, R0
	ADD  $(16*SIZE_BF16), R14
	SUBS $1, R15
	BNE  half
	RET

// func scores6FP8NEON(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6FP8NEON(SB), NOSPLIT, $0-40
	MOVD s+0(FP), R0
	MOVD k+16(FP), R14
	MOVD ahead+24(FP), R3
	MOVD $2, R15
	MASK_FP8

half:
	MOVD R14, R1
	MOVD q+8(FP), R2
	MOVD dim+32(FP), R4
	ZEROS6

loop:
	LOAD_FP8
	VLD1 (R2), [V28.S4, V29.S4]
	ADD  $(32*SIZE_FP8), R1
	ADD  $48, R2
	AHEAD(SIZE_FP8)
	QUERIES6
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES6
	ADD  $64, R0
	ADD  $(16*SIZE_FP8), R14
	SUBS $1, R15
	BNE  half
	RET

// func values1F32NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values1F32NEON(SB), NOSPLIT, $0-64
	MOVD acc+0(FP), R0
	MOVD corr+16(FP), R11
	MOVD v+24(FP), R14
	MOVD ahead+32(FP), R3
	MOVD stride+40(FP), R17
	MOVD steps+48(FP), R15
	LSL  $1, R15
	MASK_F32

step:
	MOVD R14, R1
	MOVD valid+56(FP), R4
	MOVD p+8(FP), R5
	MOVD R0, R12
	MOVD R11, R13
	CORRECTS1

loop:
	LOAD_F32
	ADD  R17, R1
	AHEAD(SIZE_F32)
	WEIGHTS1
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES1
	ADD  $(16*SIZE_F32), R14

	// the other half of this step, or the next one
	ADD  $64, R0
	SUBS $1, R15
	BEQ  done
	TBNZ $0, R15, step
	ADD  $(STEP-128), R0
	B    step

done:
	RET

// func values4F32NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4F32NEON(SB), NOSPLIT, $0-64
	MOVD acc+0(FP), R0
	MOVD corr+16(FP), R11
	MOVD v+24(FP), R14
	MOVD ahead+32(FP), R3
	MOVD stride+40(FP), R17
	MOVD steps+48(FP), R15
	LSL  $1, R15
	MASK_F32

step:
	MOVD R14, R1
	MOVD valid+56(FP), R4
	MOVD p+8(FP), R5
	ADD  $128, R5, R6
	ADD  $128, R6, R7
	ADD  $128, R7, R8
	MOVD R0, R12
	MOVD R11, R13
	CORRECTS4

loop:
	LOAD_F32
	ADD  R17, R1
	AHEAD(SIZE_F32)
	WEIGHTS4
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES4
	ADD  $(16*SIZE_F32), R14

	// the other half of this step, or the next one
	ADD  $64, R0
	SUBS $1, R15
	BEQ  done
	TBNZ $0, R15, step
	ADD  $(STEP-128), R0
	B    step

done:
	RET

// func values4BF16NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4BF16NEON(SB), NOSPLIT, $0-64
	MOVD acc+0(FP), R0
	MOVD corr+16(FP), R11
	MOVD v+24(FP), R14
	MOVD ahead+32(FP), R3
	MOVD stride+40(FP), R17
	MOVD steps+48(FP), R15
	LSL  $1, R15
	MASK_BF16

step:
	MOVD R14, R1
	MOVD valid+56(FP), R4
	MOVD p+8(FP), R5
	ADD  $128, R5, R6
	ADD  $128, R6, R7
	ADD  $128, R7, R8
	MOVD R0, R12
	MOVD R11, R13
	CORRECTS4

loop:
	LOAD_BF16
	ADD  R17, R1
	AHEAD(SIZE_BF16)
	WEIGHTS4
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES4
	ADD  $(16*SIZE_BF16), R14

	// the other half of this step, or the next one
	ADD  $64, R0
	SUBS $1, R15
	BEQ  done
	TBNZ $0, R15, step
	ADD  $(STEP-128), R0
	B    step

done:
	RET

// func values4FP8NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4FP8NEON(SB), NOSPLIT, $0-64
	MOVD acc+0(FP), R0
	MOVD corr+16(FP), R11
	MOVD v+24(FP), R14
	MOVD ahead+32(FP), R3
	MOVD stride+40(FP), R17
	MOVD steps+48(FP), R15
	LSL  $1, R15
	MASK_FP8

step:
	MOVD R14, R1
	MOVD valid+56(FP), R4
	MOVD p+8(FP), R5
	ADD  $128, R5, R6
	ADD  $128, R6, R7
	ADD  $128, R7, R8
	MOVD R0, R12
	MOVD R11, R13
	CORRECTS4

loop:
	LOAD_FP8
	ADD  R17, R1
	AHEAD(SIZE_FP8)
	WEIGHTS4
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES4
	ADD  $(16*SIZE_FP8), R14

	// the other half of this step, or the next one
	ADD  $64, R0
	SUBS $1, R15
	BEQ  done
	TBNZ $0, R15, step
	ADD  $(STEP-128), R0
	B    step

done:
	RET

// func values6F32NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6F32NEON(SB), NOSPLIT, $0-64
	MOVD acc+0(FP), R0
	MOVD corr+16(FP), R11
	MOVD v+24(FP), R14
	MOVD ahead+32(FP), R3
	MOVD stride+40(FP), R17
	MOVD steps+48(FP), R15
	LSL  $1, R15
	MASK_F32

step:
	MOVD R14, R1
	MOVD valid+56(FP), R4
	MOVD p+8(FP), R5
	ADD  $128, R5, R6
	ADD  $128, R6, R7
	ADD  $128, R7, R8
	ADD  $128, R8, R9
	ADD  $128, R9, R10
	MOVD R0, R12
	MOVD R11, R13
	CORRECTS6

loop:
	LOAD_F32
	ADD  R17, R1
	AHEAD(SIZE_F32)
	WEIGHTS6
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES6
	ADD  $(16*SIZE_F32), R14

	// the other half of this step, or the next one
	ADD  $64, R0
	SUBS $1, R15
	BEQ  done
	TBNZ $0, R15, step
	ADD  $(STEP-128), R0
	B    step

done:
	RET

// func values6BF16NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6BF16NEON(SB), NOSPLIT, $0-64
	MOVD acc+0(FP), R0
	MOVD corr+16(FP), R11
	MOVD v+24(FP), R14
	MOVD ahead+32(FP), R3
	MOVD stride+40(FP), R17
	MOVD steps+48(FP), R15
	LSL  $1, R15
	MASK_BF16

step:
	MOVD R14, R1
	MOVD valid+56(FP), R4
	MOVD p+8(FP), R5
	ADD  $128, R5, R6
	ADD  $128, R6, R7
	ADD  $128, R7, R8
	ADD  $128, R8, R9
	ADD  $128, R9, R10
	MOVD R0, R12
	MOVD R11, R13
	CORRECTS6

loop:
	LOAD_BF16
	ADD  R17, R1
	AHEAD(SIZE_BF16)
	WEIGHTS6
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES6
	ADD  $(16*SIZE_BF16), R14

	// the other half of this step, or the next one
	ADD  $64, R0
	SUBS $1, R15
	BEQ  done
	TBNZ $0, R15, step
	ADD  $(STEP-128), R0
	B    step

done:
	RET

// func values6FP8NEON(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6FP8NEON(SB), NOSPLIT, $0-64
	MOVD acc+0(FP), R0
	MOVD corr+16(FP), R11
	MOVD v+24(FP), R14
	MOVD ahead+32(FP), R3
	MOVD stride+40(FP), R17
	MOVD steps+48(FP), R15
	LSL  $1, R15
	MASK_FP8

step:
	MOVD R14, R1
	MOVD valid+56(FP), R4
	MOVD p+8(FP), R5
	ADD  $128, R5, R6
	ADD  $128, R6, R7
	ADD  $128, R7, R8
	ADD  $128, R8, R9
	ADD  $128, R9, R10
	MOVD R0, R12
	MOVD R11, R13
	CORRECTS6

loop:
	LOAD_FP8
	ADD  R17, R1
	AHEAD(SIZE_FP8)
	WEIGHTS6
	SUBS $1, R4
	BNE  loop
	MOVD R0, R12
	STORES6
	ADD  $(16*SIZE_FP8), R14

	// the other half of this step, or the next one
	ADD  $64, R0
	SUBS $1, R15
	BEQ  done
	TBNZ $0, R15, step
	ADD  $(STEP-128), R0
	B    step

done:
	RET

// func decodeBF16NEON(dst *float32, src unsafe.Pointer, n int)
TEXT ·decodeBF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R4
	MASK_BF16

loop:
	LOAD_BF16
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R0)
	ADD    $(16*SIZE_BF16), R1
	SUBS   $16, R4
	BNE    loop
	RET

// func decodeFP8NEON(dst *float32, src unsafe.Pointer, n int)
TEXT ·decodeFP8NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R4
	MASK_FP8

loop:
	LOAD_FP8
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R0)
	ADD    $(16*SIZE_FP8), R1
	SUBS   $16, R4
	BNE    loop
	RET

// func scaleAddNEON(dst, src *float32, a, b float32, n int)
TEXT ·scaleAddNEON(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  src+8(FP), R1
	MOVWU a+16(FP), R2
	MOVWU b+20(FP), R3
	MOVD  n+24(FP), R4
	VDUP  R2, V0.S4
	VDUP  R3, V1.S4

loop:
	VLD1   (R0), [V2.S4]
	VLD1.P 16(R1), [V3.S4]
	FMUL4S(0, 2, 2)
	FMLA4S(1, 3, 2)
	VST1.P [V2.S4], 16(R0)
	SUBS   $4, R4
	BNE    loop
	RET

// 32 ones, then 32 zeros: a window that starts 32-v before the zeros admits the first v lanes.
DATA attnValid<>+0(SB)/8, $-1
DATA attnValid<>+8(SB)/8, $-1
DATA attnValid<>+16(SB)/8, $-1
DATA attnValid<>+24(SB)/8, $-1
DATA attnValid<>+32(SB)/8, $-1
DATA attnValid<>+40(SB)/8, $-1
DATA attnValid<>+48(SB)/8, $-1
DATA attnValid<>+56(SB)/8, $-1
DATA attnValid<>+64(SB)/8, $-1
DATA attnValid<>+72(SB)/8, $-1
DATA attnValid<>+80(SB)/8, $-1
DATA attnValid<>+88(SB)/8, $-1
DATA attnValid<>+96(SB)/8, $-1
DATA attnValid<>+104(SB)/8, $-1
DATA attnValid<>+112(SB)/8, $-1
DATA attnValid<>+120(SB)/8, $-1
DATA attnValid<>+128(SB)/8, $0
DATA attnValid<>+136(SB)/8, $0
DATA attnValid<>+144(SB)/8, $0
DATA attnValid<>+152(SB)/8, $0
DATA attnValid<>+160(SB)/8, $0
DATA attnValid<>+168(SB)/8, $0
DATA attnValid<>+176(SB)/8, $0
DATA attnValid<>+184(SB)/8, $0
DATA attnValid<>+192(SB)/8, $0
DATA attnValid<>+200(SB)/8, $0
DATA attnValid<>+208(SB)/8, $0
DATA attnValid<>+216(SB)/8, $0
DATA attnValid<>+224(SB)/8, $0
DATA attnValid<>+232(SB)/8, $0
DATA attnValid<>+240(SB)/8, $0
DATA attnValid<>+248(SB)/8, $0
GLOBL attnValid<>(SB), RODATA|NOPTR, $256

// R8 becomes the window of the query whose count is at R4, which moves on.
#define WINDOW \
	MOVWU.P 4(R4), R7 \
	LSL     $2, R7 \
	MOVD    $attnValid<>+128(SB), R8 \
	SUB     R7, R8

// The maximum V4 to V7 of four vectors at R0 and V4 to V7, -Inf (V31) in place of lanes that do not exist.
#define LARGER \
	VLD1.P 64(R8), [V8.S4, V9.S4, V10.S4, V11.S4] \
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4] \
	BSL16B(31, 0, 8) \
	BSL16B(31, 1, 9) \
	BSL16B(31, 2, 10) \
	BSL16B(31, 3, 11) \
	FMAXNM4S(8, 4, 4) \
	FMAXNM4S(9, 5, 5) \
	FMAXNM4S(10, 6, 6) \
	FMAXNM4S(11, 7, 7)

// The weight in x: Exp(x - V29), or 0 where the lane does not exist.
#define EXPONENTIAL(x, mask, vx) \
	FSUB4S(29, x, x) \
	EXP4(x, 12, 13, 14) \
	VAND mask.B16, vx.B16, vx.B16

// Four vectors of weights, at R0.
#define WEIGHTS16 \
	VLD1   (R0), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VLD1.P 64(R8), [V8.S4, V9.S4, V10.S4, V11.S4] \
	EXPONENTIAL(0, V8, V0) \
	EXPONENTIAL(1, V9, V1) \
	EXPONENTIAL(2, V10, V2) \
	EXPONENTIAL(3, V11, V3) \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)

// func softmaxNEON(s, m, corr, sum *float32, valid *[16]int32, n int)
TEXT ·softmaxNEON(SB), NOSPLIT, $0-48
	EXP_LOAD(R7)
	MOVD  s+0(FP), R0
	MOVD  m+8(FP), R1
	MOVD  corr+16(FP), R2
	MOVD  valid+32(FP), R4
	MOVD  n+40(FP), R5
	MOVD  $0xFF800000, R7 // -Inf
	VDUP  R7, V31.S4

	// The new maxima go to corr. A NaN score, quiet as all results are, loses to a number in FMAXNM.
maxima:
	WINDOW
	VLD1R.P 4(R1), [V4.S4]
	VMOV    V4.B16, V5.B16
	VMOV    V4.B16, V6.B16
	VMOV    V4.B16, V7.B16
	LARGER
	LARGER
	FMAXNM4S(5, 4, 4)
	FMAXNM4S(7, 6, 6)
	FMAXNM4S(6, 4, 4)
	FMAXNMV4S(4, 4)
	FMOVS.P F4, 4(R2)
	SUBS    $1, R5
	BNE     maxima

	// corr = Exp(m - m') of all queries; m = m'.
	MOVD m+8(FP), R1
	MOVD corr+16(FP), R2
	VLD1 (R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R2), [V4.S4, V5.S4, V6.S4, V7.S4]
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R1)
	FSUB4S(4, 0, 0)
	FSUB4S(5, 1, 1)
	FSUB4S(6, 2, 2)
	FSUB4S(7, 3, 3)
	EXP4(0, 12, 13, 14)
	EXP4(1, 12, 13, 14)
	EXP4(2, 12, 13, 14)
	EXP4(3, 12, 13, 14)
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R2)

	MOVD s+0(FP), R0
	MOVD sum+24(FP), R3
	MOVD valid+32(FP), R4
	MOVD n+40(FP), R5

weights:
	WINDOW
	VLD1R.P 4(R1), [V29.S4]
	VLD1R.P 4(R2), [V30.S4]
	WEIGHTS16
	VMOV V0.B16, V4.B16
	VMOV V1.B16, V5.B16
	VMOV V2.B16, V6.B16
	VMOV V3.B16, V7.B16
	WEIGHTS16
	FADD4S(0, 4, 4)
	FADD4S(1, 5, 5)
	FADD4S(2, 6, 6)
	FADD4S(3, 7, 7)
	VLD1 (R3), [V0.S4, V1.S4, V2.S4, V3.S4]
	FMLA4S(30, 0, 4)
	FMLA4S(30, 1, 5)
	FMLA4S(30, 2, 6)
	FMLA4S(30, 3, 7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R3)
	SUBS $1, R5
	BNE  weights
	RET
