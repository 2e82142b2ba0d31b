#include "textflag.h"
#include "nvfp4_amd64.h"

// Products of 8 output rows at a time: up to 3 activation rows with a stored panel, up to 6 with an unpacked one.
//
// Y0..Y3 are the quads of 8 rows, Y4..Y9 the sums, Y15 sixteen words of 1. SI and R10 are activation rows 0 and 4, which lie
// R8 bytes apart; R9 is 3·R8.

// Values of the 16 codes, doubled, plus 12.
DATA nvfp4Plus12<>+0(SB)/8, $0x181412100F0E0D0C
DATA nvfp4Plus12<>+8(SB)/8, $0x00040608090A0B0C
GLOBL nvfp4Plus12<>(SB), RODATA, $16

DATA nibbleMask<>+0(SB)/8, $0x0F0F0F0F0F0F0F0F
DATA nibbleMask<>+8(SB)/8, $0x0F0F0F0F0F0F0F0F
DATA nibbleMask<>+16(SB)/8, $0x0F0F0F0F0F0F0F0F
DATA nibbleMask<>+24(SB)/8, $0x0F0F0F0F0F0F0F0F
GLOBL nibbleMask<>(SB), RODATA, $32

#define ROWS1(OP, SCALES) OP((SI), Y4, SCALES)
#define ROWS2(OP, SCALES) ROWS1(OP, SCALES); OP((SI)(R8*1), Y5, SCALES)
#define ROWS3(OP, SCALES) ROWS2(OP, SCALES); OP((SI)(R8*2), Y6, SCALES)
#define ROWS4(OP, SCALES) ROWS3(OP, SCALES); OP((SI)(R9*1), Y7, SCALES)
#define ROWS5(OP, SCALES) ROWS4(OP, SCALES); OP((R10), Y8, SCALES)
#define ROWS6(OP, SCALES) ROWS5(OP, SCALES); OP((R10)(R8*1), Y9, SCALES)

// The upper 8 output rows of up to 3 activation rows.
#define MORE1(OP, SCALES) OP((SI), Y7, SCALES)
#define MORE2(OP, SCALES) MORE1(OP, SCALES); OP((SI)(R8*1), Y8, SCALES)
#define MORE3(OP, SCALES) MORE2(OP, SCALES); OP((SI)(R8*2), Y9, SCALES)

// The same where Y6 and Y9 are taken: 4 rows, or 2 and their upper 8 output rows.
#define FEW1(OP, SCALES) OP((SI), Y4, SCALES)
#define FEW2(OP, SCALES) FEW1(OP, SCALES); OP((SI)(R8*1), Y5, SCALES)
#define FEW3(OP, SCALES) FEW2(OP, SCALES); OP((SI)(R8*2), Y7, SCALES)
#define FEW4(OP, SCALES) FEW3(OP, SCALES); OP((SI)(R9*1), Y8, SCALES)

#define FEWMORE1(OP, SCALES) OP((SI), Y7, SCALES)
#define FEWMORE2(OP, SCALES) FEWMORE1(OP, SCALES); OP((SI)(R8*1), Y8, SCALES)

#define ZERO(A, ACC, SCALES) \
	VXORPS ACC, ACC, ACC

// WORDS multiplies the quads in Y0..Y3 with 16 codes at displacements D.. of A: the sum of the two words of a lane of T is the
// exact dot product. A word holds 8 products, which fit: 24 · 128 · 8 < 2^15.
#define WORDS(D, A, T) \
	VPBROADCASTD (D+0) A, Y11;  \
	VPMADDUBSW   Y11, Y0, T;    \
	VPBROADCASTD (D+4) A, Y11;  \
	VPMADDUBSW   Y11, Y1, Y12;  \
	VPADDW       Y12, T, T;     \
	VPBROADCASTD (D+8) A, Y11;  \
	VPMADDUBSW   Y11, Y2, Y12;  \
	VPADDW       Y12, T, T;     \
	VPBROADCASTD (D+12) A, Y11; \
	VPMADDUBSW   Y11, Y3, Y12;  \
	VPADDW       Y12, T, T

// E2M1ROW adds one activation row's block to ACC. SCALES are those of the 8 output rows divided by 2^8.
#define E2M1ROW(A, ACC, SCALES) \
	WORDS(0, A, Y10);              \
	VPMADDWD     Y15, Y10, Y10;    \
	VPBROADCASTD 16 A, Y11;        \
	VPADDD       Y11, Y10, Y10;    \
	VCVTDQ2PS    Y10, Y10;         \
	VBROADCASTSS 20 A, Y11;        \
	VMULPS       SCALES, Y11, Y11; \
	VFMADD231PS  Y11, Y10, ACC

// FIXEDROW adds one activation row's block, three planes of digits, to ACC. Multipliers are the bottleneck, so the highest
// plane, of which only the lower 16 bits count, is added up with a shift and a mask. Y6 is sixteen words of 256, Y9 masks
// upper words.
#define FIXEDROW(A, ACC, SCALES) \
	WORDS(32, A, Y10);             \
	VPSLLD       $16, Y10, Y13;    \
	VPAND        Y9, Y10, Y10;     \
	VPADDD       Y13, Y10, Y10;    \
	WORDS(16, A, Y13);             \
	VPMADDWD     Y6, Y13, Y13;     \
	VPADDD       Y13, Y10, Y10;    \
	WORDS(0, A, Y13);              \
	VPMADDWD     Y15, Y13, Y13;    \
	VPADDD       Y13, Y10, Y10;    \
	VPBROADCASTD 48 A, Y11;        \
	VPADDD       Y11, Y10, Y10;    \
	VCVTDQ2PS    Y10, Y10;         \
	VBROADCASTSS 60 A, Y11;        \
	VMULPS       SCALES, Y11, Y11; \
	VFMADD231PS  Y11, Y10, ACC

// STOREROW writes ACC times the output scale in Y0 and steps to the next row.
#define STOREROW(A, ACC, SCALES) \
	VMULPS  Y0, ACC, ACC; \
	VMOVUPS ACC, (DI);    \
	ADDQ    R12, DI

// NIBBLES decodes 32 stored bytes of memory at AT by the table in Y13 and the mask in Y14: low nibbles to LO, high to HI.
#define NIBBLES(AT, LO, HI) \
	VMOVDQU AT, LO;      \
	VPSRLW  $4, LO, HI;  \
	VPAND   Y14, LO, LO; \
	VPAND   Y14, HI, HI; \
	VPSHUFB LO, Y13, LO; \
	VPSHUFB HI, Y13, HI

// SCALES8 reads 8 E4M3 scales at AT as float32 divided by 2^8: the codes are float16 once shifted by 7.
#define SCALES8(AT, X, Y) \
	VPMOVZXBW AT, X;    \
	VPSLLW    $7, X, X; \
	VCVTPH2PS X, Y

// DECODE reads 8 rows of a stored block, from byte C and scale S on; the scales go to Y14, where they replace the mask.
#define DECODE(C, S) \
	VBROADCASTI128 nvfp4Plus12<>(SB), Y13; \
	VMOVDQU        nibbleMask<>(SB), Y14;  \
	NIBBLES(C(BX), Y0, Y1);                \
	NIBBLES((64+C)(BX), Y2, Y3);           \
	SCALES8(S(DX), X14, Y14)

#define PROLOGUE \
	MOVQ     a+0(FP), AX;          \
	MOVQ     ARG_W(AX), BX;        \
	MOVQ     ARG_SCALES(AX), DX;   \
	MOVQ     ARG_XSTRIDE(AX), R8;  \
	MOVQ     ARG_YSTRIDE(AX), R12; \
	LEAQ     (R8)(R8*2), R9;       \
	VPCMPEQW Y15, Y15, Y15;        \
	VPSRLW   $15, Y15, Y15;        \
	VPSLLW   $8, Y15, Y6;          \
	VPCMPEQD Y9, Y9, Y9;           \
	VPSLLD   $16, Y9, Y9

#define ROWPOINTERS \
	MOVQ ARG_X(AX), SI;   \
	LEAQ (SI)(R8*4), R10; \
	MOVQ ARG_BLOCKS(AX), CX

// STORED multiplies a stored panel, all 16 output rows in one pass.
#define STORED(ROWS, MORE, ROW, BYTES) \
	PROLOGUE;                     \
	ROWPOINTERS;                  \
	ROWS(ZERO, Y14);              \
	MORE(ZERO, Y14);              \
	PCALIGN      $32;             \
loop:                          \
	DECODE(0, 0);                 \
	ROWS(ROW, Y14);               \
	DECODE(32, 8);                \
	MORE(ROW, Y14);               \
	PREFETCHT0   (CODES_AHEAD)(BX);        \
	PREFETCHT0   (CODES_AHEAD+64)(BX);        \
	ADDQ         $128, BX;        \
	ADDQ         $16, DX;         \
	ADDQ         $BYTES, SI;      \
	DECQ         CX;              \
	JNZ          loop;            \
	VBROADCASTSS ARG_OUT(AX), Y0; \
	MOVQ         ARG_Y(AX), DI;   \
	ROWS(STOREROW, Y14);          \
	MOVQ         ARG_Y(AX), DI;   \
	ADDQ         $32, DI;         \
	MORE(STOREROW, Y14);          \
	VZEROUPPER;                   \
	RET

// UNPACKED multiplies an unpacked panel, first the lower 8 output rows, then the upper.
#define UNPACKED(ROWS, ROW, BYTES) \
	PROLOGUE;                         \
	MOVQ         ARG_NEXT(AX), DX;    \
	MOVQ         ARG_NEXT_SCALES(AX), R11; \
	XORQ         R13, R13;            \
half:                              \
	ROWPOINTERS;                      \
	MOVQ         ARG_W(AX), BX;       \
	ADDQ         R13, BX;             \
	ROWS(ZERO, Y14);                  \
	PCALIGN      $32;                 \
loop:                              \
	VMOVDQU      (BX), Y0;            \
	VMOVDQU      64(BX), Y1;          \
	VMOVDQU      128(BX), Y2;         \
	VMOVDQU      192(BX), Y3;         \
	VMOVUPS      256(BX), Y14;        \
	PREFETCHT1   (DX);                \
	PREFETCHT1   (R11);               \
	ADDQ         $64, DX;             \
	ADDQ         $8, R11;             \
	ROWS(ROW, Y14);                   \
	ADDQ         $UNPACKED_BYTES, BX; \
	ADDQ         $BYTES, SI;          \
	ADDQ         $BYTES, R10;         \
	DECQ         CX;                  \
	JNZ          loop;                \
	MOVQ         ARG_Y(AX), DI;       \
	ADDQ         R13, DI;             \
	VBROADCASTSS ARG_OUT(AX), Y0;     \
	ROWS(STOREROW, Y14);              \
	ADDQ         $32, R13;            \
	CMPQ         R13, $64;            \
	JNE          half;                \
	VZEROUPPER;                       \
	RET

// func unpackNVFP4AVX2(dst, codes, scales *byte, blocks int)
TEXT ·unpackNVFP4AVX2(SB), NOSPLIT, $0-32
	MOVQ           dst+0(FP), DI
	MOVQ           codes+8(FP), SI
	MOVQ           scales+16(FP), DX
	MOVQ           blocks+24(FP), CX
	VBROADCASTI128 nvfp4Plus12<>(SB), Y13
	VMOVDQU        nibbleMask<>(SB), Y14

unpackLoop:
	NIBBLES((SI), Y0, Y1)
	NIBBLES(32(SI), Y2, Y3)
	NIBBLES(64(SI), Y4, Y5)
	NIBBLES(96(SI), Y6, Y7)
	SCALES8((DX), X8, Y8)
	SCALES8(8(DX), X9, Y9)
	VMOVDQU    Y0, (DI)
	VMOVDQU    Y2, 32(DI)
	VMOVDQU    Y1, 64(DI)
	VMOVDQU    Y3, 96(DI)
	VMOVDQU    Y4, 128(DI)
	VMOVDQU    Y6, 160(DI)
	VMOVDQU    Y5, 192(DI)
	VMOVDQU    Y7, 224(DI)
	VMOVUPS    Y8, 256(DI)
	VMOVUPS    Y9, 288(DI)
	PREFETCHT0 (CODES_AHEAD)(SI)
	PREFETCHT0 (CODES_AHEAD+64)(SI)
	PREFETCHT0 (SCALES_AHEAD)(DX)
	ADDQ       $128, SI
	ADDQ       $16, DX
	ADDQ       $UNPACKED_BYTES, DI
	DECQ       CX
	JNZ        unpackLoop
	VZEROUPPER
	RET

