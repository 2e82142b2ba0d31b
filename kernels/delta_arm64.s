#include "textflag.h"
#include "exp_arm64.h"

// The tile of columns starts at state, its rows are stride bytes apart, dk is a multiple of 4. Registers of the wide kernels
// (32 columns):
//
//	V0-V7    sums of q·S, that is o      V8-V15   sums of next·S, the m of the next token
//	V16-V23  d                           V24-V27  four registers of a row of S
//	V28-V30  four entries of k, q, next  V31      decay
//
// R0 and R1 point to the halves of the row.

// FMLA Vd.4S, Vn.4S, Vm.S[lane]
#define FMLALANE(lane, m, n, d) WORD $(0x4F801000 | ((lane)&1)<<21 | ((lane)>>1)<<11 | (m)<<16 | (n)<<5 | (d))

// FMUL Vd.4S, Vn.4S, Vm.S[lane]
#define FMULLANE(lane, m, n, d) WORD $(0x4F809000 | ((lane)&1)<<21 | ((lane)>>1)<<11 | (m)<<16 | (n)<<5 | (d))

#define ARGS \
	MOVD  state+0(FP), R0 \
	MOVD  stride+8(FP), R2 \
	MOVD  dk+16(FP), R3 \
	MOVD  q+24(FP), R4 \
	MOVD  k+32(FP), R5 \
	MOVD  next+40(FP), R6 \
	MOVD  v+48(FP), R7 \
	MOVD  o+56(FP), R8 \
	MOVD  m+64(FP), R9 \
	ADD   $64, R0, R1 \
	FMOVS decay+72(FP), F31 \
	FMOVS beta+76(FP), F28

#define ZERO8(a, b, c, d, e, f, g, h) \
	VEOR a.B16, a.B16, a.B16 \
	VEOR b.B16, b.B16, b.B16 \
	VEOR c.B16, c.B16, c.B16 \
	VEOR d.B16, d.B16, d.B16 \
	VEOR e.B16, e.B16, e.B16 \
	VEOR f.B16, f.B16, f.B16 \
	VEOR g.B16, g.B16, g.B16 \
	VEOR h.B16, h.B16, h.B16

// D sets register d, which holds v, to (v - m·decay)·beta; register m is clobbered.
#define D(m, d) \
	FMULLANE(0, 31, m, m) \
	FSUB4S(m, d, d) \
	FMULLANE(0, 28, d, d)

#define BEGIN32 \
	VLD1.P 64(R7), [V16.S4, V17.S4, V18.S4, V19.S4] \
	VLD1   (R7), [V20.S4, V21.S4, V22.S4, V23.S4] \
	ADD    $64, R9, R10 \
	VLD1   (R9), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VLD1   (R10), [V4.S4, V5.S4, V6.S4, V7.S4] \
	D(0, 16) \
	D(1, 17) \
	D(2, 18) \
	D(3, 19) \
	D(4, 20) \
	D(5, 21) \
	D(6, 22) \
	D(7, 23) \
	ZERO8(V0, V1, V2, V3, V4, V5, V6, V7)

// HALF updates the sixteen columns at pointer, whose d and o start at the registers given.
#define HALF(lane, pointer, d, o) \
	VLD1 (pointer), [V24.S4, V25.S4, V26.S4, V27.S4] \
	FMULLANE(0, 31, 24, 24) \
	FMULLANE(0, 31, 25, 25) \
	FMULLANE(0, 31, 26, 26) \
	FMULLANE(0, 31, 27, 27) \
	FMLALANE(lane, 28, d, 24) \
	FMLALANE(lane, 28, d+1, 25) \
	FMLALANE(lane, 28, d+2, 26) \
	FMLALANE(lane, 28, d+3, 27) \
	VST1 [V24.S4, V25.S4, V26.S4, V27.S4], (pointer) \
	ADD  R2, pointer, pointer \
	FMLALANE(lane, 29, 24, o) \
	FMLALANE(lane, 29, 25, o+1) \
	FMLALANE(lane, 29, 26, o+2) \
	FMLALANE(lane, 29, 27, o+3)

// NEXT adds the same columns to m of the next token.
#define NEXT(lane, m) \
	FMLALANE(lane, 30, 24, m) \
	FMLALANE(lane, 30, 25, m+1) \
	FMLALANE(lane, 30, 26, m+2) \
	FMLALANE(lane, 30, 27, m+3)

#define ROW32(lane) \
	HALF(lane, R0, 16, 0) \
	HALF(lane, R1, 20, 4)

#define ROW32NEXT(lane) \
	HALF(lane, R0, 16, 0) \
	NEXT(lane, 8) \
	HALF(lane, R1, 20, 4) \
	NEXT(lane, 12)

#define DOT32(lane) \
	VLD1 (R0), [V24.S4, V25.S4, V26.S4, V27.S4] \
	ADD  R2, R0, R0 \
	VLD1 (R1), [V16.S4, V17.S4, V18.S4, V19.S4] \
	ADD  R2, R1, R1 \
	FMLALANE(lane, 28, 24, 8) \
	FMLALANE(lane, 28, 25, 9) \
	FMLALANE(lane, 28, 26, 10) \
	FMLALANE(lane, 28, 27, 11) \
	FMLALANE(lane, 28, 16, 12) \
	FMLALANE(lane, 28, 17, 13) \
	FMLALANE(lane, 28, 18, 14) \
	FMLALANE(lane, 28, 19, 15)

#define ROW4(lane) \
	VLD1 (R0), [V24.S4] \
	FMULLANE(0, 31, 24, 24) \
	FMLALANE(lane, 28, 16, 24) \
	VST1 [V24.S4], (R0) \
	ADD  R2, R0, R0 \
	FMLALANE(lane, 29, 24, 0)

#define ROW4NEXT(lane) \
	ROW4(lane) \
	FMLALANE(lane, 30, 24, 8)

#define DOT4(lane) \
	VLD1 (R0), [V24.S4] \
	ADD  R2, R0, R0 \
	FMLALANE(lane, 28, 24, 8)

#define BEGIN4 \
	VLD1 (R7), [V16.S4] \
	VLD1 (R9), [V0.S4] \
	D(0, 16) \
	VEOR V0.B16, V0.B16, V0.B16

// func deltaDot32NEON(state *float32, stride, dk int, k, m *float32)
TEXT ·deltaDot32NEON(SB), NOSPLIT, $0-40
	MOVD state+0(FP), R0
	MOVD stride+8(FP), R2
	MOVD dk+16(FP), R3
	MOVD k+24(FP), R5
	MOVD m+32(FP), R9
	ADD  $64, R0, R1
	ZERO8(V8, V9, V10, V11, V12, V13, V14, V15)

loop:
	VLD1.P 16(R5), [V28.S4]
	DOT32(0)
	DOT32(1)
	DOT32(2)
	DOT32(3)
	SUBS   $4, R3
	BNE    loop
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R9)
	VST1   [V12.S4, V13.S4, V14.S4, V15.S4], (R9)
	RET

// func deltaStep32NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaStep32NEON(SB), NOSPLIT, $0-80
	ARGS
	BEGIN32
	ZERO8(V8, V9, V10, V11, V12, V13, V14, V15)

loop:
	VLD1.P 16(R5), [V28.S4]
	VLD1.P 16(R4), [V29.S4]
	VLD1.P 16(R6), [V30.S4]
	ROW32NEXT(0)
	ROW32NEXT(1)
	ROW32NEXT(2)
	ROW32NEXT(3)
	SUBS   $4, R3
	BNE    loop
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R8)
	VST1   [V4.S4, V5.S4, V6.S4, V7.S4], (R8)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R9)
	VST1   [V12.S4, V13.S4, V14.S4, V15.S4], (R9)
	RET

// func deltaLast32NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaLast32NEON(SB), NOSPLIT, $0-80
	ARGS
	BEGIN32

loop:
	VLD1.P 16(R5), [V28.S4]
	VLD1.P 16(R4), [V29.S4]
	ROW32(0)
	ROW32(1)
	ROW32(2)
	ROW32(3)
	SUBS   $4, R3
	BNE    loop
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R8)
	VST1   [V4.S4, V5.S4, V6.S4, V7.S4], (R8)
	RET

