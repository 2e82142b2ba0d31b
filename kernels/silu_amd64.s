#include "textflag.h"
#include "exp_amd64.h"

// Each loop body leaves the result for entries AX on in register 0; a and b point to the operands.
#define ARGS \
	MOVQ y+0(FP), DI \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), BX \
	MOVQ n+24(FP), CX \
	XORQ AX, AX

// func siluMulAVX512(y, a, b *float32, n int)
TEXT ·siluMulAVX512(SB), NOSPLIT, $0-32
	ARGS

loop:
	VMOVUPS (SI)(AX*4), Z3
	SIGMOID16(Z3, Z0, Z1, Z2)
	VMULPS  Z3, Z0, Z0
	VMULPS  (BX)(AX*4), Z0, Z0
	VMOVUPS Z0, (DI)(AX*4)
	ADDQ    $16, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func siluMulAVX2(y, a, b *float32, n int)
TEXT ·siluMulAVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	VMOVUPS (SI)(AX*4), Y3
	SIGMOID8(Y3, Y0, Y1, Y2)
	VMULPS  Y3, Y0, Y0
	VMULPS  (BX)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func sigmoidMulAVX512(y, a, b *float32, n int)
TEXT ·sigmoidMulAVX512(SB), NOSPLIT, $0-32
	ARGS

loop:
	VMOVUPS (BX)(AX*4), Z3
	SIGMOID16(Z3, Z0, Z1, Z2)
	VMULPS  (SI)(AX*4), Z0, Z0
	VMOVUPS Z0, (DI)(AX*4)
	ADDQ    $16, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func sigmoidMulAVX2(y, a, b *float32, n int)
TEXT ·sigmoidMulAVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	VMOVUPS (BX)(AX*4), Y3
	SIGMOID8(Y3, Y0, Y1, Y2)
	VMULPS  (SI)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func addAVX2(y, a, b *float32, n int)
TEXT ·addAVX2(SB), NOSPLIT, $0-32
	ARGS

loop:
	VMOVUPS (SI)(AX*4), Y0
	VADDPS  (BX)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET
