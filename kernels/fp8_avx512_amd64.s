#include "textflag.h"

// An E4M3 code in the bits of an IEEE half, the sign at bit 15 and the seven others at bits 13..7, is its value divided by
// 256, subnormals included. A pair of columns is one 16-bit lane, the even one low: a shift left by 8 brings it to the high
// byte, an arithmetic shift right by 1 puts the seven bits in place and copies the sign to bit 14, and Z15 (0xBF80 in every
// word) clears that copy and the other column.

#define MASK \
	MOVL         $0xBF80BF80, AX; \
	VPBROADCASTD AX, Z15

// QUAD multiplies four columns of one panel with x in Z0..Z3.
#define QUAD(w, sum) \
	VMOVDQU32     (w), Z4;      \
	PREFETCHT0    2048(w);      \
	VPSLLW        $8, Z4, Z5;   \
	VPSRAW        $1, Z4, Z4;   \
	VPSRAW        $1, Z5, Z5;   \
	VPANDD        Z15, Z4, Z4;  \
	VPANDD        Z15, Z5, Z5;  \
	VCVTPH2PS     Y5, Z6;       \
	VCVTPH2PS     Y4, Z7;       \
	VEXTRACTI64X4 $1, Z5, Y5;   \
	VEXTRACTI64X4 $1, Z4, Y4;   \
	VFMADD231PS   Z6, Z0, sum;  \
	VCVTPH2PS     Y5, Z6;       \
	VFMADD231PS   Z7, Z1, sum;  \
	VCVTPH2PS     Y4, Z7;       \
	VFMADD231PS   Z6, Z2, sum;  \
	VFMADD231PS   Z7, Z3, sum;  \
	ADDQ          $64, w

#define PAIR(w, sum) \
	VMOVDQU     (w), Y4;      \
	VPSLLW      $8, Y4, Y5;   \
	VPSRAW      $1, Y4, Y4;   \
	VPSRAW      $1, Y5, Y5;   \
	VPAND       Y15, Y4, Y4;  \
	VPAND       Y15, Y5, Y5;  \
	VCVTPH2PS   Y5, Z6;       \
	VCVTPH2PS   Y4, Z7;       \
	VFMADD231PS Z6, Z0, sum;  \
	VFMADD231PS Z7, Z1, sum;  \
	ADDQ        $32, w

#define ONE(w, sum) \
	VMOVDQU     (w), Y5;      \
	VPSLLW      $8, Y5, Y5;   \
	VPSRAW      $1, Y5, Y5;   \
	VPAND       Y15, Y5, Y5;  \
	VCVTPH2PS   Y5, Z6;       \
	VFMADD231PS Z6, Z0, sum

#define PANELS1(OP) OP(R8, Z16)
#define PANELS4(OP) OP(R8, Z16); OP(R9, Z17); OP(R10, Z18); OP(R11, Z19)

#define ZERO(w, sum) VPXORD sum, sum, sum

#define STORE(w, sum) \
	VMOVUPS sum, (DI); \
	ADDQ    $64, DI

#define SCALE(w, sum) \
	VMOVUPS     (DI), Z4;     \
	VFMADD231PS Z0, sum, Z4;  \
	VMOVUPS     Z4, (DI);     \
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
	SUBQ $4, R13;              \
	JLT  pair;                 \
quad:                          \
	VBROADCASTSS (SI), Z0;     \
	VBROADCASTSS 4(SI), Z1;    \
	VBROADCASTSS 8(SI), Z2;    \
	VBROADCASTSS 12(SI), Z3;   \
	PANELS(QUAD);              \
	ADDQ  $16, SI;             \
	SUBQ  $4, R13;             \
	JGE   quad;                \
pair:                          \
	TESTQ $2, R13;             \
	JZ    one;                 \
	VBROADCASTSS (SI), Z0;     \
	VBROADCASTSS 4(SI), Z1;    \
	PANELS(PAIR);              \
	ADDQ  $8, SI;              \
one:                           \
	TESTQ $1, R13;             \
	JZ    sums;                \
	VBROADCASTSS (SI), Z0;     \
	PANELS(ONE);               \
sums:                          \
	TESTQ R12, R12;            \
	JZ    store;               \
	VBROADCASTSS (R12), Z0;    \
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

// func rowE4M3x4AVX512(a *rowArgs)
TEXT ·rowE4M3x4AVX512(SB), NOSPLIT, $0-8
	ROW(PANELS4)

// func rowE4M3x1AVX512(a *rowArgs)
TEXT ·rowE4M3x1AVX512(SB), NOSPLIT, $0-8
	ROW(PANELS1)

// Few rows: 2 to 4 rows of x at SI, R13, R14, R15 times four panels at R8..R11. The sums of row 0 are Z16..Z19, of row 1
// Z20..Z23 and so on.

#define MUL2(at, w, s0, s1, s2, s3) \
	VFMADD231PS.BCST at(SI), w, s0; \
	VFMADD231PS.BCST at(R13), w, s1

