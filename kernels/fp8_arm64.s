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

// SSHR Vd.8H, Vn.8H, #1
#define SSHR1(n, d) WORD $(0x4F1F0400 | (n)<<5 | (d))

// An E4M3 code in the bits of an IEEE half, the sign at bit 15 and the seven others at bits 13..7, is its value divided by
// 256, subnormals included. A pair of columns is one 16-bit lane, the even one low: a shift left by 8 brings it to the high
// byte, an arithmetic shift right by 1 puts the seven bits in place and copies the sign to bit 14, and V15 (0xBF80 in every
// word) clears that copy and the other column.

#define MASK \
	MOVD $0xBF80, R9; \
	VDUP R9, V15.H8

#define HALVES \
	VAND V15.B16, V4.B16, V4.B16; \
	VAND V15.B16, V5.B16, V5.B16; \
	FCVTL(4, 0);                  \
	FCVTL2(4, 1);                 \
	FCVTL(5, 2);                  \
	FCVTL2(5, 3)

// EVEN and ODD widen one column of the pairs in V6, V7 to V0..V3.
#define EVEN \
	VSHL $8, V6.H8, V4.H8; \
	VSHL $8, V7.H8, V5.H8; \
	SSHR1(4, 4);           \
	SSHR1(5, 5);           \
	HALVES

#define ODD \
	SSHR1(6, 4); \
	SSHR1(7, 5); \
	HALVES

#define FMA4(lane, sum) \
	FMLA(lane, 8, 0, sum);   \
	FMLA(lane, 8, 1, sum+1); \
	FMLA(lane, 8, 2, sum+2); \
	FMLA(lane, 8, 3, sum+3)

// Panels at R3..R6, their sums in V16..V19, V20..V23 and so on; x in lanes 0 and 1 of V8.

#define PANELS1(OP) OP(R3, 16, V16, V17, V18, V19)
#define PANELS4(OP) PANELS1(OP); OP(R4, 20, V20, V21, V22, V23); OP(R5, 24, V24, V25, V26, V27); OP(R6, 28, V28, V29, V30, V31)

#define ONE(w, sum, a, b, c, d) \
	VLD1.P 32(w), [V6.H8, V7.H8]; \
	EVEN;                         \
	FMA4(LANE0, sum)

#define PAIR(w, sum, a, b, c, d) \
	ONE(w, sum, a, b, c, d); \
	ODD;                     \
	FMA4(LANE1, sum)

#define ZERO(w, sum, a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define STORE(w, sum, a, b, c, d) VST1.P [a.S4, b.S4, c.S4, d.S4], 64(R10)

#define SCALE(w, sum, a, b, c, d) \
	VLD1   (R10), [V0.S4, V1.S4, V2.S4, V3.S4];     \
	FMLA(LANE0, 8, sum, 0);                         \
	FMLA(LANE0, 8, sum+1, 1);                       \
	FMLA(LANE0, 8, sum+2, 2);                       \
	FMLA(LANE0, 8, sum+3, 3);                       \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R10)

// a *rowArgs: y 0, x 8, w 16, panel 24, cols 32, scale 40. R11 counts the columns of a block, R7 those after it.
#define ROW(PANELS) \
	MOVD a+0(FP), R9;    \
	MOVD 0(R9), R0;      \
	MOVD 8(R9), R2;      \
	MOVD 16(R9), R3;     \
	MOVD 24(R9), R1;     \
	MOVD 32(R9), R7;     \
	MOVD 40(R9), R8;     \
	ADD  R1, R3, R4;     \
	ADD  R1, R4, R5;     \
	ADD  R1, R5, R6;     \
	MASK;                \
block:                       \
	MOVD R0, R10;        \
	MOVD R7, R11;        \
	CBZ  R8, columns;    \
	CMP  $128, R11;      \
	BLE  columns;        \
	MOVD $128, R11;      \
columns:                     \
	SUB  R11, R7;        \
	PANELS(ZERO);        \
	SUBS $2, R11;        \
	BLT  rest;           \
pair:                        \
	FMOVD.P 8(R2), F8;   \
	PANELS(PAIR);        \
	SUBS $2, R11;        \
	BGE  pair;           \
rest:                        \
	TBZ  $0, R11, sums;  \
	FMOVS (R2), F8;      \
	PANELS(ONE);         \
sums:                        \
	CBZ  R8, store;      \
	FMOVS.P 4(R8), F8;   \
	PANELS(SCALE);       \
	CBNZ R7, block;      \
	RET;                 \
