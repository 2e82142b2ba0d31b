#include "textflag.h"

// Products with NVFP4 weights, a panel of 16 output rows at a time: layout and order of sums as in nvfp4.go, signed weights
// and thus no offsets.
//
// V0..V3 are the weights of a block and 4 output rows: each lane holds columns 0..3, 4..7, 8..11 and 12..15. V12 is their
// block scale / 256, from halves in V10 and V11. V16..V31 are the sums of up to 4 activation rows, R3..R6 their blocks.
// V8 maps codes to weights, V9 masks nibbles.

// The doubled value of each E2M1 code.
DATA codeValues<>+0(SB)/8, $0x0C08060403020100
DATA codeValues<>+8(SB)/8, $0xF4F8FAFCFDFEFF00
GLOBL codeValues<>(SB), RODATA|NOPTR, $16

// sdot vd.4s, vn.16b, vm.4b[i]
#define SDOT(d, n, m, i) WORD $(0x4F80E000 | (i&1)<<21 | m<<16 | (i>>1)<<11 | n<<5 | d)

// fmul vd.4s, vn.4s, vm.s[0]
#define FMUL0(d, n, m) WORD $(0x4F809000 | m<<16 | n<<5 | d)

// scvtf vd.4s, vn.4s
#define SCVTF(d, n) WORD $(0x4E21D800 | n<<5 | d)

// fcvtl, fcvtl2 vd.4s, vn.4h or 8h
#define FCVTL(d, n) WORD $(0x0E217800 | n<<5 | d)
#define FCVTL2(d, n) WORD $(0x4E217800 | n<<5 | d)

#define ROWS1(OP, g) OP(R3, g)
#define ROWS2(OP, g) ROWS1(OP, g); OP(R4, (g+4))
#define ROWS3(OP, g) ROWS2(OP, g); OP(R5, (g+8))
#define ROWS4(OP, g) ROWS3(OP, g); OP(R6, (g+12))

// d += w · x over 16 columns, the activations in register x.
#define DOT(x) \
	SDOT(13, 0, x, 0); \
	SDOT(13, 1, x, 1); \
	SDOT(13, 2, x, 2); \
	SDOT(13, 3, x, 3)

// sum = fma(d, weight scale · activation scale, sum)
#define ACCUMULATE(sum) \
	SCVTF(13, 13);     \
	FMUL0(14, 12, 14); \
	WORD $(0x4E20CC00 | 14<<16 | 13<<5 | (16+sum)) /* fmla v(16+sum).4s, v13.4s, v14.4s */

// One row's block: 16 codes, offset 16, scale 20.
#define E2M1(x, sum) \
	FMOVQ (x), F4;                   \
	FMOVS 20(x), F14;                \
	VEOR  V13.B16, V13.B16, V13.B16; \
	DOT(4);                          \
	ACCUMULATE(sum)

// One row's block: three planes of digits, the lowest first, offsets 48, scale 60.
#define FIXED24(x, sum) \
	FMOVQ 32(x), F4;                 \
	FMOVQ 16(x), F5;                 \
	FMOVQ (x), F6;                   \
	FMOVS 60(x), F14;                \
	VEOR  V13.B16, V13.B16, V13.B16; \
	DOT(4);                          \
	VSHL  $8, V13.S4, V13.S4;        \
	DOT(5);                          \
	VSHL  $8, V13.S4, V13.S4;        \
	DOT(6);                          \
	ACCUMULATE(sum)

// Four output rows from code byte c on.
#define UNPACK(c, WIDEN, h) \
	FMOVQ c(R7), F0;                \
	FMOVQ (64+c)(R7), F2;           \
	WIDEN(12, h);                   \
	VUSHR $4, V0.B16, V1.B16;       \
	VUSHR $4, V2.B16, V3.B16;       \
	VAND  V9.B16, V0.B16, V0.B16;   \
	VAND  V9.B16, V2.B16, V2.B16;   \
	VTBL  V0.B16, [V8.B16], V0.B16; \
	VTBL  V1.B16, [V8.B16], V1.B16; \
	VTBL  V2.B16, [V8.B16], V2.B16; \
	VTBL  V3.B16, [V8.B16], V3.B16

// Four sums become outputs.
#define FINISH(x, sum) \
	FMUL0((16+sum), (16+sum), 14)

#define NEXT(record) \
	ADD  $128, R7;    \
	ADD  $record, R3; \
	ADD  $record, R4; \
	ADD  $record, R5; \
	ADD  $record, R6; \
	SUBS $1, R9;      \
	BNE  loop

