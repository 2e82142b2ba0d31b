#include "textflag.h"
#include "exp_amd64.h"

// x0 is the row three tokens back, x3 the current one; w0 to w3 are their taps.
#define ARGS \
	MOVQ y+0(FP), DI \
	MOVQ x0+8(FP), R8 \
	MOVQ x1+16(FP), R9 \
	MOVQ x2+24(FP), R10 \
	MOVQ x3+32(FP), R11 \
	MOVQ w0+40(FP), R12 \
	MOVQ w1+48(FP), R13 \
	MOVQ w2+56(FP), BX \
	MOVQ w3+64(FP), DX \
	MOVQ n+72(FP), CX \
	XORQ AX, AX

// func convAVX512(y, x0, x1, x2, x3, w0, w1, w2, w3 *float32, n int)
TEXT ·convAVX512(SB), NOSPLIT, $0-80
	ARGS

loop:
	VMOVUPS     (R8)(AX*4), Z3
	VMULPS      (R12)(AX*4), Z3, Z3
	VMOVUPS     (R9)(AX*4), Z4
	VFMADD231PS (R13)(AX*4), Z4, Z3
	VMOVUPS     (R10)(AX*4), Z4
	VFMADD231PS (BX)(AX*4), Z4, Z3
	VMOVUPS     (R11)(AX*4), Z4
	VFMADD231PS (DX)(AX*4), Z4, Z3
	SIGMOID16(Z3, Z0, Z1, Z2)
	VMULPS      Z3, Z0, Z0
	VMOVUPS     Z0, (DI)(AX*4)
	ADDQ        $16, AX
	CMPQ        AX, CX
	JLT         loop
	VZEROUPPER
	RET

// func convAVX2(y, x0, x1, x2, x3, w0, w1, w2, w3 *float32, n int)
TEXT ·convAVX2(SB), NOSPLIT, $0-80
	ARGS

loop:
	VMOVUPS     (R8)(AX*4), Y3
	VMULPS      (R12)(AX*4), Y3, Y3
	VMOVUPS     (R9)(AX*4), Y4
	VFMADD231PS (R13)(AX*4), Y4, Y3
	VMOVUPS     (R10)(AX*4), Y4
	VFMADD231PS (BX)(AX*4), Y4, Y3
	VMOVUPS     (R11)(AX*4), Y4
	VFMADD231PS (DX)(AX*4), Y4, Y3
	SIGMOID8(Y3, Y0, Y1, Y2)
	VMULPS      Y3, Y0, Y0
	VMOVUPS     Y0, (DI)(AX*4)
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLT         loop
	VZEROUPPER
	RET