store:                       \
	PANELS(STORE);       \
	RET

// func rowE4M3x4NEON(a *rowArgs)
TEXT ·rowE4M3x4NEON(SB), NOSPLIT, $0-8
	ROW(PANELS4)

// func rowE4M3x1NEON(a *rowArgs)
TEXT ·rowE4M3x1NEON(SB), NOSPLIT, $0-8
	ROW(PANELS1)

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

// FEW_ADD is y = fma(sum, scale, y) for one panel of one row, the scale in lane 0 of V8.
#define FEW_ADD(sum) \
	VLD1 (R14), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	FEW_MUL_SUMS(sum);                        \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R14)

#define FEW_MUL_SUMS(sum) \
	FMLA(LANE0, 8, sum, 0);   \
	FMLA(LANE0, 8, sum+1, 1); \
	FMLA(LANE0, 8, sum+2, 2); \
	FMLA(LANE0, 8, sum+3, 3)

#define FEW_ROW_SCALE FMOVS.P 4(R8), F8

#define FEW_SCALE2 \
	FEW_ROW_SCALE; \
	FEW_ADD(16);   \
	FEW_ADD(20);   \
	FEW_NEXT_ROW;  \
	FEW_ROW_SCALE; \
	FEW_ADD(24);   \
	FEW_ADD(28)

#define FEW_SCALE3 \
	FEW_ROW_SCALE; \
	FEW_ADD(16);   \
	FEW_NEXT_ROW;  \
	FEW_ROW_SCALE; \
	FEW_ADD(20);   \
	FEW_NEXT_ROW;  \
	FEW_ROW_SCALE; \
	FEW_ADD(24)

#define FEW_SCALE4 \
	FEW_SCALE3;    \
	FEW_NEXT_ROW;  \
	FEW_ROW_SCALE; \
	FEW_ADD(28)

#define FEW_ONE(MUL, w) \
	VLD1.P 32(w), [V6.H8, V7.H8]; \
	EVEN;                         \
	MUL(LANE0)

#define FEW_PAIR(MUL, w) \
	FEW_ONE(MUL, w); \
	ODD;             \
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

// a *fewArgs: y 0, stride 8, x 16, xStride 24, w 32, panel 40, cols 48, scale 56. R6 counts the columns of a block, R7 those
// after it.
#define FEW(PANELS, X, LAST, STORE, SCALES) \
	FEW_ARGS;            \
	MASK;                \
block:                       \
	MOVD R7, R6;         \
	CBZ  R8, columns;    \
	CMP  $128, R6;       \
	BLE  columns;        \
	MOVD $128, R6;       \
columns:                     \
	SUB  R6, R7;         \
	MOVD R0, R9;         \
	MOVD R0, R14;        \
	FEW_ZEROS;           \
	SUBS $2, R6;         \
	BLT  rest;           \
pair:                        \
	X;                   \
	PANELS(FEW_PAIR);    \
	SUBS $2, R6;         \
	BGE  pair;           \
rest:                        \
	TBZ  $0, R6, sums;   \
	LAST;                \
	PANELS(FEW_ONE);     \
sums:                        \
	CBZ  R8, store;      \
	SCALES;              \
	CBNZ R7, block;      \
	RET;                 \
store:                       \
	STORE;               \
	RET

// func few2E4M3NEON(a *fewArgs)
TEXT ·few2E4M3NEON(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS2, FEW_X2, FEW_LAST2, FEW_STORE2, FEW_SCALE2)

// func few3E4M3NEON(a *fewArgs)
TEXT ·few3E4M3NEON(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS3, FEW_X3, FEW_LAST3, FEW_STORE3, FEW_SCALE3)

// func few4E4M3NEON(a *fewArgs)
TEXT ·few4E4M3NEON(SB), NOSPLIT, $0-8
	FEW(FEW_PANELS4, FEW_X4, FEW_LAST4, FEW_STORE4, FEW_SCALE4)

// func widenE4M3NEON(dst *float32, w *byte, cols int)
TEXT ·widenE4M3NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD w+8(FP), R1
	MOVD cols+16(FP), R2
	MASK
	SUBS $2, R2
	BLT  one

pair:
	VLD1.P 32(R1), [V6.H8, V7.H8]
	EVEN
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	ODD
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS   $2, R2
	BGE    pair

one:
	TBZ    $0, R2, done
	VLD1.P 32(R1), [V6.H8, V7.H8]
	EVEN
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)

done:
	RET