#define MUL3(at, w, s0, s1, s2, s3) \
	MUL2(at, w, s0, s1, s2, s3); \
	VFMADD231PS.BCST at(R14), w, s2

#define MUL4(at, w, s0, s1, s2, s3) \
	MUL3(at, w, s0, s1, s2, s3); \
	VFMADD231PS.BCST at(R15), w, s3

#define FEW_QUAD(MUL, w, s0, s1, s2, s3) \
	VMOVDQU32     (w), Z4;          \
	PREFETCHT0    2048(w);          \
	VPSLLW        $8, Z4, Z5;       \
	VPSRAW        $1, Z4, Z4;       \
	VPSRAW        $1, Z5, Z5;       \
	VPANDD        Z15, Z4, Z4;      \
	VPANDD        Z15, Z5, Z5;      \
	VCVTPH2PS     Y5, Z6;           \
	MUL(0, Z6, s0, s1, s2, s3);     \
	VCVTPH2PS     Y4, Z7;           \
	MUL(4, Z7, s0, s1, s2, s3);     \
	VEXTRACTI64X4 $1, Z5, Y5;       \
	VCVTPH2PS     Y5, Z6;           \
	MUL(8, Z6, s0, s1, s2, s3);     \
	VEXTRACTI64X4 $1, Z4, Y4;       \
	VCVTPH2PS     Y4, Z7;           \
	MUL(12, Z7, s0, s1, s2, s3);    \
	ADDQ          $64, w

#define FEW_PAIR(MUL, w, s0, s1, s2, s3) \
	VMOVDQU   (w), Y4;           \
	VPSLLW    $8, Y4, Y5;        \
	VPSRAW    $1, Y4, Y4;        \
	VPSRAW    $1, Y5, Y5;        \
	VPAND     Y15, Y4, Y4;       \
	VPAND     Y15, Y5, Y5;       \
	VCVTPH2PS Y5, Z6;            \
	VCVTPH2PS Y4, Z7;            \
	MUL(0, Z6, s0, s1, s2, s3);  \
	MUL(4, Z7, s0, s1, s2, s3);  \
	ADDQ      $32, w

#define FEW_ONE(MUL, w, s0, s1, s2, s3) \
	VMOVDQU   (w), Y5;      \
	VPSLLW    $8, Y5, Y5;   \
	VPSRAW    $1, Y5, Y5;   \
	VPAND     Y15, Y5, Y5;  \
	VCVTPH2PS Y5, Z6;       \
	MUL(0, Z6, s0, s1, s2, s3)

#define FEW_PANELS(OP, MUL) \
	OP(MUL, R8, Z16, Z20, Z24, Z28);  \
	OP(MUL, R9, Z17, Z21, Z25, Z29);  \
	OP(MUL, R10, Z18, Z22, Z26, Z30); \
	OP(MUL, R11, Z19, Z23, Z27, Z31)

#define FEW_ZERO(a, b, c, d) \
	VPXORD a, a, a; \
	VPXORD b, b, b; \
	VPXORD c, c, c; \
	VPXORD d, d, d

#define FEW_STORE(a, b, c, d) \
	VMOVUPS a, (DI);    \
	VMOVUPS b, 64(DI);  \
	VMOVUPS c, 128(DI); \
	VMOVUPS d, 192(DI); \
	ADDQ    DX, DI

#define FEW_SCALE(a, b, c, d) \
	VBROADCASTSS (R12), Z0;      \
	VMOVUPS      (DI), Z4;       \
	VMOVUPS      64(DI), Z5;     \
	VMOVUPS      128(DI), Z6;    \
	VMOVUPS      192(DI), Z7;    \
	VFMADD231PS  Z0, a, Z4;      \
	VFMADD231PS  Z0, b, Z5;      \
	VFMADD231PS  Z0, c, Z6;      \
	VFMADD231PS  Z0, d, Z7;      \
	VMOVUPS      Z4, (DI);       \
	VMOVUPS      Z5, 64(DI);     \
	VMOVUPS      Z6, 128(DI);    \
	VMOVUPS      Z7, 192(DI);    \
	ADDQ         $4, R12;        \
	ADDQ         DX, DI

#define FEW2(OP) OP(Z16, Z17, Z18, Z19); OP(Z20, Z21, Z22, Z23)
#define FEW3(OP) FEW2(OP); OP(Z24, Z25, Z26, Z27)
#define FEW4(OP) FEW3(OP); OP(Z28, Z29, Z30, Z31)

#define FEW_ADVANCE(n) \
	ADDQ n, SI;  \
	ADDQ n, R13; \
	ADDQ n, R14; \
	ADDQ n, R15

// a *fewArgs: y 0, stride 8, x 16, xStride 24, w 32, panel 40, cols 48, scale 56. AX counts the columns of a block, CX those
// after it.
#define FEW(ROWS, MUL) \
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
	LEAQ (R9)(AX*1), R10;    \
	LEAQ (R10)(AX*1), R11;   \
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
	ROWS(FEW_ZERO);          \
	SUBQ $4, AX;             \
	JLT  pair;               \
