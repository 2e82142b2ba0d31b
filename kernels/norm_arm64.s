#include "textflag.h"
#include "exp_arm64.h"

// func sumSquaresNEON(x *float32, n int) float32
TEXT ·sumSquaresNEON(SB), NOSPLIT, $0-20
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16

loop:
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	FMLA4S(4, 4, 0)
	FMLA4S(5, 5, 1)
	FMLA4S(6, 6, 2)
	FMLA4S(7, 7, 3)
	SUBS   $16, R1
	BNE    loop

	FADD4S(2, 0, 0) // (l, l+8)
	FADD4S(3, 1, 1)
	FADD4S(1, 0, 0) // (l, l+4)
	VEXT  $8, V0.B16, V0.B16, V1.B16
	FADD4S(1, 0, 0) // (l, l+2)
	WORD  $0x7E30D800 // FADDP S0, V0.2S: (l, l+1)
	FMOVS F0, ret+16(FP)
	RET

// func scaleMulNEON(y, x, weight *float32, inv float32, n int)
TEXT ·scaleMulNEON(SB), NOSPLIT, $0-40
	MOVD  y+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  weight+16(FP), R2
	FMOVS inv+24(FP), F2
	MOVD  n+32(FP), R3
	VDUP  V2.S[0], V2.S4

loop:
	VLD1.P 16(R1), [V0.S4]
	VLD1.P 16(R2), [V1.S4]
	FMUL4S(2, 0, 0)
	FMUL4S(1, 0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R3
	BNE    loop
	RET

// func gateMulNEON(y, o, z, weight *float32, inv float32, n int)
TEXT ·gateMulNEON(SB), NOSPLIT, $0-48
	MOVD  y+0(FP), R0
	MOVD  o+8(FP), R1
	MOVD  z+16(FP), R2
	MOVD  weight+24(FP), R3
	FMOVS inv+32(FP), F8
	MOVD  n+40(FP), R4
	VDUP  V8.S[0], V8.S4
	EXP_LOAD(R5)

loop:
	VLD1.P 16(R2), [V5.S4]
	VLD1.P 16(R1), [V6.S4]
	VLD1.P 16(R3), [V7.S4]
	SIGMOID4(5, 0, 1, 2, 3)
	FMUL4S(5, 0, 0)
	FMUL4S(8, 6, 6)
	FMUL4S(7, 6, 6)
	FMUL4S(6, 0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R4
	BNE    loop
	RET

// func scaleNEON(y, x *float32, inv, scale float32, n int)
TEXT ·scaleNEON(SB), NOSPLIT, $0-32
	MOVD  y+0(FP), R0
	MOVD  x+8(FP), R1
	FMOVS inv+16(FP), F1
	FMOVS scale+20(FP), F2
	MOVD  n+24(FP), R2
	VDUP  V1.S[0], V1.S4
	VDUP  V2.S[0], V2.S4

loop:
	VLD1.P 16(R1), [V0.S4]
	FMUL4S(1, 0, 0)
	FMUL4S(2, 0, 0)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R2
	BNE    loop
	RET
