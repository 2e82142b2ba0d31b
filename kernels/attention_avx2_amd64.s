#include "textflag.h"
#include "exp_amd64.h"

// Attention for AVX2. A vector pair Y12, Y13 is 16 positions of a key's dimension, or 16 dimensions of a value; query i of the
// tile has accumulators Y(2i), Y(2i+1). The 32 of a page or step take two passes.
//
// DI results, DX queries or weights, SI keys or values, BX what to prefetch, CX loop count.

#define STEP 1536 // bytes between steps of a tile's accumulators: 12 queries of 32 float32

// One vector pair as stored, without moving SI.
#define LOAD_F32 \
	VMOVUPS (SI), Y12; \
	VMOVUPS 32(SI), Y13

#define LOAD_BF16 \
	VPMOVZXWD (SI), Y12; \
	VPMOVZXWD 16(SI), Y13; \
	VPSLLD    $16, Y12, Y12; \
	VPSLLD    $16, Y13, Y13

// E4M3 to the float16 with the same bits: sign, an exponent bit of 0, the other 7.
#define LOAD_FP8 \
	VPMOVZXBW    (SI), Y13; \
	VPSLLW       $8, Y13, Y13; \
	VPSRAW       $1, Y13, Y13; \
	VPAND        Y15, Y13, Y13; \
	VCVTPH2PS    X13, Y12; \
	VEXTRACTI128 $1, Y13, X13; \
	VCVTPH2PS    X13, Y13

#define SIZE_F32  4
#define SIZE_BF16 2
#define SIZE_FP8  1

#define AHEAD_F32 \
	PREFETCHT0 (BX); \
	ADDQ       $64, BX

#define AHEAD_BF16 \
	PREFETCHT0 (BX); \
	ADDQ       $32, BX

#define AHEAD_FP8 \
	PREFETCHT0 (BX); \
	ADDQ       $16, BX

#define MASK_F32
#define MASK_BF16
#define MASK_FP8 \
	MOVL         $0xBFFFBFFF, AX; \
	VMOVD        AX, X15; \
	VPBROADCASTD X15, Y15

#define FMA2(from, a0, a1) \
	VBROADCASTSS from, Y14; \
	VFMADD231PS  Y12, Y14, a0; \
	VFMADD231PS  Y13, Y14, a1

#define SCALE2(off, factor, a0, a1) \
	VBROADCASTSS factor, Y14; \
	VMULPS       off(DI), Y14, a0; \
	VMULPS       (off+32)(DI), Y14, a1

#define STORE2(off, a0, a1) \
	VMOVUPS a0, off(DI); \
	VMOVUPS a1, (off+32)(DI)

#define ZERO2(a0, a1) \
	VXORPS a0, a0, a0; \
	VXORPS a1, a1, a1

#define ZERO4 \
	ZERO2(Y0, Y1); \
	ZERO2(Y2, Y3); \
	ZERO2(Y4, Y5); \
	ZERO2(Y6, Y7)
#define ZERO6 \
	ZERO4; \
	ZERO2(Y8, Y9); \
	ZERO2(Y10, Y11)

// A step over d: 12 queries lie side by side.
#define QUERIES4 \
	FMA2(0(DX), Y0, Y1); \
	FMA2(4(DX), Y2, Y3); \
	FMA2(8(DX), Y4, Y5); \
	FMA2(12(DX), Y6, Y7)
#define QUERIES6 \
	QUERIES4; \
	FMA2(16(DX), Y8, Y9); \
	FMA2(20(DX), Y10, Y11)

// A step over positions: queries are 32 weights apart.
#define WEIGHTS1 \
	FMA2(0(DX), Y0, Y1)
#define WEIGHTS4 \
	WEIGHTS1; \
	FMA2(128(DX), Y2, Y3); \
	FMA2(256(DX), Y4, Y5); \
	FMA2(384(DX), Y6, Y7)
