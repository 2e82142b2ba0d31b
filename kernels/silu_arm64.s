#include "textflag.h"
#include "exp_arm64.h"

#define ARGS \
	MOVD y+0(FP), R0 \
	MOVD a+8(FP), R1 \
	MOVD b+16(FP), R2 \
	MOVD n+24(FP), R3

// func siluMulNEON(y, a, b *float32, n int)
TEXT ·siluMulNEON(SB), NOSPLIT, $0-32
	ARGS
	EXP_LOAD(R4)

loop:
	VLD1.P 16(R1), [V5.S4]
	VLD1.P 16(R2), [V4.S4]
	SIGMOID4(5, 0, 1, 2, 3)
	FMUL4S(5, 0, 0)
	FMUL4S(4, 0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R3
	BNE    loop
	RET

// func sigmoidMulNEON(y, a, b *float32, n int)
TEXT ·sigmoidMulNEON(SB), NOSPLIT, $0-32
	ARGS
	EXP_LOAD(R4)

loop:
	VLD1.P 16(R1), [V4.S4]
	VLD1.P 16(R2), [V5.S4]
	SIGMOID4(5, 0, 1, 2, 3)
	FMUL4S(4, 0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R3
	BNE    loop
	RET

// func addNEON(y, a, b *float32, n int)
TEXT ·addNEON(SB), NOSPLIT, $0-32
	ARGS

loop:
	VLD1.P 16(R1), [V0.S4]
	VLD1.P 16(R2), [V1.S4]
	FADD4S(1, 0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R3
	BNE    loop
	RET
