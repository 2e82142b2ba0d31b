#include "textflag.h"

// An E4M3 code in the bits of an IEEE half, the sign at bit 15 and the seven others at bits 13..7, is its value divided by
// 256, subnormals included. A pair of columns is one 16-bit lane, the even one low: a shift left by 8 brings it to the high
// byte, an arithmetic shift right by 1 puts the seven bits in place and copies the sign to bit 14, and Y7 (0xBF80 in every
// word) clears that copy and the other column.

#define MASK \
	MOVL         $0xBF80BF80, AX; \
	VMOVD        AX, X7;          \
	VPBROADCASTD X7, Y7

// EVEN leaves the even column of the pairs in Y2 as Y4, Y5; ODD the odd one as Y2, Y6 and destroys the pairs.
#define EVEN \
	VPSLLW       $8, Y2, Y5;  \
	VPSRAW       $1, Y5, Y5;  \
	VPAND        Y7, Y5, Y5;  \
	VCVTPH2PS    X5, Y4;      \
	VEXTRACTI128 $1, Y5, X5;  \
	VCVTPH2PS    X5, Y5

#define ODD \
	VPSRAW       $1, Y2, Y2;  \
	VPAND        Y7, Y2, Y2;  \
	VEXTRACTI128 $1, Y2, X6;  \
	VCVTPH2PS    X2, Y2;      \
	VCVTPH2PS    X6, Y6

// PAIR multiplies two columns of one panel with x in Y0 and Y1.
#define PAIR(w, a, b) \
	VMOVDQU     (w), Y2;    \
	PREFETCHT0  1024(w);    \
	EVEN;                   \
	VFMADD231PS Y4, Y0, a;  \
	VFMADD231PS Y5, Y0, b;  \
	ODD;                    \
	VFMADD231PS Y2, Y1, a;  \
	VFMADD231PS Y6, Y1, b;  \
	ADDQ        $32, w

#define ONE(w, a, b) \
	VMOVDQU     (w), Y2;    \
	EVEN;                   \
	VFMADD231PS Y4, Y0, a;  \
	VFMADD231PS Y5, Y0, b

#define PANELS1(OP) OP(R8, Y8, Y9)
#define PANELS4(OP) OP(R8, Y8, Y9); OP(R9, Y10, Y11); OP(R10, Y12, Y13); OP(R11, Y14, Y15)

#define ZERO(w, a, b) \
	VXORPS a, a, a; \
	VXORPS b, b, b

#define STORE(w, a, b) \
	VMOVUPS a, (DI);   \
	VMOVUPS b, 32(DI); \
	ADDQ    $64, DI

#define SCALE(w, a, b) \
	VMOVUPS     (DI), Y2;   \
	VMOVUPS     32(DI), Y3; \
	VFMADD231PS Y0, a, Y2;  \
	VFMADD231PS Y0, b, Y3;  \
	VMOVUPS     Y2, (DI);   \
	VMOVUPS     Y3, 32(DI); \
	ADDQ        $64, DI

// a *rowArgs: y 0, x 8, w 16, panel 24, cols 32, scale 40. R13 counts the columns of a block, CX those after it.
#define ROW(PANELS) \
	MOVQ a+0(FP), AX;          \
	MOVQ 0(AX), BX;            \
	MOVQ 8(AX), SI;            \
	MOVQ 16(AX), R8;           \
	MOVQ 24(AX), DX;           \
	MOVQ 32(AX), CX;           \
	MOVQ 40(AX), R12;          \
	LEAQ (R8)(DX*1), R9;       \
	LEAQ (R9)(DX*1), R10;      \
	LEAQ (R10)(DX*1), R11;     \
	MASK;                      \
block:                         \
	MOVQ    BX, DI;            \
	MOVQ    CX, R13;           \
	TESTQ   R12, R12;          \
	JZ      columns;           \
	MOVQ    $128, AX;          \
	CMPQ    R13, AX;           \
	CMOVQGT AX, R13;           \
columns:                       \
	SUBQ R13, CX;              \
	PANELS(ZERO);              \
	SUBQ $2, R13;              \
	JLT  one;                  \
pair:                          \
	VBROADCASTSS (SI), Y0;     \
	VBROADCASTSS 4(SI), Y1;    \
	PANELS(PAIR);              \
	ADDQ  $8, SI;              \
	SUBQ  $2, R13;             \
	JGE   pair;                \
one:                           \
	TESTQ $1, R13;             \
	JZ    sums;                \
	VBROADCASTSS (SI), Y0;     \
	PANELS(ONE);               \
sums:                          \
	TESTQ R12, R12;            \
	JZ    store;               \
	VBROADCASTSS (R12), Y0;    \
	ADDQ  $4, R12;             \
	PANELS(SCALE);             \
	TESTQ CX, CX;              \
	JNZ   block;               \
	VZEROUPPER;                \
	RET;                       \
store:                         \
	PANELS(STORE);             \
	VZEROUPPER;                \
	RET

// func rowE4M3x4AVX2(a *rowArgs)
TEXT ·rowE4M3x4AVX2(SB), NOSPLIT, $0-8
	ROW(PANELS4)

// func rowE4M3x1AVX2(a *rowArgs)
TEXT ·rowE4M3x1AVX2(SB), NOSPLIT, $0-8
	ROW(PANELS1)

// Few rows: 2 to 4 rows of x at SI, R13, R14, R15. Two rows take two panels at R8 and R9, sums Y8..Y11 and Y12..Y15; three
// and four take one, sums Y8, Y9 of row 0 and so on.

#define MUL2(at, wa, wb, x, s0, s1, s2, s3, s4, s5, s6, s7) \
	VBROADCASTSS at(SI), x;  \
	VFMADD231PS  wa, x, s0;  \
	VFMADD231PS  wb, x, s1;  \
	VBROADCASTSS at(R13), x; \
	VFMADD231PS  wa, x, s2;  \
	VFMADD231PS  wb, x, s3

#define MUL3(at, wa, wb, x, s0, s1, s2, s3, s4, s5, s6, s7) \
	MUL2(at, wa, wb, x, s0, s1, s2, s3, s4, s5, s6, s7); \
	VBROADCASTSS at(R14), x; \
	VFMADD231PS  wa, x, s4;  \
	VFMADD231PS  wb, x, s5

#define MUL4(at, wa, wb, x, s0, s1, s2, s3, s4, s5, s6, s7) \
	MUL3(at, wa, wb, x, s0, s1, s2, s3, s4, s5, s6, s7); \
	VBROADCASTSS at(R15), x; \
	VFMADD231PS  wa, x, s6;  \
	VFMADD231PS  wb, x, s7

#define FEW_PANELS2(OP) OP(MUL2, R8, Y8, Y9, Y12, Y13, Y8, Y8, Y8, Y8); OP(MUL2, R9, Y10, Y11, Y14, Y15, Y8, Y8, Y8, Y8)
#define FEW_PANELS3(OP) OP(MUL3, R8, Y8, Y9, Y10, Y11, Y12, Y13, Y8, Y8)
#define FEW_PANELS4(OP) OP(MUL4, R8, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)

#define FEW_PAIR(MUL, w, s0, s1, s2, s3, s4, s5, s6, s7) \
	VMOVDQU    (w), Y2;    \
	PREFETCHT0 1024(w);    \
	EVEN;                  \
	MUL(0, Y4, Y5, Y0, s0, s1, s2, s3, s4, s5, s6, s7); \
	ODD;                   \
	MUL(4, Y2, Y6, Y1, s0, s1, s2, s3, s4, s5, s6, s7); \
	ADDQ       $32, w

#define FEW_ONE(MUL, w, s0, s1, s2, s3, s4, s5, s6, s7) \
	VMOVDQU (w), Y2; \
	EVEN;            \
	MUL(0, Y4, Y5, Y0, s0, s1, s2, s3, s4, s5, s6, s7)

#define FEW_STORE(a, b) \
	VMOVUPS a, (DI);   \
	VMOVUPS b, 32(DI); \
	ADDQ    DX, DI

#define FEW_STORE2 \
	VMOVUPS Y8, (DI);    \
	VMOVUPS Y9, 32(DI);  \
	VMOVUPS Y10, 64(DI); \
	VMOVUPS Y11, 96(DI); \
	ADDQ    DX, DI;      \
	VMOVUPS Y12, (DI);   \
	VMOVUPS Y13, 32(DI); \
	VMOVUPS Y14, 64(DI); \
	VMOVUPS Y15, 96(DI)

#define FEW_STORE3 FEW_STORE(Y8, Y9); FEW_STORE(Y10, Y11); FEW_STORE(Y12, Y13)
#define FEW_STORE4 FEW_STORE3; FEW_STORE(Y14, Y15)

// FEW_ADD is y = fma(sum, scale, y) for one vector.
#define FEW_ADD(at, sum) \
	VMOVUPS     at(DI), Y2;  \
	VFMADD231PS Y0, sum, Y2; \
	VMOVUPS     Y2, at(DI)

#define FEW_SCALE(a, b) \
	VBROADCASTSS (R12), Y0; \
	FEW_ADD(0, a);          \
	FEW_ADD(32, b);         \
	ADDQ         $4, R12;   \
	ADDQ         DX, DI

#define FEW_SCALE2 \
	VBROADCASTSS (R12), Y0;  \
	FEW_ADD(0, Y8);          \
	FEW_ADD(32, Y9);         \
	FEW_ADD(64, Y10);        \
	FEW_ADD(96, Y11);        \
	ADDQ         DX, DI;     \
	VBROADCASTSS 4(R12), Y0; \
	FEW_ADD(0, Y12);         \
	FEW_ADD(32, Y13);        \
	FEW_ADD(64, Y14);        \
	FEW_ADD(96, Y15);        \
	ADDQ         $8, R12

#define FEW_SCALE3 FEW_SCALE(Y8, Y9); FEW_SCALE(Y10, Y11); FEW_SCALE(Y12, Y13)
#define FEW_SCALE4 FEW_SCALE3; FEW_SCALE(Y14, Y15)

// a *fewArgs: y 0, stride 8, x 16, xStride 24, w 32, panel 40, cols 48, scale 56. AX counts the columns of a block, CX those
// after it.
#define FEW(PANELS, STORE, SCALES) \
	MASK;                    \
	MOVQ a+0(FP), AX;        \
	MOVQ 0(AX), BX;          \
	MOVQ 8(AX), DX;          \
	MOVQ 16(AX), SI;         \
	MOVQ 24(AX), DI;         \
	MOVQ 32(AX), R8;         \
	MOVQ 48(AX), CX;         \
	MOVQ 56(AX), R12;        \
	MOVQ 40(AX), AX;         \
	LEAQ (SI)(DI*1), R13;    \
	LEAQ (R13)(DI*1), R14;   \
	LEAQ (R14)(DI*1), R15;   \
	LEAQ (R8)(AX*1), R9;     \
block:                           \
	MOVQ    CX, AX;          \
	TESTQ   R12, R12;        \
	JZ      columns;         \
	MOVQ    $128, DI;        \
	CMPQ    AX, DI;          \
	CMOVQGT DI, AX;          \
columns:                         \
	MOVQ BX, DI;             \
	SUBQ AX, CX;             \
	VXORPS Y8, Y8, Y8;       \
	VXORPS Y9, Y9, Y9;       \
	VXORPS Y10, Y10, Y10;    \
	VXORPS Y11, Y11, Y11;    \
	VXORPS Y12, Y12, Y12;    \
	VXORPS Y13, Y13, Y13;    \
	VXORPS Y14, Y14, Y14;    \
	VXORPS Y15, Y15, Y15;    \
	SUBQ $2, AX;             \
	JLT  one;                \
pair:                            \
	PANELS(FEW_PAIR);        \
	ADDQ $8, SI;             \
	ADDQ $8, R13;            \
	ADDQ $8, R14;            \
	ADDQ $8, R15;            \
	SUBQ $2, AX;             \
	JGE  pair;               \
one:                             \
	TESTQ $1, AX;            \
	JZ    sums;              \
	PANELS(FEW_ONE);         \
sums:                            \
	TESTQ R12, R12;          \
	JZ    store;             \
	SCALES;                  \
	TESTQ CX, CX;            \
	JNZ   block;             \
	VZEROUPPER;              \
	RET;                     \
store:                           \
	STORE;                   \
	VZEROUPPER;              \
	RET

// func few2E4M3AVX2(a *fewArgs)
TEXT ·few2E4M3AVX2(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS2, FEW_STORE2, FEW_SCALE2)

// func few3E4M3AVX2(a *fewArgs)
TEXT ·few3E4M3AVX2(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS3, FEW_STORE3, FEW_SCALE3)

// func few4E4M3AVX2(a *fewArgs)
TEXT ·few4E4M3AVX2(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS4, FEW_STORE4, FEW_SCALE4)

// func widenE4M3AVX2(dst *float32, w *byte, cols int)
TEXT ·widenE4M3AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ cols+16(FP), CX
	MASK
	SUBQ $2, CX
	JLT  one

pair:
	VMOVDQU    (SI), Y2
	PREFETCHT0 1024(SI)
	EVEN
	VMOVUPS    Y4, (DI)
	VMOVUPS    Y5, 32(DI)
	ODD
	VMOVUPS    Y2, 64(DI)
	VMOVUPS    Y6, 96(DI)
	ADDQ       $32, SI
	ADDQ       $128, DI
	SUBQ       $2, CX
	JGE        pair

one:
	TESTQ   $1, CX
	JZ      done
	VMOVDQU (SI), Y2
	EVEN
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)

done:
	VZEROUPPER
	RET

// func absMaxAVX2(x *float32, n int) float32
TEXT ·absMaxAVX2(SB), NOSPLIT, $0-20
	MOVQ     x+0(FP), SI
	MOVQ     n+8(FP), CX
	VPCMPEQD Y1, Y1, Y1
	VPSRLD   $1, Y1, Y1
	VXORPS   Y0, Y0, Y0

loop:
	// MAXPS returns its last operand (here first) when one is NaN.
	VPAND  (SI), Y1, Y2
	VMAXPS Y0, Y2, Y0
	ADDQ   $32, SI
	SUBQ   $8, CX
	JNE    loop

	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, ret+16(FP)
	VZEROUPPER
	RET

#define BROADCAST(bits, x, y) \
	MOVL         bits, AX; \
	VMOVD        AX, x;    \
	VPBROADCASTD x, y

// func roundE4M3AVX2(dst, x *float32, n int, scale float32)
TEXT ·roundE4M3AVX2(SB), NOSPLIT, $0-28
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS scale+24(FP), Y10
	BROADCAST($0x80000000, X11, Y11)
	BROADCAST($0x43E00000, X12, Y12) // 448
	BROADCAST($0x7F800000, X13, Y13)
	BROADCAST($0x3C800000, X14, Y14) // 2⁻⁶
	BROADCAST($0x49800000, X15, Y15) // 2²⁰

loop:
	VMOVUPS (SI), Y0
	VDIVPS  Y10, Y0, Y0
	VPAND   Y11, Y0, Y1   // sign
	VPANDN  Y0, Y11, Y0
	VMINPS  Y0, Y12, Y0   // NaN stays
	VPAND   Y13, Y0, Y2
	VMAXPS  Y2, Y14, Y2
	VMULPS  Y15, Y2, Y2
	VADDPS  Y2, Y0, Y0
	VSUBPS  Y2, Y0, Y0
	VPOR    Y1, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNE     loop
	VZEROUPPER
	RET
