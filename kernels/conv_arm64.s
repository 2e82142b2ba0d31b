#include "textflag.h"
#include "exp_arm64.h"

// func convNEON(y, x0, x1, x2, x3, w0, w1, w2, w3 *float32, n int)
//
// x0 is the row three tokens back, x3 the current one; w0 to w3 are their taps.
TEXT ·convNEON(SB), NOSPLIT, $0-80
	MOVD y+0(FP), R0
	MOVD x0+8(FP), R1
	MOVD x1+16(FP), R2
	MOVD x2+24(FP), R3
	MOVD x3+32(FP), R4
	MOVD w0+40(FP), R5
	MOVD w1+48(FP), R6
	MOVD w2+56(FP), R7
	MOVD w3+64(FP), R8
	MOVD n+72(FP), R9
	EXP_LOAD(R10)

loop:
	VLD1.P 16(R1), [V5.S4]
	VLD1.P 16(R5), [V6.S4]
	FMUL4S(6, 5, 5)
	VLD1.P 16(R2), [V6.S4]
	VLD1.P 16(R6), [V7.S4]
	FMLA4S(7, 6, 5)
	VLD1.P 16(R3), [V6.S4]
	VLD1.P 16(R7), [V7.S4]
	FMLA4S(7, 6, 5)
	VLD1.P 16(R4), [V6.S4]
	VLD1.P 16(R8), [V7.S4]
	FMLA4S(7, 6, 5)
	SIGMOID4(5, 0, 1, 2, 3)
	FMUL4S(5, 0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R9
	BNE    loop
	RET