// func deltaDot4NEON(state *float32, stride, dk int, k, m *float32)
TEXT ·deltaDot4NEON(SB), NOSPLIT, $0-40
	MOVD state+0(FP), R0
	MOVD stride+8(FP), R2
	MOVD dk+16(FP), R3
	MOVD k+24(FP), R5
	MOVD m+32(FP), R9
	VEOR V8.B16, V8.B16, V8.B16

loop:
	VLD1.P 16(R5), [V28.S4]
	DOT4(0)
	DOT4(1)
	DOT4(2)
	DOT4(3)
	SUBS   $4, R3
	BNE    loop
	VST1   [V8.S4], (R9)
	RET

// func deltaStep4NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaStep4NEON(SB), NOSPLIT, $0-80
	ARGS
	BEGIN4
	VEOR V8.B16, V8.B16, V8.B16

loop:
	VLD1.P 16(R5), [V28.S4]
	VLD1.P 16(R4), [V29.S4]
	VLD1.P 16(R6), [V30.S4]
	ROW4NEXT(0)
	ROW4NEXT(1)
	ROW4NEXT(2)
	ROW4NEXT(3)
	SUBS   $4, R3
	BNE    loop
	VST1   [V0.S4], (R8)
	VST1   [V8.S4], (R9)
	RET

// func deltaLast4NEON(state *float32, stride, dk int, q, k, next, v, o, m *float32, decay, beta float32)
TEXT ·deltaLast4NEON(SB), NOSPLIT, $0-80
	ARGS
	BEGIN4

loop:
	VLD1.P 16(R5), [V28.S4]
	VLD1.P 16(R4), [V29.S4]
	ROW4(0)
	ROW4(1)
	ROW4(2)
	ROW4(3)
	SUBS   $4, R3
	BNE    loop
	VST1   [V0.S4], (R8)
	RET

// func deltaGatesNEON(decay, beta, a, b, negExpA, dtBias *float32, n int)
//
// V6 to V15 hold log1pC[1] to log1pC[10].
TEXT ·deltaGatesNEON(SB), NOSPLIT, $0-56
	MOVD   decay+0(FP), R0
	MOVD   beta+8(FP), R1
	MOVD   a+16(FP), R2
	MOVD   b+24(FP), R3
	MOVD   negExpA+32(FP), R4
	MOVD   dtBias+40(FP), R5
	MOVD   n+48(FP), R6
	EXP_LOAD(R7)
	VLD1.P 64(R7), [V6.S4, V7.S4, V8.S4, V9.S4]
	VLD1.P 64(R7), [V10.S4, V11.S4, V12.S4, V13.S4]
	VLD1   (R7), [V14.S4, V15.S4]

loop:
	VLD1.P 16(R3), [V5.S4]
	SIGMOID4(5, 0, 1, 2, 3)
	VLD1.P 16(R2), [V5.S4]
	VLD1.P 16(R5), [V4.S4]
	VST1.P [V0.S4], 16(R1)

	// Softplus(a + dtBias) in V2
	FADD4S(4, 5, 5)
	FABS4S(5, 0)
	FNEG4S(0, 0)
	EXP4(0, 1, 2, 3)
	MOV16B(14, 2)
	FMLA4S(15, 0, 2)
	MOV16B(13, 1)
	FMLA4S(2, 0, 1)
	MOV16B(12, 2)
	FMLA4S(1, 0, 2)
	MOV16B(11, 1)
	FMLA4S(2, 0, 1)
	MOV16B(10, 2)
	FMLA4S(1, 0, 2)
	MOV16B(9, 1)
	FMLA4S(2, 0, 1)
	MOV16B(8, 2)
	FMLA4S(1, 0, 2)
	MOV16B(7, 1)
	FMLA4S(2, 0, 1)
	MOV16B(6, 2)
	FMLA4S(1, 0, 2)
	MOV16B(EXP_ONE, 1)
	FMLA4S(2, 0, 1)
	VEOR   V2.B16, V2.B16, V2.B16
	FMAX4S(5, 2, 2)
	FMLA4S(1, 0, 2)
	VLD1.P 16(R4), [V0.S4]
	FMUL4S(2, 0, 0)
	EXP4(0, 1, 2, 3)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R6
	BNE    loop
	RET
