#include "textflag.h"

// Instructions that Go's assembler lacks.

// FMLA Vd.4S, Vn.4S, Vm.S[i], i as LANE0..LANE3.
#define LANE0 0
#define LANE1 (1<<21)
#define LANE2 (1<<11)
#define LANE3 ((1<<21)|(1<<11))
#define FMLA(i, m, n, d) WORD $(0x4F801000 | i | (m)<<16 | (n)<<5 | (d))

// FCVTL Vd.4S, Vn.4H and FCVTL2 Vd.4S, Vn.8H: the lower and the upper four halves.
#define FCVTL(n, d) WORD $(0x0E217800 | (n)<<5 | (d))
#define FCVTL2(n, d) WORD $(0x4E217800 | (n)<<5 | (d))

// Tiles: V0..V3 the 16 weights of one column, V8..V11 four columns of x of up to 4 rows, V16..V31 the sums: V16..V19 of row
// 0, V20..V23 of row 1 and so on. Rows of x are 1088 bytes (tileStride) apart.

#define ROWS1(OP) OP(0, 16, V16, V17, V18, V19, F8)
#define ROWS2(OP) ROWS1(OP); OP(1, 20, V20, V21, V22, V23, F9)
#define ROWS3(OP) ROWS2(OP); OP(2, 24, V24, V25, V26, V27, F10)
#define ROWS4(OP) ROWS3(OP); OP(3, 28, V28, V29, V30, V31, F11)

#define ZERO(r, sum, a, b, c, d, x) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define LOAD(r, sum, a, b, c, d, x) \
	VLD1 (R6), [a.S4, b.S4, c.S4, d.S4]; \
	ADD  R1, R6

#define STORE(r, sum, a, b, c, d, x) \
	VST1 [a.S4, b.S4, c.S4, d.S4], (R6); \
	ADD  R1, R6

#define SCALE(r, sum, a, b, c, d, x) \
	VLD1    (R6), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	FMOVS.P 4(R5), F8;                          \
	FMLA(LANE0, 8, sum, 0);                     \
	FMLA(LANE0, 8, sum+1, 1);                   \
	FMLA(LANE0, 8, sum+2, 2);                   \
	FMLA(LANE0, 8, sum+3, 3);                   \
	VST1    [V0.S4, V1.S4, V2.S4, V3.S4], (R6); \
	ADD     R1, R6

#define X4(r, sum, a, b, c, d, x) FMOVQ (r*1088)(R2), x
#define X1(r, sum, a, b, c, d, x) FMOVS (r*1088)(R2), x

#define FMA(lane, r, sum) \
	FMLA(lane, 8+r, 0, sum);   \
	FMLA(lane, 8+r, 1, sum+1); \
	FMLA(lane, 8+r, 2, sum+2); \
	FMLA(lane, 8+r, 3, sum+3)

#define FMA0(r, sum, a, b, c, d, x) FMA(LANE0, r, sum)
#define FMA1(r, sum, a, b, c, d, x) FMA(LANE1, r, sum)
#define FMA2(r, sum, a, b, c, d, x) FMA(LANE2, r, sum)
#define FMA3(r, sum, a, b, c, d, x) FMA(LANE3, r, sum)

#define COLUMN(ROWS, FMAS) \
	VLD1.P 64(R3), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	PRFM   (R7), PLDL2KEEP;                      \
	ADD    R8, R7;                               \
	ROWS(FMAS)

// a *tileArgs: y 0, stride 8, x 16, w 24, cols 40, scale 48, next 56, nextStep 72.
#define TILE(ROWS) \
	MOVD a+0(FP), R9;    \
	MOVD 0(R9), R0;      \
	MOVD 8(R9), R1;      \
	MOVD 16(R9), R2;     \
	MOVD 24(R9), R3;     \
	MOVD 40(R9), R4;     \
	MOVD 48(R9), R5;     \
	MOVD 56(R9), R7;     \
	MOVD 72(R9), R8;     \
	MOVD R0, R6;         \
	CBZ  R5, carry;      \
	ROWS(ZERO);          \
	B    columns;        \
carry:                       \
	ROWS(LOAD);          \
columns:                     \
	SUBS $4, R4;         \
	BLT  rest;           \
four:                        \
	ROWS(X4);            \
	COLUMN(ROWS, FMA0);  \
	COLUMN(ROWS, FMA1);  \
	COLUMN(ROWS, FMA2);  \
	COLUMN(ROWS, FMA3);  \
	ADD  $16, R2;        \
	SUBS $4, R4;         \
	BGE  four;           \
rest:                        \
	ADDS $4, R4;         \
	BEQ  sums;           \
one:                         \
	ROWS(X1);            \
	COLUMN(ROWS, FMA0);  \
	ADD  $4, R2;         \
	SUBS $1, R4;         \
	BNE  one;            \
sums:                        \
	MOVD R0, R6;         \
	CBNZ R5, scale;      \
	ROWS(STORE);         \
	RET;                 \
scale:                       \
	ROWS(SCALE);         \
	RET

// func tile1NEON(a *tileArgs)
TEXT ·tile1NEON(SB), NOSPLIT, $0-8
	TILE(ROWS1)

// func tile2NEON(a *tileArgs)
TEXT ·tile2NEON(SB), NOSPLIT, $0-8
	TILE(ROWS2)

// func tile3NEON(a *tileArgs)
TEXT ·tile3NEON(SB), NOSPLIT, $0-8
	TILE(ROWS3)

// func tile4NEON(a *tileArgs)
TEXT ·tile4NEON(SB), NOSPLIT, $0-8
	TILE(ROWS4)

// Rows: one row of x times four panels at R3..R6, or one at R3. V16..V19 are the sums of the first, V20..V23 of the second
// and so on. A step takes two columns, whose x are lanes 0 and 1 of V8; ONE takes the last of an odd number.

#define PANELS1(OP) OP(R3, 16, V16, V17, V18, V19)
#define PANELS4(OP) PANELS1(OP); OP(R4, 20, V20, V21, V22, V23); OP(R5, 24, V24, V25, V26, V27); OP(R6, 28, V28, V29, V30, V31)

#define ZEROS(w, sum, a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define STORES(w, sum, a, b, c, d) VST1.P [a.S4, b.S4, c.S4, d.S4], 64(R0)

#define FMA4(lane, sum) \
	FMLA(lane, 8, 0, sum);   \
	FMLA(lane, 8, 1, sum+1); \
	FMLA(lane, 8, 2, sum+2); \
	FMLA(lane, 8, 3, sum+3)

#define ONE_F32(w, sum, a, b, c, d) \
	VLD1.P 64(w), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	FMA4(LANE0, sum)

#define PAIR_F32(w, sum, a, b, c, d) \
	ONE_F32(w, sum, a, b, c, d);                \
	VLD1.P 64(w), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	FMA4(LANE1, sum)

// HALVES widens the 16 halves in V4, V5.
#define HALVES \
	FCVTL(4, 0);  \
	FCVTL2(4, 1); \
	FCVTL(5, 2);  \
	FCVTL2(5, 3)

#define ONE_F16(w, sum, a, b, c, d) \
	VLD1.P 32(w), [V4.H8, V5.H8]; \
	HALVES;                       \
	FMA4(LANE0, sum)

#define PAIR_F16(w, sum, a, b, c, d) \
	ONE_F16(w, sum, a, b, c, d);  \
	VLD1.P 32(w), [V4.H8, V5.H8]; \
	HALVES;                       \
	FMA4(LANE1, sum)

// A BF16 pair is one 32-bit lane: the even column low, the odd one high. V15 keeps the high half.
#define EVEN_BF16 \
	VSHL $16, V4.S4, V0.S4; \
	VSHL $16, V5.S4, V1.S4; \
	VSHL $16, V6.S4, V2.S4; \
	VSHL $16, V7.S4, V3.S4

#define ODD_BF16 \
	VAND V15.B16, V4.B16, V0.B16; \
	VAND V15.B16, V5.B16, V1.B16; \
	VAND V15.B16, V6.B16, V2.B16; \
	VAND V15.B16, V7.B16, V3.B16

#define ONE_BF16(w, sum, a, b, c, d) \
	VLD1.P 64(w), [V4.S4, V5.S4, V6.S4, V7.S4]; \
	EVEN_BF16;                                  \
	FMA4(LANE0, sum)

#define PAIR_BF16(w, sum, a, b, c, d) \
	ONE_BF16(w, sum, a, b, c, d); \
	ODD_BF16;                     \
	FMA4(LANE1, sum)

