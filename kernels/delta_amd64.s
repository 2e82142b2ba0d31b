#include "textflag.h"
#include "exp_amd64.h"

// The tile of columns starts at state, its rows are stride bytes apart. AVX-512 takes four registers of columns (64) or one
// (16), AVX2 four (32) or one (8). Registers of the wide kernels:
//
//	0-3    sums of q·S, that is o      4-7    sums of next·S, the m of the next token
//	8      decay                       9-11   k[i], q[i], next[i] in all lanes
//	12-15  a row of S                  16-19  d (AVX2 keeps d on the stack)
#define ARGS \
	MOVQ state+0(FP), SI \
	MOVQ stride+8(FP), AX \
	MOVQ dk+16(FP), CX \
	MOVQ q+24(FP), R8 \
	MOVQ k+32(FP), R9 \
	MOVQ next+40(FP), R10 \
	MOVQ v+48(FP), R11 \
	MOVQ o+56(FP), DI \
	MOVQ m+64(FP), DX

// D sets d to (v - m·decay)·beta for the columns at offset. Register 9 holds beta.
#define D512(offset, d) \
	VMULPS  offset(DX), Z8, Z15 \
	VMOVUPS offset(R11), d \
	VSUBPS  Z15, d, d \
	VMULPS  Z9, d, d

#define D256(offset, d) \
	VMULPS  offset(DX), Y8, Y15 \
	VMOVUPS offset(R11), d \
	VSUBPS  Y15, d, d \
	VMULPS  Y9, d, d

// UPDATE moves one row of S on and adds its part of o. Registers 9 and 10 hold k[i] and q[i].
#define UPDATE512(offset, d, s, o) \
	VMULPS      offset(SI), Z8, s \
	VFMADD231PS d, Z9, s \
	VMOVUPS     s, offset(SI) \
	VFMADD231PS s, Z10, o

#define UPDATE256(offset, d, s, o) \
	VMULPS      offset(SI), Y8, s \
	VFMADD231PS d, Y9, s \
	VMOVUPS     s, offset(SI) \
	VFMADD231PS s, Y10, o

#define STEP \
	ADDQ AX, SI \
	ADDQ $4, R8 \
	ADDQ $4, R9 \
	ADDQ $4, R10 \
	DECQ CX

#define BEGIN64 \
	VBROADCASTSS decay+72(FP), Z8 \
	VBROADCASTSS beta+76(FP), Z9 \
	D512(0, Z16) \
	D512(64, Z17) \
	D512(128, Z18) \
	D512(192, Z19) \
	VPXORD Z0, Z0, Z0 \
	VPXORD Z1, Z1, Z1 \
	VPXORD Z2, Z2, Z2 \
	VPXORD Z3, Z3, Z3

#define ROW64 \
	VBROADCASTSS (R9), Z9 \
	VBROADCASTSS (R8), Z10 \
	UPDATE512(0, Z16, Z12, Z0) \
	UPDATE512(64, Z17, Z13, Z1) \
	UPDATE512(128, Z18, Z14, Z2) \
	UPDATE512(192, Z19, Z15, Z3)

#define END64 \
	VMOVUPS Z0, (DI) \
	VMOVUPS Z1, 64(DI) \
	VMOVUPS Z2, 128(DI) \
	VMOVUPS Z3, 192(DI)

#define BEGIN16 \
	VBROADCASTSS decay+72(FP), Z8 \
	VBROADCASTSS beta+76(FP), Z9 \
	D512(0, Z16) \
	VPXORD Z0, Z0, Z0

#define ROW16 \
	VBROADCASTSS (R9), Z9 \
	VBROADCASTSS (R8), Z10 \
	UPDATE512(0, Z16, Z12, Z0)

#define BEGIN32 \
	VBROADCASTSS decay+72(FP), Y8 \
	VBROADCASTSS beta+76(FP), Y9 \
	D256(0, Y0) \
	D256(32, Y1) \
	D256(64, Y2) \
	D256(96, Y3) \
	VMOVUPS Y0, d0-128(SP) \
	VMOVUPS Y1, d1-96(SP) \
	VMOVUPS Y2, d2-64(SP) \
	VMOVUPS Y3, d3-32(SP) \
	VXORPS  Y0, Y0, Y0 \
	VXORPS  Y1, Y1, Y1 \
	VXORPS  Y2, Y2, Y2 \
	VXORPS  Y3, Y3, Y3

#define ROW32 \
	VBROADCASTSS (R9), Y9 \
	VBROADCASTSS (R8), Y10 \
	UPDATE256(0, d0-128(SP), Y12, Y0) \
	UPDATE256(32, d1-96(SP), Y13, Y1) \
	UPDATE256(64, d2-64(SP), Y14, Y2) \
	UPDATE256(96, d3-32(SP), Y15, Y3)

#define END32 \
	VMOVUPS Y0, (DI) \
	VMOVUPS Y1, 32(DI) \
	VMOVUPS Y2, 64(DI) \
	VMOVUPS Y3, 96(DI)

#define BEGIN8 \
	VBROADCASTSS decay+72(FP), Y8 \
	VBROADCASTSS beta+76(FP), Y9 \
	D256(0, Y3) \
	VXORPS Y0, Y0, Y0

#define ROW8 \
	VBROADCASTSS (R9), Y9 \
	VBROADCASTSS (R8), Y10 \
	UPDATE256(0, Y3, Y12, Y0)

#define GATES \
	MOVQ decay+0(FP), DI \
	MOVQ beta+8(FP), DX \
	MOVQ a+16(FP), SI \
	MOVQ b+24(FP), BX \
	MOVQ negExpA+32(FP), R8 \
	MOVQ dtBias+40(FP), R9 \
	MOVQ n+48(FP), CX \
	XORQ AX, AX

// func deltaDot64AVX512(state *float32, stride, dk int, k, m *float32)
TEXT ·deltaDot64AVX512(SB), NOSPLIT, $0-40
	MOVQ   state+0(FP), SI
	MOVQ   stride+8(FP), AX
	MOVQ   dk+16(FP), CX
	MOVQ   k+24(FP), R9
	MOVQ   m+32(FP), DX
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7

loop:
	VBROADCASTSS (R9), Z9
	VFMADD231PS  (SI), Z9, Z4
	VFMADD231PS  64(SI), Z9, Z5
	VFMADD231PS  128(SI), Z9, Z6
	VFMADD231PS  192(SI), Z9, Z7
	ADDQ         AX, SI
	ADDQ         $4, R9
	DECQ         CX
	JNE          loop
	VMOVUPS      Z4, (DX)
	VMOVUPS      Z5, 64(DX)
	VMOVUPS      Z6, 128(DX)
	VMOVUPS      Z7, 192(DX)
	VZEROUPPER
	RET

// func deltaStep64AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaStep64AVX512(SB), NOSPLIT, $0-80
	ARGS
	BEGIN64
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7

loop:
	ROW64
	VBROADCASTSS (R10), Z11
	VFMADD231PS  Z12, Z11, Z4
	VFMADD231PS  Z13, Z11, Z5
	VFMADD231PS  Z14, Z11, Z6
	VFMADD231PS  Z15, Z11, Z7
	STEP
	JNE     loop
	END64
	VMOVUPS Z4, (DX)
	VMOVUPS Z5, 64(DX)
	VMOVUPS Z6, 128(DX)
	VMOVUPS Z7, 192(DX)
	VZEROUPPER
	RET

// func deltaLast64AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaLast64AVX512(SB), NOSPLIT, $0-80
	ARGS
	BEGIN64

loop:
	ROW64
	STEP
	JNE loop
	END64
	VZEROUPPER
	RET

// func deltaDot16AVX512(state *float32, stride, dk int, k, m *float32)
TEXT ·deltaDot16AVX512(SB), NOSPLIT, $0-40
	MOVQ   state+0(FP), SI
	MOVQ   stride+8(FP), AX
	MOVQ   dk+16(FP), CX
	MOVQ   k+24(FP), R9
	MOVQ   m+32(FP), DX
	VPXORD Z4, Z4, Z4

