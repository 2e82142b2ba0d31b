#include "textflag.h"
#include "exp_amd64.h"

// Attention for AVX-512. A vector pair Z30, Z31 is 32 positions of a key's dimension, or 32 dimensions of a value; query i
// of the tile has accumulators Z(2i), Z(2i+1).
//
// DI results, DX queries or weights, SI keys or values, BX what to prefetch, CX loop count.

#define STEP 1536 // bytes between steps of a tile's accumulators: 12 queries of 32 float32

// One vector pair as stored, without moving SI.
#define LOAD_F32 \
	VMOVUPS (SI), Z30; \
	VMOVUPS 64(SI), Z31

#define LOAD_BF16 \
	VPMOVZXWD (SI), Z30; \
	VPMOVZXWD 32(SI), Z31; \
	VPSLLD    $16, Z30, Z30; \
	VPSLLD    $16, Z31, Z31

// E4M3 to the float16 with the same bits: sign, an exponent bit of 0, the other 7.
#define LOAD_FP8 \
	VPMOVZXBW     (SI), Z31; \
	VPSLLW        $8, Z31, Z31; \
	VPSRAW        $1, Z31, Z31; \
	VPANDD        Z29, Z31, Z31; \
	VEXTRACTI64X4 $1, Z31, Y30; \
	VCVTPH2PS     Y31, Z28; \
	VCVTPH2PS     Y30, Z31; \
	VMOVAPS       Z28, Z30

#define ADD_F32(r)  ADDQ $128, r
#define ADD_BF16(r) ADDQ $64, r
#define ADD_FP8(r)  ADDQ $32, r

#define AHEAD_F32 \
	PREFETCHT0 (BX); \
	PREFETCHT0 64(BX); \
	ADDQ       $128, BX

#define AHEAD_BF16 \
	PREFETCHT0 (BX); \
	ADDQ       $64, BX

#define AHEAD_FP8 \
	PREFETCHT0 (BX); \
	ADDQ       $32, BX

#define MASK_F32
#define MASK_BF16
#define MASK_FP8 \
	MOVL         $0xBFFFBFFF, AX; \
	VPBROADCASTD AX, Z29

#define FMA2(from, a0, a1) \
	VBROADCASTSS from, Z28; \
	VFMADD231PS  Z30, Z28, a0; \
	VFMADD231PS  Z31, Z28, a1

#define SCALE2(off, factor, a0, a1) \
	VBROADCASTSS factor, Z28; \
	VMULPS       off(DI), Z28, a0; \
	VMULPS       (off+64)(DI), Z28, a1

#define STORE2(off, a0, a1) \
	VMOVUPS a0, off(DI); \
	VMOVUPS a1, (off+64)(DI)

#define ZERO2(a0, a1) \
	VPXORD a0, a0, a0; \
	VPXORD a1, a1, a1

#define ZERO4 \
	ZERO2(Z0, Z1); \
	ZERO2(Z2, Z3); \
	ZERO2(Z4, Z5); \
	ZERO2(Z6, Z7)
#define ZERO6 \
	ZERO4; \
	ZERO2(Z8, Z9); \
	ZERO2(Z10, Z11)
#define ZERO12 \
	ZERO6; \
	ZERO2(Z12, Z13); \
	ZERO2(Z14, Z15); \
	ZERO2(Z16, Z17); \
	ZERO2(Z18, Z19); \
	ZERO2(Z20, Z21); \
	ZERO2(Z22, Z23)

// A step over d: 12 queries lie side by side.
#define QUERIES4 \
	FMA2(0(DX), Z0, Z1); \
	FMA2(4(DX), Z2, Z3); \
	FMA2(8(DX), Z4, Z5); \
	FMA2(12(DX), Z6, Z7)
#define QUERIES6 \
	QUERIES4; \
	FMA2(16(DX), Z8, Z9); \
	FMA2(20(DX), Z10, Z11)
#define QUERIES12 \
	QUERIES6; \
	FMA2(24(DX), Z12, Z13); \
	FMA2(28(DX), Z14, Z15); \
	FMA2(32(DX), Z16, Z17); \
	FMA2(36(DX), Z18, Z19); \
	FMA2(40(DX), Z20, Z21); \
	FMA2(44(DX), Z22, Z23)

// A step over positions: queries are 32 weights apart.
#define WEIGHTS1 \
	FMA2(0(DX), Z0, Z1)
#define WEIGHTS4 \
	WEIGHTS1; \
	FMA2(128(DX), Z2, Z3); \
	FMA2(256(DX), Z4, Z5); \
	FMA2(384(DX), Z6, Z7)
#define WEIGHTS6 \
	WEIGHTS4; \
	FMA2(512(DX), Z8, Z9); \
	FMA2(640(DX), Z10, Z11)
#define WEIGHTS12 \
	WEIGHTS6; \
	FMA2(768(DX), Z12, Z13); \
	FMA2(896(DX), Z14, Z15); \
	FMA2(1024(DX), Z16, Z17); \
	FMA2(1152(DX), Z18, Z19); \
	FMA2(1280(DX), Z20, Z21); \
	FMA2(1408(DX), Z22, Z23)

#define CORRECT1 \
	SCALE2(0, 0(R10), Z0, Z1)
#define CORRECT4 \
	CORRECT1; \
	SCALE2(128, 4(R10), Z2, Z3); \
	SCALE2(256, 8(R10), Z4, Z5); \
	SCALE2(384, 12(R10), Z6, Z7)
#define CORRECT6 \
	CORRECT4; \
	SCALE2(512, 16(R10), Z8, Z9); \
	SCALE2(640, 20(R10), Z10, Z11)
#define CORRECT12 \
	CORRECT6; \
	SCALE2(768, 24(R10), Z12, Z13); \
	SCALE2(896, 28(R10), Z14, Z15); \
	SCALE2(1024, 32(R10), Z16, Z17); \
	SCALE2(1152, 36(R10), Z18, Z19); \
	SCALE2(1280, 40(R10), Z20, Z21); \
	SCALE2(1408, 44(R10), Z22, Z23)

#define STORE1 \
	STORE2(0, Z0, Z1)
#define STORE4 \
	STORE1; \
	STORE2(128, Z2, Z3); \
	STORE2(256, Z4, Z5); \
	STORE2(384, Z6, Z7)
#define STORE6 \
	STORE4; \
	STORE2(512, Z8, Z9); \
	STORE2(640, Z10, Z11)
#define STORE12 \
	STORE6; \
	STORE2(768, Z12, Z13); \
	STORE2(896, Z14, Z15); \
	STORE2(1024, Z16, Z17); \
	STORE2(1152, Z18, Z19); \
	STORE2(1280, Z20, Z21); \
	STORE2(1408, Z22, Z23)

// func scores4F32AVX512(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4F32AVX512(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ q+8(FP), DX
	MOVQ k+16(FP), SI
	MOVQ ahead+24(FP), BX
	MOVQ dim+32(FP), CX
	MASK_F32
	ZERO4

loop:
	LOAD_F32
	ADD_F32(SI)
	AHEAD_F32
	QUERIES4
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE4
	VZEROUPPER
	RET