#define HIGH_HALVES \
	VMOVI $255, V15.B16; \
	VSHL  $16, V15.S4, V15.S4

// a *rowArgs: y 0, x 8, w 16, panel 24, cols 32.
#define ROW(PANELS, PAIR, ONE) \
	MOVD a+0(FP), R9;  \
	MOVD 0(R9), R0;    \
	MOVD 8(R9), R2;    \
	MOVD 16(R9), R3;   \
	MOVD 24(R9), R1;   \
	MOVD 32(R9), R7;   \
	ADD  R1, R3, R4;   \
	ADD  R1, R4, R5;   \
	ADD  R1, R5, R6;   \
	PANELS(ZEROS);     \
	SUBS $2, R7;       \
	BLT  rest;         \
pair:                      \
	FMOVD.P 8(R2), F8; \
	PANELS(PAIR);      \
	SUBS $2, R7;       \
	BGE  pair;         \
rest:                      \
	TBZ  $0, R7, sums; \
	FMOVS (R2), F8;    \
	PANELS(ONE);       \
sums:                      \
	PANELS(STORES);    \
	RET

// func rowF32x4NEON(a *rowArgs)
TEXT ·rowF32x4NEON(SB), NOSPLIT, $0-8
	ROW(PANELS4, PAIR_F32, ONE_F32)

// func rowF32x1NEON(a *rowArgs)
TEXT ·rowF32x1NEON(SB), NOSPLIT, $0-8
	ROW(PANELS1, PAIR_F32, ONE_F32)

// func rowF16x4NEON(a *rowArgs)
TEXT ·rowF16x4NEON(SB), NOSPLIT, $0-8
	ROW(PANELS4, PAIR_F16, ONE_F16)

// func rowF16x1NEON(a *rowArgs)
TEXT ·rowF16x1NEON(SB), NOSPLIT, $0-8
	ROW(PANELS1, PAIR_F16, ONE_F16)

// func rowBF16x4NEON(a *rowArgs)
TEXT ·rowBF16x4NEON(SB), NOSPLIT, $0-8
	HIGH_HALVES
	ROW(PANELS4, PAIR_BF16, ONE_BF16)

// func rowBF16x1NEON(a *rowArgs)
TEXT ·rowBF16x1NEON(SB), NOSPLIT, $0-8
	HIGH_HALVES
	ROW(PANELS1, PAIR_BF16, ONE_BF16)

// Few rows: 2 to 4 rows of x at R10..R13, two columns of each in lanes 0 and 1 of V8..V11. Two rows take two panels at R3 and
// R4, sums V16..V19 and V20..V23 of row 0, V24..V27 and V28..V31 of row 1; three and four rows take one panel, sums V16..V19
// of row 0, V20..V23 of row 1 and so on.

#define FEW_MUL(lane, x, sum) \
	FMLA(lane, x, 0, sum);   \
	FMLA(lane, x, 1, sum+1); \
	FMLA(lane, x, 2, sum+2); \
	FMLA(lane, x, 3, sum+3)

#define MUL2A(lane) FEW_MUL(lane, 8, 16); FEW_MUL(lane, 9, 24)
#define MUL2B(lane) FEW_MUL(lane, 8, 20); FEW_MUL(lane, 9, 28)
#define MUL3(lane) FEW_MUL(lane, 8, 16); FEW_MUL(lane, 9, 20); FEW_MUL(lane, 10, 24)
#define MUL4(lane) MUL3(lane); FEW_MUL(lane, 11, 28)

#define FEW_PANELS2(OP) OP(MUL2A, R3); OP(MUL2B, R4)
#define FEW_PANELS3(OP) OP(MUL3, R3)
#define FEW_PANELS4(OP) OP(MUL4, R3)

#define FEW_X2 FMOVD.P 8(R10), F8; FMOVD.P 8(R11), F9
#define FEW_X3 FEW_X2; FMOVD.P 8(R12), F10
#define FEW_X4 FEW_X3; FMOVD.P 8(R13), F11

#define FEW_LAST2 FMOVS (R10), F8; FMOVS (R11), F9
#define FEW_LAST3 FEW_LAST2; FMOVS (R12), F10
#define FEW_LAST4 FEW_LAST3; FMOVS (R13), F11

