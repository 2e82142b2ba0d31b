#include "textflag.h"
#include "exp_amd64.h"

// FOLD adds the sixteen lanes, (l, l+8) being added in Y0 already.
#define FOLD \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS       X1, X0, X0 \
	VPERMILPS    $0x0E, X0, X1 \
	VADDPS       X1, X0, X0 \
	VPERMILPS    $1, X0, X1 \
	VADDSS       X1, X0, X0 \
	VZEROUPPER

// func sumSquaresAVX512(x *float32, n int) float32
TEXT ·sumSquaresAVX512(SB), NOSPLIT, $0-20
	MOVQ  x+0(FP), SI
	MOVQ  n+8(FP), CX
	VPXORD Z0, Z0, Z0

loop:
	VMOVUPS     (SI), Z1
	VFMADD231PS Z1, Z1, Z0
	ADDQ        $64, SI
	SUBQ        $16, CX
	JNE         loop
	VEXTRACTF64X4 $1, Z0, Y1
	VADDPS        Y1, Y0, Y0
	FOLD
	MOVSS X0, ret+16(FP)
	RET

// func sumSquaresAVX2(x *float32, n int) float32
TEXT ·sumSquaresAVX2(SB), NOSPLIT, $0-20
	MOVQ  x+0(FP), SI
	MOVQ  n+8(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1

loop:
	VMOVUPS     (SI), Y2
	VMOVUPS     32(SI), Y3
	VFMADD231PS Y2, Y2, Y0
	VFMADD231PS Y3, Y3, Y1
	ADDQ        $64, SI
	SUBQ        $16, CX
	JNE         loop
	VADDPS Y1, Y0, Y0
	FOLD
	MOVSS X0, ret+16(FP)
	RET

// func scaleMulAVX512(y, x, weight *float32, inv float32, n int)
TEXT ·scaleMulAVX512(SB), NOSPLIT, $0-40
	MOVQ         y+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         weight+16(FP), BX
	VBROADCASTSS inv+24(FP), Z3
	MOVQ         n+32(FP), CX
	XORQ         AX, AX

loop:
	VMULPS  (SI)(AX*4), Z3, Z0
	VMULPS  (BX)(AX*4), Z0, Z0
	VMOVUPS Z0, (DI)(AX*4)
	ADDQ    $16, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func scaleMulAVX2(y, x, weight *float32, inv float32, n int)
TEXT ·scaleMulAVX2(SB), NOSPLIT, $0-40
	MOVQ         y+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         weight+16(FP), BX
	VBROADCASTSS inv+24(FP), Y3
	MOVQ         n+32(FP), CX
	XORQ         AX, AX

loop:
	VMULPS  (SI)(AX*4), Y3, Y0
	VMULPS  (BX)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func gateMulAVX512(y, o, z, weight *float32, inv float32, n int)
TEXT ·gateMulAVX512(SB), NOSPLIT, $0-48
	MOVQ         y+0(FP), DI
	MOVQ         o+8(FP), SI
	MOVQ         z+16(FP), DX
	MOVQ         weight+24(FP), BX
	VBROADCASTSS inv+32(FP), Z5
	MOVQ         n+40(FP), CX
	XORQ         AX, AX

loop:
	VMOVUPS (DX)(AX*4), Z3
	SIGMOID16(Z3, Z0, Z1, Z2)
	VMULPS  Z3, Z0, Z0
	VMULPS  (SI)(AX*4), Z5, Z4
	VMULPS  (BX)(AX*4), Z4, Z4
	VMULPS  Z4, Z0, Z0
	VMOVUPS Z0, (DI)(AX*4)
	ADDQ    $16, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func gateMulAVX2(y, o, z, weight *float32, inv float32, n int)
TEXT ·gateMulAVX2(SB), NOSPLIT, $0-48
	MOVQ         y+0(FP), DI
	MOVQ         o+8(FP), SI
	MOVQ         z+16(FP), DX
	MOVQ         weight+24(FP), BX
	VBROADCASTSS inv+32(FP), Y5
	MOVQ         n+40(FP), CX
	XORQ         AX, AX

loop:
	VMOVUPS (DX)(AX*4), Y3
	SIGMOID8(Y3, Y0, Y1, Y2)
	VMULPS  Y3, Y0, Y0
	VMULPS  (SI)(AX*4), Y5, Y4
	VMULPS  (BX)(AX*4), Y4, Y4
	VMULPS  Y4, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func scaleAVX2(y, x *float32, inv, scale float32, n int)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-32
	MOVQ         y+0(FP), DI
	MOVQ         x+8(FP), SI
	VBROADCASTSS inv+16(FP), Y2
	VBROADCASTSS scale+20(FP), Y3
	MOVQ         n+24(FP), CX
	XORQ         AX, AX

loop:
	VMULPS  (SI)(AX*4), Y2, Y0
	VMULPS  Y3, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET
