#include "textflag.h"

// Tiles: Y0, Y1 the 16 weights of one column, Y4..Y15 the sums of up to 6 rows. Rows of x are 1088 bytes (tileStride)
// apart. A row's sums are (Y4, Y5) for row 0, (Y6, Y7) for row 1 and so on.

#define ROWS1(OP) OP(0, Y4, Y5)
#define ROWS2(OP) ROWS1(OP); OP(1, Y6, Y7)
#define ROWS3(OP) ROWS2(OP); OP(2, Y8, Y9)
#define ROWS4(OP) ROWS3(OP); OP(3, Y10, Y11)
#define ROWS5(OP) ROWS4(OP); OP(4, Y12, Y13)
#define ROWS6(OP) ROWS5(OP); OP(5, Y14, Y15)

#define ZERO(r, a, b) \
	VXORPS a, a, a; \
	VXORPS b, b, b

#define LOAD(r, a, b) \
	VMOVUPS (BX), a;   \
	VMOVUPS 32(BX), b; \
	ADDQ    DX, BX

#define FMA(r, a, b) \
	VBROADCASTSS (r*1088)(SI), Y2; \
	VFMADD231PS  Y2, Y0, a;        \
	VFMADD231PS  Y2, Y1, b

#define STORE(r, a, b) \
	VMOVUPS a, (BX);   \
	VMOVUPS b, 32(BX); \
	ADDQ    DX, BX

#define SCALE(r, a, b) \
	VBROADCASTSS (r*4)(R10), Y2; \
	VMOVUPS      (BX), Y0;       \
	VMOVUPS      32(BX), Y1;     \
	VFMADD231PS  Y2, a, Y0;      \
	VFMADD231PS  Y2, b, Y1;      \
	VMOVUPS      Y0, (BX);       \
	VMOVUPS      Y1, 32(BX);     \
	ADDQ         DX, BX

// a *tileArgs: y 0, stride 8, x 16, w 24, cols 40, scale 48, next 56, nextPanel 64, nextStep 72.
#define TILE(ROWS) \
	MOVQ  a+0(FP), AX;      \
	MOVQ  0(AX), BX;        \
	MOVQ  8(AX), DX;        \
	MOVQ  16(AX), SI;       \
	MOVQ  24(AX), DI;       \
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
	VMOVUPS (DI), Y0;       \
	VMOVUPS 32(DI), Y1;     \
	PREFETCHT1 (R12);       \
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

// func tile1AVX2(a *tileArgs)
TEXT ·tile1AVX2(SB), NOSPLIT, $0-8
	TILE(ROWS1)

// func tile2AVX2(a *tileArgs)
TEXT ·tile2AVX2(SB), NOSPLIT, $0-8
	TILE(ROWS2)

// func tile3AVX2(a *tileArgs)
TEXT ·tile3AVX2(SB), NOSPLIT, $0-8
	TILE(ROWS3)

// func tile4AVX2(a *tileArgs)
TEXT ·tile4AVX2(SB), NOSPLIT, $0-8
	TILE(ROWS4)

// func tile5AVX2(a *tileArgs)
TEXT ·tile5AVX2(SB), NOSPLIT, $0-8
	TILE(ROWS5)

// func tile6AVX2(a *tileArgs)
TEXT ·tile6AVX2(SB), NOSPLIT, $0-8
	TILE(ROWS6)

// Rows: one row of x times four panels at R8, R9, R10, R11, or one at R8. Y8..Y15 are the sums, two per panel. A step takes
// two columns, whose x are broadcast in Y0 and Y1; ONE takes the last of an odd number.

#define ROW_ARGS \
	MOVQ a+0(FP), AX; \
	MOVQ 0(AX), BX;   \
	MOVQ 8(AX), SI;   \
	MOVQ 16(AX), R8;  \
	MOVQ 24(AX), DX;  \
	MOVQ 32(AX), CX

#define PANELS4 \
	LEAQ (R8)(DX*1), R9;  \
	LEAQ (R9)(DX*1), R10; \
	LEAQ (R10)(DX*1), R11

#define PAIR_F32(w, a, b) \
	PREFETCHT0  2048(w);      \
	PREFETCHT0  2112(w);      \
	VFMADD231PS (w), Y0, a;   \
	VFMADD231PS 32(w), Y0, b; \
	VFMADD231PS 64(w), Y1, a; \
	VFMADD231PS 96(w), Y1, b; \
	ADDQ        $128, w

#define ONE_F32(w, a, b) \
	VFMADD231PS (w), Y0, a;   \
	VFMADD231PS 32(w), Y0, b

#define PAIR_F16(w, a, b) \
	PREFETCHT0  2048(w);   \
	VCVTPH2PS   (w), Y2;   \
	VCVTPH2PS   16(w), Y3; \
	VCVTPH2PS   32(w), Y4; \
	VCVTPH2PS   48(w), Y5; \
	VFMADD231PS Y2, Y0, a; \
	VFMADD231PS Y3, Y0, b; \
	VFMADD231PS Y4, Y1, a; \
	VFMADD231PS Y5, Y1, b; \
	ADDQ        $64, w

#define ONE_F16(w, a, b) \
	VCVTPH2PS   (w), Y2;   \
	VCVTPH2PS   16(w), Y3; \
	VFMADD231PS Y2, Y0, a; \
	VFMADD231PS Y3, Y0, b

// A BF16 pair is one 32-bit lane: the even column low, the odd one high. Y7 keeps the high half.
#define PAIR_BF16(w, a, b) \
	VMOVDQU     (w), Y2;      \
	VMOVDQU     32(w), Y3;    \
	PREFETCHT0  2048(w);      \
	VPSLLD      $16, Y2, Y4;  \
	VPSLLD      $16, Y3, Y5;  \
	VPAND       Y7, Y2, Y2;   \
	VPAND       Y7, Y3, Y3;   \
	VFMADD231PS Y4, Y0, a;    \
	VFMADD231PS Y5, Y0, b;    \
	VFMADD231PS Y2, Y1, a;    \
	VFMADD231PS Y3, Y1, b;    \
	ADDQ        $64, w

#define ONE_BF16(w, a, b) \
	VMOVDQU     (w), Y2;      \
	VMOVDQU     32(w), Y3;    \
	VPSLLD      $16, Y2, Y2;  \
	VPSLLD      $16, Y3, Y3;  \
	VFMADD231PS Y2, Y0, a;    \
	VFMADD231PS Y3, Y0, b

#define ROW4(PAIR, ONE) \
	ROW_ARGS;                  \
	PANELS4;                   \
	VXORPS Y8, Y8, Y8;         \
	VXORPS Y9, Y9, Y9;         \
	VXORPS Y10, Y10, Y10;      \
	VXORPS Y11, Y11, Y11;      \
	VXORPS Y12, Y12, Y12;      \
	VXORPS Y13, Y13, Y13;      \
	VXORPS Y14, Y14, Y14;      \
	VXORPS Y15, Y15, Y15;      \
	SUBQ   $2, CX;             \
	JLT    one;                \
pair:                          \
	VBROADCASTSS (SI), Y0;     \
	VBROADCASTSS 4(SI), Y1;    \
	PAIR(R8, Y8, Y9);          \
	PAIR(R9, Y10, Y11);        \
	PAIR(R10, Y12, Y13);       \
	PAIR(R11, Y14, Y15);       \
	ADDQ $8, SI;               \
	SUBQ $2, CX;               \
	JGE  pair;                 \
one:                           \
	TESTQ $1, CX;              \
	JZ    store;               \
	VBROADCASTSS (SI), Y0;     \
	ONE(R8, Y8, Y9);           \
	ONE(R9, Y10, Y11);         \
	ONE(R10, Y12, Y13);        \
	ONE(R11, Y14, Y15);        \
store:                         \
	VMOVUPS Y8, (BX);          \
	VMOVUPS Y9, 32(BX);        \
	VMOVUPS Y10, 64(BX);       \
	VMOVUPS Y11, 96(BX);       \
	VMOVUPS Y12, 128(BX);      \
	VMOVUPS Y13, 160(BX);      \
	VMOVUPS Y14, 192(BX);      \
	VMOVUPS Y15, 224(BX);      \
	VZEROUPPER;                \
	RET

#define ROW1(PAIR, ONE) \
	ROW_ARGS;                  \
	VXORPS Y8, Y8, Y8;         \
	VXORPS Y9, Y9, Y9;         \
	SUBQ   $2, CX;             \
	JLT    one;                \
pair:                          \
	VBROADCASTSS (SI), Y0;     \
	VBROADCASTSS 4(SI), Y1;    \
	PAIR(R8, Y8, Y9);          \
	ADDQ $8, SI;               \
	SUBQ $2, CX;               \
	JGE  pair;                 \
one:                           \
	TESTQ $1, CX;              \
	JZ    store;               \
	VBROADCASTSS (SI), Y0;     \
	ONE(R8, Y8, Y9);           \
store:                         \
	VMOVUPS Y8, (BX);          \
	VMOVUPS Y9, 32(BX);        \
	VZEROUPPER;                \
	RET

#define HIGH_HALVES \
	VPCMPEQD Y7, Y7, Y7; \
	VPSLLD   $16, Y7, Y7

// func rowF32x4AVX2(a *rowArgs)
TEXT ·rowF32x4AVX2(SB), NOSPLIT, $0-8
	ROW4(PAIR_F32, ONE_F32)

// func rowF32x1AVX2(a *rowArgs)
TEXT ·rowF32x1AVX2(SB), NOSPLIT, $0-8
	ROW1(PAIR_F32, ONE_F32)

// func rowF16x4AVX2(a *rowArgs)
TEXT ·rowF16x4AVX2(SB), NOSPLIT, $0-8
	ROW4(PAIR_F16, ONE_F16)

// func rowF16x1AVX2(a *rowArgs)
TEXT ·rowF16x1AVX2(SB), NOSPLIT, $0-8
	ROW1(PAIR_F16, ONE_F16)

// func rowBF16x4AVX2(a *rowArgs)
TEXT ·rowBF16x4AVX2(SB), NOSPLIT, $0-8
	HIGH_HALVES
	ROW4(PAIR_BF16, ONE_BF16)

// func rowBF16x1AVX2(a *rowArgs)
TEXT ·rowBF16x1AVX2(SB), NOSPLIT, $0-8
	HIGH_HALVES
	ROW1(PAIR_BF16, ONE_BF16)

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
	VMOVDQU    (w), Y2;       \
	VMOVDQU    32(w), Y3;     \
	PREFETCHT0 2048(w);       \
	VPSLLD     $16, Y2, Y4;   \
	VPSLLD     $16, Y3, Y5;   \
	VPAND      Y7, Y2, Y2;    \
	VPAND      Y7, Y3, Y3;    \
	MUL(0, Y4, Y5, Y0, s0, s1, s2, s3, s4, s5, s6, s7); \
	MUL(4, Y2, Y3, Y1, s0, s1, s2, s3, s4, s5, s6, s7); \
	ADDQ       $64, w

#define FEW_ONE(MUL, w, s0, s1, s2, s3, s4, s5, s6, s7) \
	VMOVDQU (w), Y4;      \
	VMOVDQU 32(w), Y5;    \
	VPSLLD  $16, Y4, Y4;  \
	VPSLLD  $16, Y5, Y5;  \
	MUL(0, Y4, Y5, Y0, s0, s1, s2, s3, s4, s5, s6, s7)

#define FEW_STORE(a, b) \
	VMOVUPS a, (BX);   \
	VMOVUPS b, 32(BX); \
	ADDQ    DX, BX

#define FEW_STORE2 \
	VMOVUPS Y8, (BX);    \
	VMOVUPS Y9, 32(BX);  \
	VMOVUPS Y10, 64(BX); \
	VMOVUPS Y11, 96(BX); \
	ADDQ    DX, BX;      \
	VMOVUPS Y12, (BX);   \
	VMOVUPS Y13, 32(BX); \
	VMOVUPS Y14, 64(BX); \
	VMOVUPS Y15, 96(BX)

#define FEW_STORE3 FEW_STORE(Y8, Y9); FEW_STORE(Y10, Y11); FEW_STORE(Y12, Y13)
#define FEW_STORE4 FEW_STORE3; FEW_STORE(Y14, Y15)

// a *fewArgs: y 0, stride 8, x 16, xStride 24, w 32, panel 40, cols 48.
#define FEW(PANELS, STORE) \
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
	HIGH_HALVES;             \
	VXORPS Y8, Y8, Y8;       \
	VXORPS Y9, Y9, Y9;       \
	VXORPS Y10, Y10, Y10;    \
	VXORPS Y11, Y11, Y11;    \
	VXORPS Y12, Y12, Y12;    \
	VXORPS Y13, Y13, Y13;    \
	VXORPS Y14, Y14, Y14;    \
	VXORPS Y15, Y15, Y15;    \
	SUBQ $2, CX;             \
	JLT  one;                \
pair:                            \
	PANELS(FEW_PAIR);        \
	ADDQ $8, SI;             \
	ADDQ $8, R13;            \
	ADDQ $8, R14;            \
	ADDQ $8, R15;            \
	SUBQ $2, CX;             \
	JGE  pair;               \
one:                             \
	TESTQ $1, CX;            \
	JZ    store;             \
	PANELS(FEW_ONE);         \
store:                           \
	STORE;                   \
	VZEROUPPER;              \
	RET

// func few2BF16AVX2(a *fewArgs)
TEXT ·few2BF16AVX2(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS2, FEW_STORE2)

// func few3BF16AVX2(a *fewArgs)
TEXT ·few3BF16AVX2(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS3, FEW_STORE3)

// func few4BF16AVX2(a *fewArgs)
TEXT ·few4BF16AVX2(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS4, FEW_STORE4)

// func widenBF16AVX2(dst *float32, w *byte, cols int)
TEXT ·widenBF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ cols+16(FP), CX
	HIGH_HALVES
	SUBQ $2, CX
	JLT  one

pair:
	VMOVDQU    (SI), Y0
	VMOVDQU    32(SI), Y1
	PREFETCHT0 2048(SI)
	VPSLLD     $16, Y0, Y2
	VPSLLD     $16, Y1, Y3
	VPAND      Y7, Y0, Y0
	VPAND      Y7, Y1, Y1
	VMOVUPS    Y2, (DI)
	VMOVUPS    Y3, 32(DI)
	VMOVUPS    Y0, 64(DI)
	VMOVUPS    Y1, 96(DI)
	ADDQ       $64, SI
	ADDQ       $128, DI
	SUBQ       $2, CX
	JGE        pair

one:
	TESTQ   $1, CX
	JZ      done
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPSLLD  $16, Y0, Y0
	VPSLLD  $16, Y1, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)

done:
	VZEROUPPER
	RET

// func widenF16AVX2(dst *float32, w *byte, cols int)
TEXT ·widenF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ cols+16(FP), CX

column:
	VCVTPH2PS (SI), Y0
	VCVTPH2PS 16(SI), Y1
	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	DECQ      CX
	JNZ       column
	VZEROUPPER
	RET
