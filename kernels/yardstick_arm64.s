#include "textflag.h"
#include "nvfp4_ops_arm64.h"

#define SUM128 \
	VLD1.P 64(R0), [V16.D2, V17.D2, V18.D2, V19.D2]; \
	VLD1.P 64(R0), [V20.D2, V21.D2, V22.D2, V23.D2]; \
	PRFM   1920(R0), PLDL1STRM;    \
	PRFM   1984(R0), PLDL1STRM;    \
	VADD   V16.D2, V0.D2, V0.D2;   \
	VADD   V17.D2, V1.D2, V1.D2;   \
	VADD   V18.D2, V2.D2, V2.D2;   \
	VADD   V19.D2, V3.D2, V3.D2;   \
	VADD   V20.D2, V4.D2, V4.D2;   \
	VADD   V21.D2, V5.D2, V5.D2;   \
	VADD   V22.D2, V6.D2, V6.D2;   \
	VADD   V23.D2, V7.D2, V7.D2

// func sumBlocksNEON(b *byte, n int) uint64
TEXT ·sumBlocksNEON(SB), NOSPLIT, $0-24
	MOVD b+0(FP), R0
	MOVD n+8(FP), R1
	ZERO(0)
	ZERO(1)
	ZERO(2)
	ZERO(3)
	ZERO(4)
	ZERO(5)
	ZERO(6)
	ZERO(7)

sum:
	SUM128
	SUM128
	SUM128
	SUM128
	SUBS $1, R1
	BNE  sum
	VADD V4.D2, V0.D2, V0.D2
	VADD V5.D2, V1.D2, V1.D2
	VADD V6.D2, V2.D2, V2.D2
	VADD V7.D2, V3.D2, V3.D2
	VADD V2.D2, V0.D2, V0.D2
	VADD V3.D2, V1.D2, V1.D2
	VADD V1.D2, V0.D2, V0.D2
	VMOV V0.D[0], R2
	VMOV V0.D[1], R3
	ADD  R3, R2
	MOVD R2, ret+16(FP)
	RET

#define CLEAR4(a) ZERO(a); ZERO(a+1); ZERO(a+2); ZERO(a+3)

#define FMLA4(a) FMLA(0, 1, a); FMLA(0, 1, a+1); FMLA(0, 1, a+2); FMLA(0, 1, a+3)

// func fmaPeakNEON(iterations int)
TEXT ·fmaPeakNEON(SB), NOSPLIT, $0-8
	MOVD iterations+0(FP), R0
	CLEAR4(0)
	CLEAR4(16)
	CLEAR4(20)
	CLEAR4(24)
	CLEAR4(28)

fma:
	FMLA4(16)
	FMLA4(20)
	FMLA4(24)
	FMLA4(28)
	SUBS $1, R0
	BNE  fma
	RET

// QUADS adds the products of 8 outputs, whose quads are in V0..V7, with the digits in V10.
#define QUADS \
	SDOT(LANE0, 10, 0, 12); \
	SDOT(LANE0, 10, 1, 13); \
	SDOT(LANE1, 10, 2, 12); \
	SDOT(LANE1, 10, 3, 13); \
	SDOT(LANE2, 10, 4, 12); \
	SDOT(LANE2, 10, 5, 13); \
	SDOT(LANE3, 10, 6, 12); \
	SDOT(LANE3, 10, 7, 13)

#define ACCUMULATE(a, b) \
	FMUL_LANE0(11, 8, 14); \
	FMUL_LANE0(11, 9, 15); \
	SCVTF(12, 12);         \
	SCVTF(13, 13);         \
	FMLA(14, 12, a);       \
	FMLA(15, 13, b)

// The inner blocks for 8 outputs and 8 rows, operands in registers and unpacking left out: quads in V0..V7, scales in V8 and
// V9, activations in V10, their scale in V11, sums in V16..V31.

#define E2M1(a, b) \
	ZERO(12); \
	ZERO(13); \
	QUADS;    \
	ACCUMULATE(a, b)

#define FIXED(a, b) \
	ZERO(12);     \
	ZERO(13);     \
	QUADS;        \
	SHL8(12, 12); \
	SHL8(13, 13); \
	QUADS;        \
	SHL8(12, 12); \
	SHL8(13, 13); \
	QUADS;        \
	ACCUMULATE(a, b)

#define INNER(BLOCK) \
	MOVD iterations+0(FP), R0; \
	CLEAR4(0);     \
	CLEAR4(4);     \
	CLEAR4(8);     \
	CLEAR4(16);    \
	CLEAR4(20);    \
	CLEAR4(24);    \
	CLEAR4(28);    \
inner:                 \
	BLOCK(16, 17); \
	BLOCK(18, 19); \
	BLOCK(20, 21); \
	BLOCK(22, 23); \
	BLOCK(24, 25); \
	BLOCK(26, 27); \
	BLOCK(28, 29); \
	BLOCK(30, 31); \
	SUBS $1, R0;   \
	BNE  inner;    \
	RET

// func innerPeakNEON(iterations int)
TEXT ·innerPeakNEON(SB), NOSPLIT, $0-8
	INNER(E2M1)

// func fixed24InnerPeakNEON(iterations int)
TEXT ·fixed24InnerPeakNEON(SB), NOSPLIT, $0-8
	INNER(FIXED)