loop:
	VBROADCASTSS (R9), Z9
	VFMADD231PS  (SI), Z9, Z4
	ADDQ         AX, SI
	ADDQ         $4, R9
	DECQ         CX
	JNE          loop
	VMOVUPS      Z4, (DX)
	VZEROUPPER
	RET

// func deltaStep16AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaStep16AVX512(SB), NOSPLIT, $0-80
	ARGS
	BEGIN16
	VPXORD Z4, Z4, Z4

loop:
	ROW16
	VBROADCASTSS (R10), Z11
	VFMADD231PS  Z12, Z11, Z4
	STEP
	JNE     loop
	VMOVUPS Z0, (DI)
	VMOVUPS Z4, (DX)
	VZEROUPPER
	RET

// func deltaLast16AVX512(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaLast16AVX512(SB), NOSPLIT, $0-80
	ARGS
	BEGIN16

loop:
	ROW16
	STEP
	JNE     loop
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func deltaDot32AVX2(state *float32, stride, dk int, k, m *float32)
TEXT ·deltaDot32AVX2(SB), NOSPLIT, $0-40
	MOVQ   state+0(FP), SI
	MOVQ   stride+8(FP), AX
	MOVQ   dk+16(FP), CX
	MOVQ   k+24(FP), R9
	MOVQ   m+32(FP), DX
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

loop:
	VBROADCASTSS (R9), Y9
	VFMADD231PS  (SI), Y9, Y4
	VFMADD231PS  32(SI), Y9, Y5
	VFMADD231PS  64(SI), Y9, Y6
	VFMADD231PS  96(SI), Y9, Y7
	ADDQ         AX, SI
	ADDQ         $4, R9
	DECQ         CX
	JNE          loop
	VMOVUPS      Y4, (DX)
	VMOVUPS      Y5, 32(DX)
	VMOVUPS      Y6, 64(DX)
	VMOVUPS      Y7, 96(DX)
	VZEROUPPER
	RET

// func deltaStep32AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaStep32AVX2(SB), NOSPLIT, $128-80
	ARGS
	BEGIN32
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

loop:
	ROW32
	VBROADCASTSS (R10), Y11
	VFMADD231PS  Y12, Y11, Y4
	VFMADD231PS  Y13, Y11, Y5
	VFMADD231PS  Y14, Y11, Y6
	VFMADD231PS  Y15, Y11, Y7
	STEP
	JNE     loop
	END32
	VMOVUPS Y4, (DX)
	VMOVUPS Y5, 32(DX)
	VMOVUPS Y6, 64(DX)
	VMOVUPS Y7, 96(DX)
	VZEROUPPER
	RET

// func deltaLast32AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaLast32AVX2(SB), NOSPLIT, $128-80
	ARGS
	BEGIN32

loop:
	ROW32
	STEP
	JNE loop
	END32
	VZEROUPPER
	RET

// func deltaDot8AVX2(state *float32, stride, dk int, k, m *float32)
TEXT ·deltaDot8AVX2(SB), NOSPLIT, $0-40
	MOVQ   state+0(FP), SI
	MOVQ   stride+8(FP), AX
	MOVQ   dk+16(FP), CX
	MOVQ   k+24(FP), R9
	MOVQ   m+32(FP), DX
	VXORPS Y4, Y4, Y4

loop:
	VBROADCASTSS (R9), Y9
	VFMADD231PS  (SI), Y9, Y4
	ADDQ         AX, SI
	ADDQ         $4, R9
	DECQ         CX
	JNE          loop
	VMOVUPS      Y4, (DX)
	VZEROUPPER
	RET

// func deltaStep8AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaStep8AVX2(SB), NOSPLIT, $0-80
	ARGS
	BEGIN8
	VXORPS Y4, Y4, Y4