#define FEW_ZERO(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define FEW_ZEROS \
	FEW_ZERO(V16, V17, V18, V19); \
	FEW_ZERO(V20, V21, V22, V23); \
	FEW_ZERO(V24, V25, V26, V27); \
	FEW_ZERO(V28, V29, V30, V31)

// Rows of y start at R9; R14 is a panel's place in one of them.
#define FEW_NEXT_ROW \
	ADD  R1, R9; \
	MOVD R9, R14

#define FEW_STORE(a, b, c, d) VST1.P [a.S4, b.S4, c.S4, d.S4], 64(R14)

#define FEW_STORE2 \
	FEW_STORE(V16, V17, V18, V19); \
	FEW_STORE(V20, V21, V22, V23); \
	FEW_NEXT_ROW;                  \
	FEW_STORE(V24, V25, V26, V27); \
	FEW_STORE(V28, V29, V30, V31)

#define FEW_STORE3 \
	FEW_STORE(V16, V17, V18, V19); \
	FEW_NEXT_ROW;                  \
	FEW_STORE(V20, V21, V22, V23); \
	FEW_NEXT_ROW;                  \
	FEW_STORE(V24, V25, V26, V27)

#define FEW_STORE4 \
	FEW_STORE3;   \
	FEW_NEXT_ROW; \
	FEW_STORE(V28, V29, V30, V31)

#define FEW_ONE(MUL, w) \
	VLD1.P 64(w), [V4.S4, V5.S4, V6.S4, V7.S4]; \
	EVEN_BF16;                                  \
	MUL(LANE0)

#define FEW_PAIR(MUL, w) \
	FEW_ONE(MUL, w); \
	ODD_BF16;        \
	MUL(LANE1)

#define FEW_ARGS \
	MOVD a+0(FP), R9;   \
	MOVD 0(R9), R0;     \
	MOVD 8(R9), R1;     \
	MOVD 16(R9), R10;   \
	MOVD 24(R9), R2;    \
	MOVD 32(R9), R3;    \
	MOVD 40(R9), R4;    \
	MOVD 48(R9), R7;    \
	MOVD 56(R9), R8;    \
	ADD  R3, R4;        \
	ADD  R2, R10, R11;  \
	ADD  R2, R11, R12;  \
	ADD  R2, R12, R13

// a *fewArgs: y 0, stride 8, x 16, xStride 24, w 32, panel 40, cols 48.
#define FEW(PANELS, X, LAST, STORE) \
	FEW_ARGS;            \
	HIGH_HALVES;         \
	MOVD R0, R9;         \
	MOVD R0, R14;        \
	FEW_ZEROS;           \
	SUBS $2, R7;         \
	BLT  rest;           \
pair:                        \
	X;                   \
	PANELS(FEW_PAIR);    \
	SUBS $2, R7;         \
	BGE  pair;           \
rest:                        \
	TBZ  $0, R7, sums;   \
	LAST;                \
	PANELS(FEW_ONE);     \
sums:                        \
	STORE;               \
	RET

// func few2BF16NEON(a *fewArgs)
TEXT ·few2BF16NEON(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS2, FEW_X2, FEW_LAST2, FEW_STORE2)

// func few3BF16NEON(a *fewArgs)
TEXT ·few3BF16NEON(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS3, FEW_X3, FEW_LAST3, FEW_STORE3)

// func few4BF16NEON(a *fewArgs)
TEXT ·few4BF16NEON(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS4, FEW_X4, FEW_LAST4, FEW_STORE4)

// func widenBF16NEON(dst *float32, w *byte, cols int)
TEXT ·widenBF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD w+8(FP), R1
	MOVD cols+16(FP), R2
	HIGH_HALVES
	SUBS $2, R2
	BLT  one

pair:
	VLD1.P 64(R1), [V4.S4, V5.S4, V6.S4, V7.S4]
	EVEN_BF16
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	ODD_BF16
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS   $2, R2
	BGE    pair

one:
	TBZ    $0, R2, done
	VLD1.P 64(R1), [V4.S4, V5.S4, V6.S4, V7.S4]
	EVEN_BF16
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)

done:
	RET

// func widenF16NEON(dst *float32, w *byte, cols int)
TEXT ·widenF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD w+8(FP), R1
	MOVD cols+16(FP), R2

column:
	VLD1.P 32(R1), [V4.H8, V5.H8]
	HALVES
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS   $1, R2
	BNE    column
	RET