quad:                            \
	FEW_PANELS(FEW_QUAD, MUL); \
	FEW_ADVANCE($16);        \
	SUBQ $4, AX;             \
	JGE  quad;               \
pair:                            \
	TESTQ $2, AX;            \
	JZ    one;               \
	FEW_PANELS(FEW_PAIR, MUL); \
	FEW_ADVANCE($8);         \
one:                             \
	TESTQ $1, AX;            \
	JZ    sums;              \
	FEW_PANELS(FEW_ONE, MUL); \
sums:                            \
	TESTQ R12, R12;          \
	JZ    store;             \
	ROWS(FEW_SCALE);         \
	TESTQ CX, CX;            \
	JNZ   block;             \
	VZEROUPPER;              \
	RET;                     \
store:                           \
	ROWS(FEW_STORE);         \
	VZEROUPPER;              \
	RET

// func few2E4M3AVX512(a *fewArgs)
TEXT ·few2E4M3AVX512(SB), NOSPLIT, $0-8
	FEW(FEW2, MUL2)

// func few3E4M3AVX512(a *fewArgs)
TEXT ·few3E4M3AVX512(SB), NOSPLIT, $0-8
	FEW(FEW3, MUL3)

// func few4E4M3AVX512(a *fewArgs)
TEXT ·few4E4M3AVX512(SB), NOSPLIT, $0-8
	FEW(FEW4, MUL4)

// func widenE4M3AVX512(dst *float32, w *byte, cols int)
TEXT ·widenE4M3AVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ cols+16(FP), CX
	MASK
	SUBQ $2, CX
	JLT  one

pair:
	VMOVDQU    (SI), Y4
	PREFETCHT0 2048(SI)
	VPSLLW     $8, Y4, Y5
	VPSRAW     $1, Y4, Y4
	VPSRAW     $1, Y5, Y5
	VPAND      Y15, Y4, Y4
	VPAND      Y15, Y5, Y5
	VCVTPH2PS  Y5, Z6
	VCVTPH2PS  Y4, Z7
	VMOVUPS    Z6, (DI)
	VMOVUPS    Z7, 64(DI)
	ADDQ       $32, SI
	ADDQ       $128, DI
	SUBQ       $2, CX
	JGE        pair

one:
	TESTQ     $1, CX
	JZ        done
	VMOVDQU   (SI), Y5
	VPSLLW    $8, Y5, Y5
	VPSRAW    $1, Y5, Y5
	VPAND     Y15, Y5, Y5
	VCVTPH2PS Y5, Z6
	VMOVUPS   Z6, (DI)

done:
	VZEROUPPER
	RET

// func absMaxAVX512(x *float32, n int) float32
TEXT ·absMaxAVX512(SB), NOSPLIT, $0-20
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVL         $0x7FFFFFFF, AX
	VPBROADCASTD AX, Z1
	VPXORD       Z0, Z0, Z0

loop:
	// MAXPS returns its last operand (here first) when one is NaN.
	VPANDD (SI), Z1, Z2
	VMAXPS Z0, Z2, Z0
	ADDQ   $64, SI
	SUBQ   $16, CX
	JNE    loop

	VEXTRACTF64X4 $1, Z0, Y1
	VMAXPS        Y1, Y0, Y0
	VEXTRACTF128  $1, Y0, X1
	VMAXPS        X1, X0, X0
	VPERMILPS     $0x4E, X0, X1
	VMAXPS        X1, X0, X0
	VPERMILPS     $0xB1, X0, X1
	VMAXPS        X1, X0, X0
	VMOVSS        X0, ret+16(FP)
	VZEROUPPER
	RET

// func roundE4M3AVX512(dst, x *float32, n int, scale float32)
TEXT ·roundE4M3AVX512(SB), NOSPLIT, $0-28
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS scale+24(FP), Z10
	MOVL         $0x80000000, AX
	VPBROADCASTD AX, Z11
	MOVL         $0x43E00000, AX   // 448
	VPBROADCASTD AX, Z12
	MOVL         $0x7F800000, AX
	VPBROADCASTD AX, Z13
	MOVL         $0x3C800000, AX   // 2⁻⁶
	VPBROADCASTD AX, Z14
	MOVL         $0x49800000, AX   // 2²⁰
	VPBROADCASTD AX, Z15

loop:
	VMOVUPS (SI), Z0
	VDIVPS  Z10, Z0, Z0
	VPANDD  Z11, Z0, Z1   // sign
	VPANDND Z0, Z11, Z0
	VMINPS  Z0, Z12, Z0   // NaN stays
	VPANDD  Z13, Z0, Z2
	VMAXPS  Z2, Z14, Z2
	VMULPS  Z15, Z2, Z2
	VADDPS  Z2, Z0, Z0
	VSUBPS  Z2, Z0, Z0
	VPORD   Z1, Z0, Z0
	VMOVUPS Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $16, CX
	JNE     loop
	VZEROUPPER
	RET
