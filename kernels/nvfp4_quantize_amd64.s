#include "textflag.h"
#include "nvfp4_amd64.h"

// BROADCAST32 fills Y with a 32-bit constant, by way of R8 and X.
#define BROADCAST32(V, X, Y) \
	MOVL V, R8 \
	VMOVD R8, X \
	VPBROADCASTD X, Y

// LARGEST puts the largest magnitude's bits of Y0 and Y1 in X4 (all lanes of its low part) and R9.
#define LARGEST \
	VPAND Y15, Y0, Y2 \
	VPAND Y15, Y1, Y3 \
	VPMAXUD Y2, Y3, Y4 \
	VEXTRACTI128 $1, Y4, X5 \
	VPMAXUD X5, X4, X4 \
	VPSHUFD $0x4E, X4, X5 \
	VPMAXUD X5, X4, X4 \
	VPSHUFD $0xB1, X4, X5 \
	VPMAXUD X5, X4, X4 \
	VMOVD X4, R9

// PACK16 narrows 16 int32 in Y0, Y1 to bytes in X0.
#define PACK16(A, B, XA, XB) \
	VPACKSSDW B, A, A \
	VPERMQ $0xD8, A, A \
	VEXTRACTI128 $1, A, XB \
	VPACKSSWB XB, XA, XA

// MINUS12SUM puts −12 times the sum of 16 int32 in A, B into R10, by way of Y5.
#define MINUS12SUM(A, B) \
	VPADDD A, B, Y5 \
	VEXTRACTI128 $1, Y5, X6 \
	VPADDD X6, X5, X5 \
	VPSHUFD $0x4E, X5, X6 \
	VPADDD X6, X5, X5 \
	VPSHUFD $0xB1, X5, X6 \
	VPADDD X6, X5, X5 \
	VMOVD X5, R10 \
	IMULL $-12, R10

// ROUND2 rounds |v| in A (at most 6) to E2M1, doubled, with the sign of V, as int32.
#define ROUND2(V, A, T) \
	VANDPS Y15, V, A \
	VMINPS Y12, A, A \
	VANDPS Y13, A, T \
	VMAXPS Y11, T, T \
	VMULPS Y10, T, T \
	VADDPS T, A, A \
	VSUBPS T, A, A \
	VADDPS A, A, A \
	VANDNPS V, Y15, T \
	VORPS T, A, A \
	VCVTPS2DQ A, A

// func quantizeE2M1AVX2(dst *E2M1Block, x *float32, blocks int, gs float32)
TEXT ·quantizeE2M1AVX2(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ blocks+16(FP), CX
	VMOVSS gs+24(FP), X14
	BROADCAST32($0x7FFFFFFF, X15, Y15) // |x|
	BROADCAST32($0x7F800000, X13, Y13) // power of two below
	BROADCAST32($0x40C00000, X12, Y12) // 6
	BROADCAST32($0x3F800000, X11, Y11) // 1
	BROADCAST32($0x4A800000, X10, Y10) // 2^22

quantLoop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	LARGEST
	CMPL R9, $0x7F800000
	JAE quantNaN
	VDIVSS X12, X4, X4
	VMULSS X14, X4, X4
	MOVL $0x43E00000, R8 // 448
	VMOVD R8, X5
	VMINSS X5, X4, X4
	VANDPS X13, X4, X5
	MOVL $0x3C800000, R8 // 2^-6
	VMOVD R8, X6
	VMAXSS X6, X5, X5
	MOVL $0x49800000, R8 // 2^20
	VMOVD R8, X6
	VMULSS X6, X5, X5
	VADDSS X5, X4, X4
	VSUBSS X5, X4, X4 // sf
	VXORPS X6, X6, X6
	VUCOMISS X6, X4
	JEQ quantZero
	VDIVSS X4, X14, X7 // gs / sf
	VBROADCASTSS X7, Y7
	VMULPS Y7, Y0, Y0
	VMULPS Y7, Y1, Y1
	ROUND2(Y0, Y2, Y8)
	ROUND2(Y1, Y3, Y9)
	MINUS12SUM(Y2, Y3)
	PACK16(Y2, Y3, X2, X3)
	VMOVDQU X2, (DI)
	MOVL R10, 16(DI)
	MOVL $0x42800000, R8 // 64
	VMOVD R8, X5
	VMULSS X5, X4, X4
	VMOVSS X4, 20(DI)

quantNext:
	ADDQ $64, SI
	ADDQ $E2M1_BYTES, DI
	DECQ CX
	JNZ quantLoop
	VZEROUPPER
	RET

quantNaN:
	MOVL $0x7FC00000, R8
	JMP quantEmpty

quantZero:
	XORL R8, R8

quantEmpty:
	VPXOR X5, X5, X5
	VMOVDQU X5, (DI)
	MOVL $0, 16(DI)
	MOVL R8, 20(DI)
	JMP quantNext

// DIGIT stores the low signed byte of 16 int32 in Y0, Y1 as plane P and takes it off.
#define DIGIT(P) \
	VPSLLD $24, Y0, Y2 \
	VPSLLD $24, Y1, Y3 \
	VPSRAD $24, Y2, Y2 \
	VPSRAD $24, Y3, Y3 \
	VPSUBD Y2, Y0, Y0 \
	VPSUBD Y3, Y1, Y1 \
	VPSRAD $8, Y0, Y0 \
	VPSRAD $8, Y1, Y1 \
	PACK16(Y2, Y3, X2, X3) \
	VMOVDQU X2, (16*P)(DI)

// func fixed24AVX2(dst *Fixed24Block, x *float32, blocks int)
TEXT ·fixed24AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ blocks+16(FP), CX
	BROADCAST32($0x7FFFFFFF, X15, Y15)

fixedLoop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	LARGEST
	CMPL R9, $0x7F800000
	JAE fixedNaN
	SHRL $23, R9
	CMPL R9, $27
	JAE fixedExponent
	MOVL $27, R9

fixedExponent:
	MOVL $275, R8
	SUBL R9, R8
	SHLL $23, R8
	VMOVD R8, X7
	VPBROADCASTD X7, Y7
	SUBL $14, R9
	SHLL $23, R9
	MOVL R9, 60(DI)
	VMULPS Y7, Y0, Y0
	VMULPS Y7, Y1, Y1
	VCVTPS2DQ Y0, Y0
	VCVTPS2DQ Y1, Y1
	VMOVDQA Y0, Y2
	VMOVDQA Y1, Y3
	MINUS12SUM(Y2, Y3)
	MOVL R10, 48(DI)
	DIGIT(0)
	DIGIT(1)
	DIGIT(2)

fixedNext:
	ADDQ $64, SI
	ADDQ $FIXED24_BYTES, DI
	DECQ CX
	JNZ fixedLoop
	VZEROUPPER
	RET

fixedNaN:
	VPXOR Y5, Y5, Y5
	VMOVDQU Y5, (DI)
	VMOVDQU Y5, 32(DI)
	MOVL $0x7FC00000, 60(DI)
	JMP fixedNext
