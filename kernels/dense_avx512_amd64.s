#include "textflag.h"

// Tiles: Z0, Z1 the weights of one column in two panels, Z8..Z31 the sums of up to 12 rows. Rows of x are 1088 bytes
// (tileStride) apart. A row's sums are (Z8, Z9) for row 0, (Z10, Z11) for row 1 and so on.

#define ROWS1(OP) OP(0, Z8, Z9)
#define ROWS2(OP) ROWS1(OP); OP(1, Z10, Z11)
#define ROWS3(OP) ROWS2(OP); OP(2, Z12, Z13)
#define ROWS4(OP) ROWS3(OP); OP(3, Z14, Z15)
#define ROWS5(OP) ROWS4(OP); OP(4, Z16, Z17)
#define ROWS6(OP) ROWS5(OP); OP(5, Z18, Z19)
#define ROWS7(OP) ROWS6(OP); OP(6, Z20, Z21)
#define ROWS8(OP) ROWS7(OP); OP(7, Z22, Z23)
#define ROWS9(OP) ROWS8(OP); OP(8, Z24, Z25)
#define ROWS10(OP) ROWS9(OP); OP(9, Z26, Z27)
#define ROWS11(OP) ROWS10(OP); OP(10, Z28, Z29)
#define ROWS12(OP) ROWS11(OP); OP(11, Z30, Z31)

#define ZERO(r, a, b) \
	VPXORD a, a, a; \
	VPXORD b, b, b

#define LOAD(r, a, b) \
	VMOVUPS (BX), a;   \
	VMOVUPS 64(BX), b; \
	ADDQ    DX, BX

#define FMA(r, a, b) \
	VBROADCASTSS (r*1088)(SI), Z2; \
	VFMADD231PS  Z2, Z0, a;        \
	VFMADD231PS  Z2, Z1, b

#define STORE(r, a, b) \
	VMOVUPS a, (BX);   \
	VMOVUPS b, 64(BX); \
	ADDQ    DX, BX

#define SCALE(r, a, b) \
	VBROADCASTSS (r*4)(R10), Z2; \
	VMOVUPS      (BX), Z3;       \
	VMOVUPS      64(BX), Z4;     \
	VFMADD231PS  Z2, a, Z3;      \
	VFMADD231PS  Z2, b, Z4;      \
	VMOVUPS      Z3, (BX);       \
	VMOVUPS      Z4, 64(BX);     \
	ADDQ         DX, BX

// a *tileArgs: y 0, stride 8, x 16, w 24, second 32, cols 40, scale 48, next 56, nextPanel 64, nextStep 72.
#define TILE(ROWS) \
	MOVQ  a+0(FP), AX;      \
	MOVQ  0(AX), BX;        \
	MOVQ  8(AX), DX;        \
	MOVQ  16(AX), SI;       \
	MOVQ  24(AX), DI;       \
	MOVQ  32(AX), R9;       \
	MOVQ  40(AX), CX;       \
	MOVQ  48(AX), R10;      \
	MOVQ  56(AX), R12;      \
	MOVQ  64(AX), R13;      \
	MOVQ  72(AX), R8;       \
	MOVQ  BX, R11;          \
	TESTQ R10, R10;         \
	JZ    carry;            \
	ROWS(ZERO);             \
	JMP   column;           \
carry:                      \
	ROWS(LOAD);             \
column:                     \
	VMOVUPS (DI), Z0;       \
	VMOVUPS (DI)(R9*1), Z1; \
	PREFETCHT1 (R12);       \
	PREFETCHT1 (R12)(R13*1); \
	ADDQ  R8, R12;          \
	ROWS(FMA);              \
	ADDQ  $64, DI;          \
	ADDQ  $4, SI;           \
	DECQ  CX;               \
	JNZ   column;           \
	MOVQ  R11, BX;          \
	TESTQ R10, R10;         \
	JNZ   scale;            \
	ROWS(STORE);            \
	VZEROUPPER;             \
	RET;                    \
scale:                      \
	ROWS(SCALE);            \
	VZEROUPPER;             \
	RET

// func tile1AVX512(a *tileArgs)
TEXT ·tile1AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS1)

// func tile2AVX512(a *tileArgs)
TEXT ·tile2AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS2)

// func tile3AVX512(a *tileArgs)
TEXT ·tile3AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS3)

// func tile4AVX512(a *tileArgs)
TEXT ·tile4AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS4)

// func tile5AVX512(a *tileArgs)
TEXT ·tile5AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS5)

// func tile6AVX512(a *tileArgs)
TEXT ·tile6AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS6)

// func tile7AVX512(a *tileArgs)
TEXT ·tile7AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS7)

// func tile8AVX512(a *tileArgs)
TEXT ·tile8AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS8)

// func tile9AVX512(a *tileArgs)
TEXT ·tile9AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS9)

// func tile10AVX512(a *tileArgs)
TEXT ·tile10AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS10)

// func tile11AVX512(a *tileArgs)
TEXT ·tile11AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS11)

// func tile12AVX512(a *tileArgs)
TEXT ·tile12AVX512(SB), NOSPLIT, $0-8
	TILE(ROWS12)

// Rows: one row of x times four panels at R8, R9, R10, R11, or one at R8. Z16..Z19 are the sums. A step takes two columns,
// whose x are broadcast in Z0 and Z1; ONE takes the last of an odd number.

#define ROW_ARGS \
	MOVQ a+0(FP), AX; \
	MOVQ 0(AX), BX;   \
	MOVQ 8(AX), SI;   \
	MOVQ 16(AX), R8;  \
	MOVQ 24(AX), DX;  \
	MOVQ 32(AX), CX;  \
	MOVQ 40(AX), R12

#define PANELS4 \
	LEAQ (R8)(DX*1), R9;  \
	LEAQ (R9)(DX*1), R10; \
	LEAQ (R10)(DX*1), R11

#define PAIR_F32(w, sum) \
	PREFETCHT0  2048(w);        \
	PREFETCHT0  2112(w);        \
	VFMADD231PS (w), Z0, sum;   \
	VFMADD231PS 64(w), Z1, sum; \
	ADDQ        $128, w

#define ONE_F32(w, sum) \
	VFMADD231PS (w), Z0, sum

#define PAIR_F16(w, sum) \
	PREFETCHT0  2048(w);      \
	VCVTPH2PS   (w), Z4;      \
	VCVTPH2PS   32(w), Z5;    \
	VFMADD231PS Z4, Z0, sum;  \
	VFMADD231PS Z5, Z1, sum;  \
	ADDQ        $64, w

#define ONE_F16(w, sum) \
	VCVTPH2PS   (w), Z4;     \
	VFMADD231PS Z4, Z0, sum

// A BF16 pair is one 32-bit lane: the even column low, the odd one high. Z15 keeps the high half.
#define PAIR_BF16(w, sum) \
	VMOVDQU32   (w), Z4;      \
	PREFETCHT0  2048(w);      \
	VPSLLD      $16, Z4, Z5;  \
	VPANDD      Z15, Z4, Z4;  \
	VFMADD231PS Z5, Z0, sum;  \
	VFMADD231PS Z4, Z1, sum;  \
	ADDQ        $64, w

#define ONE_BF16(w, sum) \
	VPSLLD      $16, (w), Z5; \
	VFMADD231PS Z5, Z0, sum

#define ROW4(PAIR, ONE) \
	ROW_ARGS;                  \
	PANELS4;                   \
	VPXORD Z16, Z16, Z16;      \
	VPXORD Z17, Z17, Z17;      \
	VPXORD Z18, Z18, Z18;      \
	VPXORD Z19, Z19, Z19;      \
	SUBQ   $2, CX;             \
	JLT    one;                \
pair:                          \
	VBROADCASTSS (SI), Z0;     \
	VBROADCASTSS 4(SI), Z1;    \
	PAIR(R8, Z16);             \
	PAIR(R9, Z17);             \
	PAIR(R10, Z18);            \
	PAIR(R11, Z19);            \
	ADDQ $8, SI;               \
	SUBQ $2, CX;               \
	JGE  pair;                 \
one:                           \
	TESTQ $1, CX;              \
	JZ    store;               \
	VBROADCASTSS (SI), Z0;     \
	ONE(R8, Z16);              \
	ONE(R9, Z17);              \
	ONE(R10, Z18);             \
	ONE(R11, Z19);             \
store:                         \
	VMOVUPS Z16, (BX);         \
	VMOVUPS Z17, 64(BX);       \
	VMOVUPS Z18, 128(BX);      \
	VMOVUPS Z19, 192(BX);      \
	VZEROUPPER;                \
	RET

#define ROW1(PAIR, ONE) \
	ROW_ARGS;                  \
	VPXORD Z16, Z16, Z16;      \
	SUBQ   $2, CX;             \
	JLT    one;                \
pair:                          \
	VBROADCASTSS (SI), Z0;     \
	VBROADCASTSS 4(SI), Z1;    \
	PAIR(R8, Z16);             \
	ADDQ $8, SI;               \
	SUBQ $2, CX;               \
	JGE  pair;                 \
one:                           \
	TESTQ $1, CX;              \
	JZ    store;               \
	VBROADCASTSS (SI), Z0;     \
	ONE(R8, Z16);              \
store:                         \
	VMOVUPS Z16, (BX);         \
	VZEROUPPER;                \
	RET

// func rowF32x4AVX512(a *rowArgs)
TEXT ·rowF32x4AVX512(SB), NOSPLIT, $0-8
	ROW4(PAIR_F32, ONE_F32)

// func rowF32x1AVX512(a *rowArgs)
TEXT ·rowF32x1AVX512(SB), NOSPLIT, $0-8
	ROW1(PAIR_F32, ONE_F32)

// func rowF16x4AVX512(a *rowArgs)
TEXT ·rowF16x4AVX512(SB), NOSPLIT, $0-8
	ROW4(PAIR_F16, ONE_F16)

// func rowF16x1AVX512(a *rowArgs)
TEXT ·rowF16x1AVX512(SB), NOSPLIT, $0-8
	ROW1(PAIR_F16, ONE_F16)

// func rowBF16x4AVX512(a *rowArgs)
TEXT ·rowBF16x4AVX512(SB), NOSPLIT, $0-8
	VPTERNLOGD $255, Z15, Z15, Z15
	VPSLLD     $16, Z15, Z15
	ROW4(PAIR_BF16, ONE_BF16)

// func rowBF16x1AVX512(a *rowArgs)
TEXT ·rowBF16x1AVX512(SB), NOSPLIT, $0-8
	VPTERNLOGD $255, Z15, Z15, Z15
	VPSLLD     $16, Z15, Z15
	ROW1(PAIR_BF16, ONE_BF16)

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

#define FEW_PAIR(MUL, w, s0, s1, s2, s3) \
	VMOVDQU32  (w), Z4;          \
	PREFETCHT0 2048(w);          \
	VPSLLD     $16, Z4, Z5;      \
	VPANDD     Z15, Z4, Z4;      \
	MUL(0, Z5, s0, s1, s2, s3);  \
	MUL(4, Z4, s0, s1, s2, s3);  \
	ADDQ       $64, w

#define FEW_ONE(MUL, w, s0, s1, s2, s3) \
	VPSLLD $16, (w), Z5; \
	MUL(0, Z5, s0, s1, s2, s3)

#define FEW_PANELS(OP, MUL) \
	OP(MUL, R8, Z16, Z20, Z24, Z28);  \
	OP(MUL, R9, Z17, Z21, Z25, Z29);  \
	OP(MUL, R10, Z18, Z22, Z26, Z30); \
	OP(MUL, R11, Z19, Z23, Z27, Z31)

#define FEW_STORE(a, b, c, d) \
	VMOVUPS a, (BX);    \
	VMOVUPS b, 64(BX);  \
	VMOVUPS c, 128(BX); \
	VMOVUPS d, 192(BX); \
	ADDQ    DX, BX

#define FEW_ZERO(a, b, c, d) \
	VPXORD a, a, a; \
	VPXORD b, b, b; \
	VPXORD c, c, c; \
	VPXORD d, d, d

#define FEW2(OP) OP(Z16, Z17, Z18, Z19); OP(Z20, Z21, Z22, Z23)
#define FEW3(OP) FEW2(OP); OP(Z24, Z25, Z26, Z27)
#define FEW4(OP) FEW3(OP); OP(Z28, Z29, Z30, Z31)

// a *fewArgs: y 0, stride 8, x 16, xStride 24, w 32, panel 40, cols 48.
#define FEW(ROWS, MUL) \
	MOVQ a+0(FP), AX;        \
	MOVQ 0(AX), BX;          \
	MOVQ 8(AX), DX;          \
	MOVQ 16(AX), SI;         \
	MOVQ 24(AX), DI;         \
	MOVQ 32(AX), R8;         \
	MOVQ 48(AX), CX;         \
	MOVQ 40(AX), AX;         \
	LEAQ (SI)(DI*1), R13;    \
	LEAQ (R13)(DI*1), R14;   \
	LEAQ (R14)(DI*1), R15;   \
	LEAQ (R8)(AX*1), R9;     \
	LEAQ (R9)(AX*1), R10;    \
	LEAQ (R10)(AX*1), R11;   \
	VPTERNLOGD $255, Z15, Z15, Z15; \
	VPSLLD     $16, Z15, Z15;       \
	ROWS(FEW_ZERO);          \
	SUBQ $2, CX;             \
	JLT  one;                \
pair:                            \
	FEW_PANELS(FEW_PAIR, MUL); \
	ADDQ $8, SI;             \
	ADDQ $8, R13;            \
	ADDQ $8, R14;            \
	ADDQ $8, R15;            \
	SUBQ $2, CX;             \
	JGE  pair;               \
one:                             \
	TESTQ $1, CX;            \
	JZ    store;             \
	FEW_PANELS(FEW_ONE, MUL); \
store:                           \
	ROWS(FEW_STORE);         \
	VZEROUPPER;              \
	RET

// func few2BF16AVX512(a *fewArgs)
TEXT ·few2BF16AVX512(SB), NOSPLIT, $0-8
	FEW(FEW2, MUL2)

// func few3BF16AVX512(a *fewArgs)
TEXT ·few3BF16AVX512(SB), NOSPLIT, $0-8
	FEW(FEW3, MUL3)

// func few4BF16AVX512(a *fewArgs)
TEXT ·few4BF16AVX512(SB), NOSPLIT, $0-8
	FEW(FEW4, MUL4)

// func widenBF16AVX512(dst *float32, w *byte, cols int)
TEXT ·widenBF16AVX512(SB), NOSPLIT, $0-24
	MOVQ       dst+0(FP), DI
	MOVQ       w+8(FP), SI
	MOVQ       cols+16(FP), CX
	VPTERNLOGD $255, Z15, Z15, Z15
	VPSLLD     $16, Z15, Z15
	SUBQ       $2, CX
	JLT        one

pair:
	VMOVDQU32  (SI), Z0
	PREFETCHT0 2048(SI)
	VPSLLD     $16, Z0, Z1
	VPANDD     Z15, Z0, Z0
	VMOVUPS    Z1, (DI)
	VMOVUPS    Z0, 64(DI)
	ADDQ       $64, SI
	ADDQ       $128, DI
	SUBQ       $2, CX
	JGE        pair

one:
	TESTQ   $1, CX
	JZ      done
	VPSLLD  $16, (SI), Z1
	VMOVUPS Z1, (DI)

done:
	VZEROUPPER
	RET

// func widenF16AVX512(dst *float32, w *byte, cols int)
TEXT ·widenF16AVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ cols+16(FP), CX

column:
	VCVTPH2PS (SI), Z0
	VMOVUPS   Z0, (DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	DECQ      CX
	JNZ       column
	VZEROUPPER
	RET