#define WEIGHTS6 \
	WEIGHTS4; \
	FMA2(512(DX), Y8, Y9); \
	FMA2(640(DX), Y10, Y11)

#define CORRECT1 \
	SCALE2(0, 0(R10), Y0, Y1)
#define CORRECT4 \
	CORRECT1; \
	SCALE2(128, 4(R10), Y2, Y3); \
	SCALE2(256, 8(R10), Y4, Y5); \
	SCALE2(384, 12(R10), Y6, Y7)
#define CORRECT6 \
	CORRECT4; \
	SCALE2(512, 16(R10), Y8, Y9); \
	SCALE2(640, 20(R10), Y10, Y11)

#define STORE1 \
	STORE2(0, Y0, Y1)
#define STORE4 \
	STORE1; \
	STORE2(128, Y2, Y3); \
	STORE2(256, Y4, Y5); \
	STORE2(384, Y6, Y7)
#define STORE6 \
	STORE4; \
	STORE2(512, Y8, Y9); \
	STORE2(640, Y10, Y11)

// func scores4F32AVX2(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4F32AVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ k+16(FP), R11
	MOVQ ahead+24(FP), BX
	MOVQ $2, R13
	MASK_F32

half:
	MOVQ R11, SI
	MOVQ q+8(FP), DX
	MOVQ dim+32(FP), CX
	ZERO4

loop:
	LOAD_F32
	ADDQ $(32*SIZE_F32), SI
	AHEAD_F32
	QUERIES4
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE4
	ADDQ $64, DI
	ADDQ $(16*SIZE_F32), R11
	DECQ R13
	JNZ  half
	VZEROUPPER
	RET

// func scores4BF16AVX2(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4BF16AVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ k+16(FP), R11
	MOVQ ahead+24(FP), BX
	MOVQ $2, R13
	MASK_BF16

half:
	MOVQ R11, SI
	MOVQ q+8(FP), DX
	MOVQ dim+32(FP), CX
	ZERO4

loop:
	LOAD_BF16
	ADDQ $(32*SIZE_BF16), SI
	AHEAD_BF16
	QUERIES4
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE4
	ADDQ $64, DI
	ADDQ $(16*SIZE_BF16), R11
	DECQ R13
	JNZ  half
	VZEROUPPER
	RET

// func scores4FP8AVX2(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4FP8AVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ k+16(FP), R11
	MOVQ ahead+24(FP), BX
	MOVQ $2, R13
	MASK_FP8

half:
	MOVQ R11, SI
	MOVQ q+8(FP), DX
	MOVQ dim+32(FP), CX
	ZERO4

loop:
	LOAD_FP8
	ADDQ $(32*SIZE_FP8), SI
	AHEAD_FP8
	QUERIES4
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE4
	ADDQ $64, DI
	ADDQ $(16*SIZE_FP8), R11
	DECQ R13
	JNZ  half
	VZEROUPPER
	RET

// func scores6F32AVX2(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6F32AVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ k+16(FP), R11
	MOVQ ahead+24(FP), BX
	MOVQ $2, R13
	MASK_F32

half:
	MOVQ R11, SI
	MOVQ q+8(FP), DX
	MOVQ dim+32(FP), CX
	ZERO6

loop:
	LOAD_F32
	ADDQ $(32*SIZE_F32), SI
	AHEAD_F32
	QUERIES6
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE6
	ADDQ $64, DI
	ADDQ $(16*SIZE_F32), R11
	DECQ R13
	JNZ  half
	VZEROUPPER
	RET

// func scores6BF16AVX2(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6BF16AVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ k+16(FP), R11
	MOVQ ahead+24(FP), BX
	MOVQ $2, R13
	MASK_BF16

half:
	MOVQ R11, SI
	MOVQ q+8(FP), DX
	MOVQ dim+32(FP), CX
	ZERO6

loop:
	LOAD_BF16
	ADDQ $(32*SIZE_BF16), SI
	AHEAD_BF16
	QUERIES6
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE6
	ADDQ $64, DI
	ADDQ $(16*SIZE_BF16), R11
	DECQ R13
	JNZ  half
	VZEROUPPER
	RET

// func scores6FP8AVX2(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6FP8AVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ k+16(FP), R11
	MOVQ ahead+24(FP), BX
	MOVQ $2, R13
	MASK_FP8

half:
	MOVQ R11, SI
	MOVQ q+8(FP), DX
	MOVQ dim+32(FP), CX
	ZERO6

loop:
	LOAD_FP8
	ADDQ $(32*SIZE_FP8), SI
	AHEAD_FP8
	QUERIES6
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE6
	ADDQ $64, DI
	ADDQ $(16*SIZE_FP8), R11
	DECQ R13
	JNZ  half
	VZEROUPPER
	RET

// func values1F32AVX2(acc, p, corr *float32, v unsafe.Pointer, stride, steps, valid int)
TEXT ·values1F32AVX2(SB), NOSPLIT, $0-56
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ stride+32(FP), R12
	MOVQ steps+40(FP), R13
	MOVQ valid+48(FP), R8
	SHLQ $1, R13
	MASK_F32

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT1

loop:
	LOAD_F32
	ADDQ R12, SI
	WEIGHTS1
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE1
	ADDQ $(16*SIZE_F32), R11

	// the other half of this step, or the next one
	ADDQ  $64, DI
	DECQ  R13
	JZ    done
	TESTQ $1, R13
	JNZ   step
	ADDQ  $(STEP-128), DI
	JMP   step

done:
	VZEROUPPER
	RET

// func values4F32AVX2(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4F32AVX2(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
	SHLQ $1, R13
	MASK_F32

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT4

loop:
	LOAD_F32
	ADDQ R12, SI
	AHEAD_F32
	WEIGHTS4
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE4
	ADDQ $(16*SIZE_F32), R11

	// the other half of this step, or the next one
	ADDQ  $64, DI
	DECQ  R13
	JZ    done
	TESTQ $1, R13
	JNZ   step
	ADDQ  $(STEP-128), DI
	JMP   step

done:
	VZEROUPPER
	RET

// func values4BF16AVX2(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4BF16AVX2(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
	SHLQ $1, R13
	MASK_BF16

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT4

loop:
	LOAD_BF16
	ADDQ R12, SI
	AHEAD_BF16
	WEIGHTS4
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE4
	ADDQ $(16*SIZE_BF16), R11

	// the other half of this step, or the next one
	ADDQ  $64, DI
	DECQ  R13
	JZ    done
	TESTQ $1, R13
	JNZ   step
	ADDQ  $(STEP-128), DI
	JMP   step

done:
	VZEROUPPER
	RET

// func values4FP8AVX2(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4FP8AVX2(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
	SHLQ $1, R13
	MASK_FP8

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT4

loop:
	LOAD_FP8
	ADDQ R12, SI
	AHEAD_FP8
	WEIGHTS4
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE4
	ADDQ $(16*SIZE_FP8), R11

	// the other half of this step, or the next one
	ADDQ  $64, DI
	DECQ  R13
	JZ    done
	TESTQ $1, R13
	JNZ   step
	ADDQ  $(STEP-128), DI
	JMP   step

done:
	VZEROUPPER
	RET

// func values6F32AVX2(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6F32AVX2(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
	SHLQ $1, R13
	MASK_F32

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT6

loop:
	LOAD_F32
	ADDQ R12, SI
	AHEAD_F32
	WEIGHTS6
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE6
	ADDQ $(16*SIZE_F32), R11

	// the other half of this step, or the next one
	ADDQ  $64, DI
	DECQ  R13
	JZ    done
	TESTQ $1, R13
	JNZ   step
	ADDQ  $(STEP-128), DI
	JMP   step

done:
	VZEROUPPER
	RET

// func values6BF16AVX2(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6BF16AVX2(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
	SHLQ $1, R13
	MASK_BF16

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT6

loop:
	LOAD_BF16
	ADDQ R12, SI
	AHEAD_BF16
	WEIGHTS6
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE6
	ADDQ $(16*SIZE_BF16), R11

	// the other half of this step, or the next one
	ADDQ  $64, DI
	DECQ  R13
	JZ    done
	TESTQ $1, R13
	JNZ   step
	ADDQ  $(STEP-128), DI
	JMP   step

done:
	VZEROUPPER
	RET

// func values6FP8AVX2(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6FP8AVX2(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
	SHLQ $1, R13
	MASK_FP8

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT6

loop:
	LOAD_FP8
	ADDQ R12, SI
	AHEAD_FP8
	WEIGHTS6
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE6
	ADDQ $(16*SIZE_FP8), R11

	// the other half of this step, or the next one
	ADDQ  $64, DI
	DECQ  R13
	JZ    done
	TESTQ $1, R13
	JNZ   step
	ADDQ  $(STEP-128), DI
	JMP   step

done:
	VZEROUPPER
	RET

// func decodeBF16AVX2(dst *float32, src unsafe.Pointer, n int)
TEXT ·decodeBF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

loop:
	LOAD_BF16
	STORE2(0, Y12, Y13)
	ADDQ $32, SI
	ADDQ $64, DI
	SUBQ $16, CX
	JNZ  loop
	VZEROUPPER
	RET

// func decodeFP8AVX2(dst *float32, src unsafe.Pointer, n int)
TEXT ·decodeFP8AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MASK_FP8

loop:
	LOAD_FP8
	STORE2(0, Y12, Y13)
	ADDQ $16, SI
	ADDQ $64, DI
	SUBQ $16, CX
	JNZ  loop
	VZEROUPPER
	RET

// func scaleAddAVX2(dst, src *float32, a, b float32, n int)
TEXT ·scaleAddAVX2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	VBROADCASTSS a+16(FP), Y0
	VBROADCASTSS b+20(FP), Y1
	MOVQ         n+24(FP), CX

loop:
	VMULPS      (DI), Y0, Y2
	VFMADD231PS (SI), Y1, Y2
	VMOVUPS     Y2, (DI)
	ADDQ        $32, SI
	ADDQ        $32, DI
	SUBQ        $8, CX
	JNZ         loop
	VZEROUPPER
	RET

// 32 ones, then 32 zeros: a window that starts 32-v before the zeros admits the first v lanes.
DATA attnValid<>+0(SB)/8, $-1
DATA attnValid<>+8(SB)/8, $-1
DATA attnValid<>+16(SB)/8, $-1
DATA attnValid<>+24(SB)/8, $-1
DATA attnValid<>+32(SB)/8, $-1
DATA attnValid<>+40(SB)/8, $-1
DATA attnValid<>+48(SB)/8, $-1
DATA attnValid<>+56(SB)/8, $-1
DATA attnValid<>+64(SB)/8, $-1
DATA attnValid<>+72(SB)/8, $-1
DATA attnValid<>+80(SB)/8, $-1
DATA attnValid<>+88(SB)/8, $-1
DATA attnValid<>+96(SB)/8, $-1
DATA attnValid<>+104(SB)/8, $-1
DATA attnValid<>+112(SB)/8, $-1
DATA attnValid<>+120(SB)/8, $-1
DATA attnValid<>+128(SB)/8, $0
DATA attnValid<>+136(SB)/8, $0
DATA attnValid<>+144(SB)/8, $0
DATA attnValid<>+152(SB)/8, $0
DATA attnValid<>+160(SB)/8, $0
DATA attnValid<>+168(SB)/8, $0
DATA attnValid<>+176(SB)/8, $0
DATA attnValid<>+184(SB)/8, $0
DATA attnValid<>+192(SB)/8, $0
DATA attnValid<>+200(SB)/8, $0
DATA attnValid<>+208(SB)/8, $0
DATA attnValid<>+216(SB)/8, $0
DATA attnValid<>+224(SB)/8, $0
DATA attnValid<>+232(SB)/8, $0
DATA attnValid<>+240(SB)/8, $0
DATA attnValid<>+248(SB)/8, $0
GLOBL attnValid<>(SB), RODATA|NOPTR, $256

// With R12 at the window of attnValid, s becomes -Inf where a lane does not exist.
#define SCORE(off, s) \
	VMOVUPS   off(R12), Y14; \
	VBLENDVPS Y14, off(DX), Y15, s

// A weight: Exp(s - Y4), or 0 where the lane does not exist.
#define WEIGHT(off, x, t, n) \
	VMOVUPS off(DX), x; \
	VSUBPS  Y4, x, x; \
	EXP8(x, t, n); \
	VANDPS  off(R12), x, x; \
	VMOVUPS x, off(DX)

#define WINDOW \
	MOVLQSX (R9)(R11*4), CX; \
	NEGQ    CX; \
	LEAQ    attnValid<>+128(SB), R12; \
	LEAQ    (R12)(CX*4), R12

// func softmaxAVX2(s, m, corr, sum *float32, valid *[16]int32, n int)
TEXT ·softmaxAVX2(SB), NOSPLIT, $0-48
	MOVQ s+0(FP), DX
	MOVQ m+8(FP), SI
	MOVQ corr+16(FP), BX
	MOVQ valid+32(FP), R9
	MOVQ n+40(FP), R10
	MOVL         $0xFF800000, AX // -Inf
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15

	// The new maxima go to corr. A NaN score loses every comparison: it is the first operand of max, which yields the second.
	XORQ R11, R11

maxima:
	WINDOW
	SCORE(0, Y0)
	SCORE(32, Y1)
	SCORE(64, Y2)
	SCORE(96, Y3)
	VBROADCASTSS (SI)(R11*4), Y4
	VMAXPS       Y4, Y0, Y0
	VMAXPS       Y4, Y1, Y1
	VMAXPS       Y0, Y2, Y0
	VMAXPS       Y1, Y3, Y1
	VMAXPS       Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, (BX)(R11*4)
	ADDQ         $128, DX
	INCQ         R11
	CMPQ         R11, R10
	JLT          maxima

	// corr = Exp(m - m') of all queries; m = m'.
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS (BX), Y2
	VMOVUPS 32(BX), Y3
	VMOVUPS Y2, (SI)
	VMOVUPS Y3, 32(SI)
	VSUBPS  Y2, Y0, Y0
	VSUBPS  Y3, Y1, Y1
	EXP8(Y0, Y5, Y6)
	EXP8(Y1, Y8, Y9)
	VMOVUPS Y0, (BX)
	VMOVUPS Y1, 32(BX)
	MOVQ    s+0(FP), DX
	MOVQ    sum+24(FP), DI
	XORQ    R11, R11

weights:
	WINDOW
	VBROADCASTSS (SI)(R11*4), Y4
	WEIGHT(0, Y0, Y5, Y6)
	WEIGHT(32, Y1, Y8, Y9)
	WEIGHT(64, Y2, Y5, Y6)
	WEIGHT(96, Y3, Y8, Y9)
	VADDPS       Y2, Y0, Y0
	VADDPS       Y3, Y1, Y1
	VBROADCASTSS (BX)(R11*4), Y4
	VMOVUPS      (DI), Y2
	VMOVUPS      32(DI), Y3
	VFMADD213PS  Y0, Y4, Y2
	VFMADD213PS  Y1, Y4, Y3
	VMOVUPS      Y2, (DI)
	VMOVUPS      Y3, 32(DI)
	ADDQ         $128, DX
	ADDQ         $64, DI
	INCQ         R11
	CMPQ         R11, R10
	JLT          weights
	VZEROUPPER
	RET