// Rows beyond those asked for are never read: their pointers only count along.
// a *nvfp4Args: w 0, scales 8, x 16, xStride 24, y 32, yStride 40, blocks 48, out 56.
#define PRODUCT(ROWS, ROW, record) \
	MOVD    a+0(FP), R0;               \
	MOVD    32(R0), R1;                \
	MOVD    40(R0), R2;                \
	MOVD    16(R0), R3;                \
	MOVD    24(R0), R4;                \
	MOVD    0(R0), R7;                 \
	MOVD    8(R0), R8;                 \
	MOVD    48(R0), R9;                \
	ADD     R4, R4, R6;                \
	ADD     R3, R6, R5;                \
	ADD     R4, R5, R6;                \
	ADD     R3, R4, R4;                \
	MOVD    $codeValues<>(SB), R10;    \
	FMOVQ   (R10), F8;                 \
	VMOVI   $15, V9.B16;               \
	VEOR    V16.B16, V16.B16, V16.B16; \
	VEOR    V17.B16, V17.B16, V17.B16; \
	VEOR    V18.B16, V18.B16, V18.B16; \
	VEOR    V19.B16, V19.B16, V19.B16; \
	VEOR    V20.B16, V20.B16, V20.B16; \
	VEOR    V21.B16, V21.B16, V21.B16; \
	VEOR    V22.B16, V22.B16, V22.B16; \
	VEOR    V23.B16, V23.B16, V23.B16; \
	VEOR    V24.B16, V24.B16, V24.B16; \
	VEOR    V25.B16, V25.B16, V25.B16; \
	VEOR    V26.B16, V26.B16, V26.B16; \
	VEOR    V27.B16, V27.B16, V27.B16; \
	VEOR    V28.B16, V28.B16, V28.B16; \
	VEOR    V29.B16, V29.B16, V29.B16; \
	VEOR    V30.B16, V30.B16, V30.B16; \
	VEOR    V31.B16, V31.B16, V31.B16; \
loop:                               \
	VLD1.P  16(R8), [V11.B16];         \
	VUSHLL  $7, V11.B8, V10.H8;        \
	VUSHLL2 $7, V11.B16, V11.H8;       \
	UNPACK(0, FCVTL, 10);              \
	ROWS(ROW, 0);                      \
	UNPACK(16, FCVTL2, 10);            \
	ROWS(ROW, 1);                      \
	UNPACK(32, FCVTL, 11);             \
	ROWS(ROW, 2);                      \
	UNPACK(48, FCVTL2, 11);            \
	ROWS(ROW, 3);                      \
	NEXT(record);                      \
	FMOVS   56(R0), F14;               \
	ROWS(FINISH, 0);                   \
	ROWS(FINISH, 1);                   \
	ROWS(FINISH, 2);                   \
	ROWS(FINISH, 3)

#define STORE(a, b, c, d) \
	VST1 [a.S4, b.S4, c.S4, d.S4], (R1); \
	ADD  R2, R1

// func e2m1Rows1NEON(a *nvfp4Args)
TEXT ·e2m1Rows1NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS1, E2M1, 24)
	STORE(V16, V17, V18, V19)
	RET

// func e2m1Rows2NEON(a *nvfp4Args)
TEXT ·e2m1Rows2NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS2, E2M1, 24)
	STORE(V16, V17, V18, V19)
	STORE(V20, V21, V22, V23)
	RET

// func e2m1Rows3NEON(a *nvfp4Args)
TEXT ·e2m1Rows3NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS3, E2M1, 24)
	STORE(V16, V17, V18, V19)
	STORE(V20, V21, V22, V23)
	STORE(V24, V25, V26, V27)
	RET

// func e2m1Rows4NEON(a *nvfp4Args)
TEXT ·e2m1Rows4NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS4, E2M1, 24)
	STORE(V16, V17, V18, V19)
	STORE(V20, V21, V22, V23)
	STORE(V24, V25, V26, V27)
	STORE(V28, V29, V30, V31)
	RET

// func fixed24Rows1NEON(a *nvfp4Args)
TEXT ·fixed24Rows1NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS1, FIXED24, 64)
	STORE(V16, V17, V18, V19)
	RET

// func fixed24Rows2NEON(a *nvfp4Args)
TEXT ·fixed24Rows2NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS2, FIXED24, 64)
	STORE(V16, V17, V18, V19)
	STORE(V20, V21, V22, V23)
	RET

// func fixed24Rows3NEON(a *nvfp4Args)
TEXT ·fixed24Rows3NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS3, FIXED24, 64)
	STORE(V16, V17, V18, V19)
	STORE(V20, V21, V22, V23)
	STORE(V24, V25, V26, V27)
	RET

// func fixed24Rows4NEON(a *nvfp4Args)
TEXT ·fixed24Rows4NEON(SB), NOSPLIT, $0-8
	PRODUCT(ROWS4, FIXED24, 64)
	STORE(V16, V17, V18, V19)
	STORE(V20, V21, V22, V23)
	STORE(V24, V25, V26, V27)
	STORE(V28, V29, V30, V31)
	RET