// func values4F32AVX512(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4F32AVX512(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
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
	ADDQ $STEP, DI
	ADD_F32(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func scores4BF16AVX512(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4BF16AVX512(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ q+8(FP), DX
	MOVQ k+16(FP), SI
	MOVQ ahead+24(FP), BX
	MOVQ dim+32(FP), CX
	MASK_BF16
	ZERO4

loop:
	LOAD_BF16
	ADD_BF16(SI)
	AHEAD_BF16
	QUERIES4
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE4
	VZEROUPPER
	RET

// func values4BF16AVX512(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4BF16AVX512(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
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
	ADDQ $STEP, DI
	ADD_BF16(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func scores4FP8AVX512(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores4FP8AVX512(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ q+8(FP), DX
	MOVQ k+16(FP), SI
	MOVQ ahead+24(FP), BX
	MOVQ dim+32(FP), CX
	MASK_FP8
	ZERO4

loop:
	LOAD_FP8
	ADD_FP8(SI)
	AHEAD_FP8
	QUERIES4
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE4
	VZEROUPPER
	RET

// func values4FP8AVX512(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values4FP8AVX512(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
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
	ADDQ $STEP, DI
	ADD_FP8(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func scores6F32AVX512(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6F32AVX512(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ q+8(FP), DX
	MOVQ k+16(FP), SI
	MOVQ ahead+24(FP), BX
	MOVQ dim+32(FP), CX
	MASK_F32
	ZERO6

loop:
	LOAD_F32
	ADD_F32(SI)
	AHEAD_F32
	QUERIES6
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE6
	VZEROUPPER
	RET

// func values6F32AVX512(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6F32AVX512(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
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
	ADDQ $STEP, DI
	ADD_F32(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func scores6BF16AVX512(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6BF16AVX512(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ q+8(FP), DX
	MOVQ k+16(FP), SI
	MOVQ ahead+24(FP), BX
	MOVQ dim+32(FP), CX
	MASK_BF16
	ZERO6

loop:
	LOAD_BF16
	ADD_BF16(SI)
	AHEAD_BF16
	QUERIES6
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE6
	VZEROUPPER
	RET

// func values6BF16AVX512(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6BF16AVX512(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
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
	ADDQ $STEP, DI
	ADD_BF16(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func scores6FP8AVX512(s, q *float32, k, ahead unsafe.Pointer, dim int)
TEXT ·scores6FP8AVX512(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ q+8(FP), DX
	MOVQ k+16(FP), SI
	MOVQ ahead+24(FP), BX
	MOVQ dim+32(FP), CX
	MASK_FP8
	ZERO6

loop:
	LOAD_FP8
	ADD_FP8(SI)
	AHEAD_FP8
	QUERIES6
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE6
	VZEROUPPER
	RET

// func values6FP8AVX512(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid int)
TEXT ·values6FP8AVX512(SB), NOSPLIT, $0-64
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ ahead+32(FP), BX
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
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
	ADDQ $STEP, DI
	ADD_FP8(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func scores12F32AVX512(s, q *float32, k, ahead unsafe.Pointer, dim, pace int)
TEXT ·scores12F32AVX512(SB), NOSPLIT, $0-48
	MOVQ s+0(FP), DI
	MOVQ q+8(FP), DX
	MOVQ k+16(FP), SI
	MOVQ ahead+24(FP), BX
	MOVQ dim+32(FP), CX
	MOVQ pace+40(FP), R8
	ZERO12

loop:
	LOAD_F32
	ADD_F32(SI)
	PREFETCHT0 (BX)
	ADDQ R8, BX
	QUERIES12
	ADDQ $48, DX
	DECQ CX
	JNZ  loop
	STORE12
	VZEROUPPER
	RET

// func values12F32AVX512(acc, p, corr *float32, v, ahead unsafe.Pointer, stride, steps, valid, pace int)
TEXT ·values12F32AVX512(SB), NOSPLIT, $0-72
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ stride+40(FP), R12
	MOVQ steps+48(FP), R13
	MOVQ valid+56(FP), R8
	MOVQ ahead+32(FP), BX
	MOVQ pace+64(FP), AX

step:
	MOVQ R11, SI
	MOVQ R9, DX
	MOVQ R8, CX
	CORRECT12

loop:
	LOAD_F32
	ADDQ R12, SI
	PREFETCHT0 (BX)
	ADDQ AX, BX
	WEIGHTS12
	ADDQ $4, DX
	DECQ CX
	JNZ  loop
	STORE12
	ADDQ $STEP, DI
	ADD_F32(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func values1F32AVX512(acc, p, corr *float32, v unsafe.Pointer, stride, steps, valid int)
TEXT ·values1F32AVX512(SB), NOSPLIT, $0-56
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), R9
	MOVQ corr+16(FP), R10
	MOVQ v+24(FP), R11
	MOVQ stride+32(FP), R12
	MOVQ steps+40(FP), R13
	MOVQ valid+48(FP), R8

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
	ADDQ $STEP, DI
	ADD_F32(R11)
	DECQ R13
	JNZ  step
	VZEROUPPER
	RET

// func decodeBF16AVX512(dst *float32, src unsafe.Pointer, n int)
TEXT ·decodeBF16AVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

loop:
	LOAD_BF16
	STORE2(0, Z30, Z31)
	ADDQ $64, SI
	ADDQ $128, DI
	SUBQ $32, CX
	JNZ  loop
	VZEROUPPER
	RET

// func decodeFP8AVX512(dst *float32, src unsafe.Pointer, n int)
TEXT ·decodeFP8AVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MASK_FP8

loop:
	LOAD_FP8
	STORE2(0, Z30, Z31)
	ADDQ $32, SI
	ADDQ $128, DI
	SUBQ $32, CX
	JNZ  loop
	VZEROUPPER
	RET

// func softmaxAVX512(s, m, corr, sum *float32, valid *[16]int32, n int)
TEXT ·softmaxAVX512(SB), NOSPLIT, $0-48
	MOVQ s+0(FP), DI
	MOVQ m+8(FP), SI
	MOVQ corr+16(FP), BX
	MOVQ sum+24(FP), R8
	MOVQ valid+32(FP), R9
	MOVQ n+40(FP), R10
	MOVL $0xFF800000, AX // -Inf
	VPBROADCASTD AX, Z15

	// The new maxima go to corr. A NaN score loses every comparison: it is the first operand of max, which yields the second.
	XORQ R11, R11
	MOVQ DI, DX

maxima:
	MOVL         (R9)(R11*4), CX
	MOVQ         $-1, AX
	BZHIQ        CX, AX, AX
	KMOVW        AX, K1
	SHRQ         $16, AX
	KMOVW        AX, K2
	VMOVAPS      Z15, Z0
	VMOVAPS      Z15, Z1
	VMOVUPS      (DX), K1, Z0
	VMOVUPS      64(DX), K2, Z1
	VBROADCASTSS (SI)(R11*4), Z2
	VMAXPS       Z2, Z0, Z2
	VMAXPS       Z2, Z1, Z2
	VEXTRACTF64X4 $1, Z2, Y3
	VMAXPS       Y3, Y2, Y2
	VEXTRACTF128 $1, Y2, X3
	VMAXPS       X3, X2, X2
	VPERMILPS    $0x4E, X2, X3
	VMAXPS       X3, X2, X2
	VPERMILPS    $0xB1, X2, X3
	VMAXPS       X3, X2, X2
	VMOVSS       X2, (BX)(R11*4)
	ADDQ         $128, DX
	INCQ         R11
	CMPQ         R11, R10
	JLT          maxima

	// corr = Exp(m - m') of all queries; m = m'.
	VMOVUPS (BX), Z1
	VMOVUPS (SI), Z0
	VMOVUPS Z1, (SI)
	VSUBPS  Z1, Z0, Z0
	EXP16(Z0, Z2, Z3)
	VMOVUPS Z0, (BX)
	XORQ    R11, R11

weights:
	MOVL         (R9)(R11*4), CX
	MOVQ         $-1, AX
	BZHIQ        CX, AX, AX
	KMOVW        AX, K1
	SHRQ         $16, AX
	KMOVW        AX, K2
	VBROADCASTSS (SI)(R11*4), Z4
	VMOVUPS      (DI), Z0
	VMOVUPS      64(DI), Z1
	VSUBPS       Z4, Z0, Z0
	VSUBPS       Z4, Z1, Z1
	EXP16(Z0, Z2, Z3)
	EXP16(Z1, Z5, Z6)
	VMOVAPS.Z    Z0, K1, Z0
	VMOVAPS.Z    Z1, K2, Z1
	VMOVUPS      Z0, (DI)
	VMOVUPS      Z1, 64(DI)
	VADDPS       Z1, Z0, Z0
	VBROADCASTSS (BX)(R11*4), Z2
	VMOVUPS      (R8), Z3
	VFMADD213PS  Z0, Z2, Z3
	VMOVUPS      Z3, (R8)
	ADDQ         $128, DI
	ADDQ         $64, R8
	INCQ         R11
	CMPQ         R11, R10
	JLT          weights
	VZEROUPPER
	RET