loop:
	ROW8
	VBROADCASTSS (R10), Y11
	VFMADD231PS  Y12, Y11, Y4
	STEP
	JNE     loop
	VMOVUPS Y0, (DI)
	VMOVUPS Y4, (DX)
	VZEROUPPER
	RET

// func deltaLast8AVX2(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaLast8AVX2(SB), NOSPLIT, $0-80
	ARGS
	BEGIN8

loop:
	ROW8
	STEP
	JNE     loop
	VMOVUPS Y0, (DI)
	VZEROUPPER
	RET

// func deltaGatesAVX512(decay, beta, a, b, negExpA, dtBias *float32, n int)
TEXT ·deltaGatesAVX512(SB), NOSPLIT, $0-56
	GATES

loop:
	VMOVUPS (BX)(AX*4), Z3
	SIGMOID16(Z3, Z0, Z1, Z2)
	VMOVUPS (SI)(AX*4), Z3
	VMOVUPS Z0, (DX)(AX*4)

	// Softplus(a + dtBias) in Z1
	VADDPS            (R9)(AX*4), Z3, Z3
	VPORD.BCST        EXP_SIGN, Z3, Z0
	EXP16(Z0, Z1, Z2)
	VBROADCASTSS      EXP_L10, Z1
	VFMADD213PS.BCST  EXP_L9, Z0, Z1
	VFMADD213PS.BCST  EXP_L8, Z0, Z1
	VFMADD213PS.BCST  EXP_L7, Z0, Z1
	VFMADD213PS.BCST  EXP_L6, Z0, Z1
	VFMADD213PS.BCST  EXP_L5, Z0, Z1
	VFMADD213PS.BCST  EXP_L4, Z0, Z1
	VFMADD213PS.BCST  EXP_L3, Z0, Z1
	VFMADD213PS.BCST  EXP_L2, Z0, Z1
	VFMADD213PS.BCST  EXP_L1, Z0, Z1
	VFMADD213PS.BCST  EXP_ONE, Z0, Z1
	VPXORD            Z2, Z2, Z2
	VMAXPS            Z3, Z2, Z2
	VFMADD213PS       Z2, Z0, Z1
	VMULPS            (R8)(AX*4), Z1, Z0
	EXP16(Z0, Z1, Z2)
	VMOVUPS           Z0, (DI)(AX*4)
	ADDQ              $16, AX
	CMPQ              AX, CX
	JLT               loop
	VZEROUPPER
	RET

// func deltaGatesAVX2(decay, beta, a, b, negExpA, dtBias *float32, n int)
TEXT ·deltaGatesAVX2(SB), NOSPLIT, $0-56
	GATES

loop:
	VMOVUPS (BX)(AX*4), Y3
	SIGMOID8(Y3, Y0, Y1, Y2)
	VMOVUPS (SI)(AX*4), Y3
	VMOVUPS Y0, (DX)(AX*4)

	// Softplus(a + dtBias) in Y1
	VADDPS      (R9)(AX*4), Y3, Y3
	VORPS       EXP_SIGN, Y3, Y0
	EXP8(Y0, Y1, Y2)
	VMOVUPS     EXP_L10, Y1
	VFMADD213PS EXP_L9, Y0, Y1
	VFMADD213PS EXP_L8, Y0, Y1
	VFMADD213PS EXP_L7, Y0, Y1
	VFMADD213PS EXP_L6, Y0, Y1
	VFMADD213PS EXP_L5, Y0, Y1
	VFMADD213PS EXP_L4, Y0, Y1
	VFMADD213PS EXP_L3, Y0, Y1
	VFMADD213PS EXP_L2, Y0, Y1
	VFMADD213PS EXP_L1, Y0, Y1
	VFMADD213PS EXP_ONE, Y0, Y1
	VXORPS      Y2, Y2, Y2
	VMAXPS      Y3, Y2, Y2
	VFMADD213PS Y2, Y0, Y1
	VMULPS      (R8)(AX*4), Y1, Y0
	EXP8(Y0, Y1, Y2)
	VMOVUPS     Y0, (DI)(AX*4)
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLT         loop
	VZEROUPPER
	RET