// func e2m1Rows1AVX2(a *nvfp4Args)
TEXT ·e2m1Rows1AVX2(SB), NOSPLIT, $0-8
	STORED(ROWS1, MORE1, E2M1ROW, E2M1_BYTES)

// func e2m1Rows2AVX2(a *nvfp4Args)
TEXT ·e2m1Rows2AVX2(SB), NOSPLIT, $0-8
	STORED(ROWS2, MORE2, E2M1ROW, E2M1_BYTES)

// func e2m1Rows3AVX2(a *nvfp4Args)
TEXT ·e2m1Rows3AVX2(SB), NOSPLIT, $0-8
	STORED(ROWS3, MORE3, E2M1ROW, E2M1_BYTES)

// func e2m1Unpacked1AVX2(a *nvfp4Args)
TEXT ·e2m1Unpacked1AVX2(SB), NOSPLIT, $0-8
	UNPACKED(ROWS1, E2M1ROW, E2M1_BYTES)

// func e2m1Unpacked2AVX2(a *nvfp4Args)
TEXT ·e2m1Unpacked2AVX2(SB), NOSPLIT, $0-8
	UNPACKED(ROWS2, E2M1ROW, E2M1_BYTES)

// func e2m1Unpacked3AVX2(a *nvfp4Args)
TEXT ·e2m1Unpacked3AVX2(SB), NOSPLIT, $0-8
	UNPACKED(ROWS3, E2M1ROW, E2M1_BYTES)

// func e2m1Unpacked4AVX2(a *nvfp4Args)
TEXT ·e2m1Unpacked4AVX2(SB), NOSPLIT, $0-8
	UNPACKED(ROWS4, E2M1ROW, E2M1_BYTES)

// func e2m1Unpacked5AVX2(a *nvfp4Args)
TEXT ·e2m1Unpacked5AVX2(SB), NOSPLIT, $0-8
	UNPACKED(ROWS5, E2M1ROW, E2M1_BYTES)

// func e2m1Unpacked6AVX2(a *nvfp4Args)
TEXT ·e2m1Unpacked6AVX2(SB), NOSPLIT, $0-8
	UNPACKED(ROWS6, E2M1ROW, E2M1_BYTES)

// The loop for one row takes both halves of 8 output rows side by side, so that each digit is loaded once: quads in Y0..Y3
// and Y4..Y7, sums in Y8 and Y9, dot products in Y14 and Y15.
#define WORDS16(name, v) \
	DATA  name<>+0(SB)/8, $v;  \
	DATA  name<>+8(SB)/8, $v;  \
	DATA  name<>+16(SB)/8, $v; \
	DATA  name<>+24(SB)/8, $v; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

WORDS16(words1, 0x0001000100010001)
WORDS16(words256, 0x0100010001000100)
WORDS16(upperWords, 0xFFFF0000FFFF0000)

// PLANE16 is WORDS for both halves, in Y11 and Y12.
#define PLANE16(D) \
	VPBROADCASTD (D+0)(SI), Y10;  \
	VPMADDUBSW   Y10, Y0, Y11;    \
	VPMADDUBSW   Y10, Y4, Y12;    \
	VPBROADCASTD (D+4)(SI), Y10;  \
	VPMADDUBSW   Y10, Y1, Y13;    \
	VPADDW       Y13, Y11, Y11;   \
	VPMADDUBSW   Y10, Y5, Y13;    \
	VPADDW       Y13, Y12, Y12;   \
	VPBROADCASTD (D+8)(SI), Y10;  \
	VPMADDUBSW   Y10, Y2, Y13;    \
	VPADDW       Y13, Y11, Y11;   \
	VPMADDUBSW   Y10, Y6, Y13;    \
	VPADDW       Y13, Y12, Y12;   \
	VPBROADCASTD (D+12)(SI), Y10; \
	VPMADDUBSW   Y10, Y3, Y13;    \
	VPADDW       Y13, Y11, Y11;   \
	VPMADDUBSW   Y10, Y7, Y13;    \
	VPADDW       Y13, Y12, Y12

// func fixed24Rows1AVX2(a *nvfp4Args)
TEXT ·fixed24Rows1AVX2(SB), NOSPLIT, $0-8
	PROLOGUE
	ROWPOINTERS
	VXORPS  Y8, Y8, Y8
	VXORPS  Y9, Y9, Y9
	PCALIGN $32

loop:
	VBROADCASTI128 nvfp4Plus12<>(SB), Y13
	VMOVDQU        nibbleMask<>(SB), Y14
	NIBBLES((BX), Y0, Y1)
	NIBBLES(64(BX), Y2, Y3)
	NIBBLES(32(BX), Y4, Y5)
	NIBBLES(96(BX), Y6, Y7)

	PLANE16(32)
	VPSLLD       $16, Y11, Y14
	VPSLLD       $16, Y12, Y15
	VPAND        upperWords<>(SB), Y11, Y11
	VPAND        upperWords<>(SB), Y12, Y12
	VPADDD       Y11, Y14, Y14
	VPADDD       Y12, Y15, Y15
	PLANE16(16)
	VPMADDWD     words256<>(SB), Y11, Y11
	VPMADDWD     words256<>(SB), Y12, Y12
	VPADDD       Y11, Y14, Y14
	VPADDD       Y12, Y15, Y15
	PLANE16(0)
	VPBROADCASTD 48(SI), Y10
	VPMADDWD     words1<>(SB), Y11, Y11
	VPMADDWD     words1<>(SB), Y12, Y12
	VPADDD       Y10, Y14, Y14
	VPADDD       Y10, Y15, Y15
	VPADDD       Y11, Y14, Y14
	VPADDD       Y12, Y15, Y15
	VCVTDQ2PS    Y14, Y14
	VCVTDQ2PS    Y15, Y15
	VBROADCASTSS 60(SI), Y10
	SCALES8((DX), X11, Y11)
	SCALES8(8(DX), X12, Y12)
	VMULPS       Y10, Y11, Y11
	VMULPS       Y10, Y12, Y12
	VFMADD231PS  Y11, Y14, Y8
	VFMADD231PS  Y12, Y15, Y9

	PREFETCHT0   (CODES_AHEAD)(BX)
	PREFETCHT0   (CODES_AHEAD+64)(BX)
	ADDQ         $128, BX
	ADDQ         $16, DX
	ADDQ         $FIXED24_BYTES, SI
	DECQ         CX
	JNZ          loop
	VBROADCASTSS ARG_OUT(AX), Y0
	MOVQ         ARG_Y(AX), DI
	VMULPS       Y0, Y8, Y8
	VMULPS       Y0, Y9, Y9
	VMOVUPS      Y8, (DI)
	VMOVUPS      Y9, 32(DI)
	VZEROUPPER
	RET

// func fixed24Rows2AVX2(a *nvfp4Args)
TEXT ·fixed24Rows2AVX2(SB), NOSPLIT, $0-8
	STORED(FEW2, FEWMORE2, FIXEDROW, FIXED24_BYTES)

// func fixed24Unpacked1AVX2(a *nvfp4Args)
TEXT ·fixed24Unpacked1AVX2(SB), NOSPLIT, $0-8
	UNPACKED(FEW1, FIXEDROW, FIXED24_BYTES)

// func fixed24Unpacked2AVX2(a *nvfp4Args)
TEXT ·fixed24Unpacked2AVX2(SB), NOSPLIT, $0-8
	UNPACKED(FEW2, FIXEDROW, FIXED24_BYTES)

// func fixed24Unpacked3AVX2(a *nvfp4Args)
TEXT ·fixed24Unpacked3AVX2(SB), NOSPLIT, $0-8
	UNPACKED(FEW3, FIXEDROW, FIXED24_BYTES)

// func fixed24Unpacked4AVX2(a *nvfp4Args)
TEXT ·fixed24Unpacked4AVX2(SB), NOSPLIT, $0-8
	UNPACKED(FEW4, FIXEDROW, FIXED24_BYTES)
