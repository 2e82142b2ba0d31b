#include "textflag.h"
#include "nvfp4_amd64.h"

// Products of 1 to 12 activation rows with a stored panel. Unpacking a block is paid for once per tile and runs beside the
// multiplications, so there is no unpacked copy in between.
//
// Z0..Z3 are the quads of 16 rows, Z4 their scales divided by 2^8, Z16..Z27 the sums, Z28 the table and Z29 the mask of low
// nibbles. SI, R10 and R11 are activation rows 0, 4 and 8, which lie R8 bytes apart; R9 is 3·R8.

// Values of the 16 codes, doubled, plus 12.
DATA nvfp4Plus12<>+0(SB)/8, $0x181412100F0E0D0C
DATA nvfp4Plus12<>+8(SB)/8, $0x00040608090A0B0C
GLOBL nvfp4Plus12<>(SB), RODATA, $16

#define ROWS1(OP) OP((SI), Z16)
#define ROWS2(OP) ROWS1(OP); OP((SI)(R8*1), Z17)
#define ROWS3(OP) ROWS2(OP); OP((SI)(R8*2), Z18)
#define ROWS4(OP) ROWS3(OP); OP((SI)(R9*1), Z19)
#define ROWS5(OP) ROWS4(OP); OP((R10), Z20)
#define ROWS6(OP) ROWS5(OP); OP((R10)(R8*1), Z21)
#define ROWS7(OP) ROWS6(OP); OP((R10)(R8*2), Z22)
#define ROWS8(OP) ROWS7(OP); OP((R10)(R9*1), Z23)
#define ROWS9(OP) ROWS8(OP); OP((R11), Z24)
#define ROWS10(OP) ROWS9(OP); OP((R11)(R8*1), Z25)
#define ROWS11(OP) ROWS10(OP); OP((R11)(R8*2), Z26)
#define ROWS12(OP) ROWS11(OP); OP((R11)(R9*1), Z27)

#define ZERO(A, ACC) \
	VPXORD ACC, ACC, ACC

// DOT16 adds to T the exact dot products of 16 rows with the codes at displacements D.. of A.
#define DOT16(D, A, T) \
	VPDPBUSD.BCST (D+0) A, Z0, T; \
	VPDPBUSD.BCST (D+4) A, Z1, T; \
	VPDPBUSD.BCST (D+8) A, Z2, T; \
	VPDPBUSD.BCST (D+12) A, Z3, T

// E2M1ROW adds one activation row's block to ACC.
#define E2M1ROW(A, ACC) \
	VPBROADCASTD 16 A, Z5;     \
	DOT16(0, A, Z5);           \
	VMULPS.BCST  20 A, Z4, Z6; \
	VCVTDQ2PS    Z5, Z5;       \
	VFMADD231PS  Z6, Z5, ACC

// FIXEDROW adds one activation row's block, three planes of digits, to ACC.
#define FIXEDROW(A, ACC) \
	VPXORD       Z5, Z5, Z5;   \
	VPXORD       Z6, Z6, Z6;   \
	VPBROADCASTD 48 A, Z7;     \
	DOT16(32, A, Z5);          \
	DOT16(16, A, Z6);          \
	DOT16(0, A, Z7);           \
	VPSLLD       $16, Z5, Z5;  \
	VPSLLD       $8, Z6, Z6;   \
	VPADDD       Z6, Z5, Z5;   \
	VPADDD       Z7, Z5, Z5;   \
	VMULPS.BCST  60 A, Z4, Z6; \
	VCVTDQ2PS    Z5, Z5;       \
	VFMADD231PS  Z6, Z5, ACC

// STOREROW writes ACC times the output scale in Z0 and steps to the next row.
#define STOREROW(A, ACC) \
	VMULPS  Z0, ACC, ACC; \
	VMOVUPS ACC, (DI);    \
	ADDQ    R12, DI

// DECODE reads a stored block.
#define DECODE \
	VPANDD     (BX), Z29, Z0;   \
	VPSRLW     $4, (BX), Z1;    \
	VPANDD     64(BX), Z29, Z2; \
	VPSRLW     $4, 64(BX), Z3;  \
	VPMOVZXBW  (DX), Y4;        \
	VPANDD     Z29, Z1, Z1;     \
	VPANDD     Z29, Z3, Z3;     \
	VPSHUFB    Z0, Z28, Z0;     \
	VPSHUFB    Z1, Z28, Z1;     \
	VPSHUFB    Z2, Z28, Z2;     \
	VPSHUFB    Z3, Z28, Z3;     \
	VPSLLW     $7, Y4, Y4;      \
	VCVTPH2PS  Y4, Z4;          \
	PREFETCHT0 (CODES_AHEAD)(BX); \
	PREFETCHT0 (CODES_AHEAD+64)(BX); \
	PREFETCHT0 (SCALES_AHEAD)(DX)

#define PANEL(ROWS, ROW, BYTES) \
	MOVQ            a+0(FP), AX;            \
	MOVQ            ARG_W(AX), BX;          \
	MOVQ            ARG_SCALES(AX), DX;     \
	MOVQ            ARG_X(AX), SI;          \
	MOVQ            ARG_XSTRIDE(AX), R8;    \
	MOVQ            ARG_Y(AX), DI;          \
	MOVQ            ARG_YSTRIDE(AX), R12;   \
	MOVQ            ARG_BLOCKS(AX), CX;     \
	LEAQ            (R8)(R8*2), R9;         \
	LEAQ            (SI)(R8*4), R10;        \
	LEAQ            (SI)(R8*8), R11;        \
	VBROADCASTI32X4 nvfp4Plus12<>(SB), Z28; \
	MOVL            $0x0F0F0F0F, R13;       \
	VPBROADCASTD    R13, Z29;               \
	ROWS(ZERO);                             \
	PCALIGN         $32;                    \
loop:                                    \
	DECODE;                                 \
	ROWS(ROW);                              \
	ADDQ            $128, BX;               \
	ADDQ            $16, DX;                \
	ADDQ            $BYTES, SI;             \
	ADDQ            $BYTES, R10;            \
	ADDQ            $BYTES, R11;            \
	DECQ            CX;                     \
	JNZ             loop;                   \
	VBROADCASTSS    ARG_OUT(AX), Z0;        \
	ROWS(STOREROW);                         \
	VZEROUPPER;                             \
	RET

// func e2m1Rows1AVX512(a *nvfp4Args)
TEXT ·e2m1Rows1AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS1, E2M1ROW, E2M1_BYTES)

// func e2m1Rows2AVX512(a *nvfp4Args)
TEXT ·e2m1Rows2AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS2, E2M1ROW, E2M1_BYTES)

// func e2m1Rows3AVX512(a *nvfp4Args)
TEXT ·e2m1Rows3AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS3, E2M1ROW, E2M1_BYTES)

// func e2m1Rows4AVX512(a *nvfp4Args)
TEXT ·e2m1Rows4AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS4, E2M1ROW, E2M1_BYTES)

// func e2m1Rows5AVX512(a *nvfp4Args)
TEXT ·e2m1Rows5AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS5, E2M1ROW, E2M1_BYTES)

// func e2m1Rows6AVX512(a *nvfp4Args)
TEXT ·e2m1Rows6AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS6, E2M1ROW, E2M1_BYTES)

// func e2m1Rows7AVX512(a *nvfp4Args)
TEXT ·e2m1Rows7AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS7, E2M1ROW, E2M1_BYTES)

// func e2m1Rows8AVX512(a *nvfp4Args)
TEXT ·e2m1Rows8AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS8, E2M1ROW, E2M1_BYTES)

// func e2m1Rows9AVX512(a *nvfp4Args)
TEXT ·e2m1Rows9AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS9, E2M1ROW, E2M1_BYTES)

// func e2m1Rows10AVX512(a *nvfp4Args)
TEXT ·e2m1Rows10AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS10, E2M1ROW, E2M1_BYTES)

// func e2m1Rows11AVX512(a *nvfp4Args)
TEXT ·e2m1Rows11AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS11, E2M1ROW, E2M1_BYTES)

// func e2m1Rows12AVX512(a *nvfp4Args)
TEXT ·e2m1Rows12AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS12, E2M1ROW, E2M1_BYTES)

// func fixed24Rows1AVX512(a *nvfp4Args)
TEXT ·fixed24Rows1AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS1, FIXEDROW, FIXED24_BYTES)

// func fixed24Rows2AVX512(a *nvfp4Args)
TEXT ·fixed24Rows2AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS2, FIXEDROW, FIXED24_BYTES)

// func fixed24Rows3AVX512(a *nvfp4Args)
TEXT ·fixed24Rows3AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS3, FIXEDROW, FIXED24_BYTES)

// func fixed24Rows4AVX512(a *nvfp4Args)
TEXT ·fixed24Rows4AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS4, FIXEDROW, FIXED24_BYTES)

// func fixed24Rows5AVX512(a *nvfp4Args)
TEXT ·fixed24Rows5AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS5, FIXEDROW, FIXED24_BYTES)

// func fixed24Rows6AVX512(a *nvfp4Args)
TEXT ·fixed24Rows6AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS6, FIXEDROW, FIXED24_BYTES)

// func fixed24Rows7AVX512(a *nvfp4Args)
TEXT ·fixed24Rows7AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS7, FIXEDROW, FIXED24_BYTES)

// func fixed24Rows8AVX512(a *nvfp4Args)
TEXT ·fixed24Rows8AVX512(SB), NOSPLIT, $0-8
	PANEL(ROWS8, FIXEDROW, FIXED24_BYTES)
