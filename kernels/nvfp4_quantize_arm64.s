#include "textflag.h"
#include "nvfp4_ops_arm64.h"

// E2M1Block: 16 codes, offset, scale. Fixed24Block: 3 × 16 digits, offset at 48, scale at 60.
#define E2M1_BYTES 24
#define FIXED24_BYTES 64

// MAGNITUDE puts the largest magnitude's bits of V0..V3 in R6. V31 is the mask of magnitudes.
#define MAGNITUDE \
	VAND  V31.B16, V0.B16, V4.B16; \
	VAND  V31.B16, V1.B16, V5.B16; \
	VAND  V31.B16, V2.B16, V6.B16; \
	VAND  V31.B16, V3.B16, V7.B16; \
	UMAX(4, 5, 4);                 \
	UMAX(6, 7, 6);                 \
	UMAX(4, 6, 4);                 \
	UMAXV(4, 4);                   \
	FMOVS F4, R6

// MINUS12SUM puts −12 times the sum of the 16 signed bytes of register n in R7. R9 is −12.
#define MINUS12SUM(n) \
	SADDLV(n, 20);      \
	VMOV V20.H[0], R7;  \
	MOVH R7, R7;        \
	MULW R9, R7, R7

// CONSTANT fills every lane of v with 32 bits, by way of R7.
#define CONSTANT(bits, v) \
	MOVD $bits, R7; \
	VDUP R7, v.S4

// ROUND2 rounds |v| (at most 6) to E2M1, doubled, with the sign of v, as int32. a and t are for it alone.
#define ROUND2(v, a, t, vv, va, vt) \
	VAND V31.B16, vv.B16, va.B16;  \
	FMIN(28, a, a);                \
	VAND V30.B16, va.B16, vt.B16;  \
	FMAX(27, t, t);                \
	FMUL(26, t, t);                \
	FADD(t, a, a);                 \
	FSUB(t, a, a);                 \
	FADD(a, a, a);                 \
	BIC(31, v, t);                 \
	VORR vt.B16, va.B16, va.B16;   \
	FCVTNS(a, v)

// func quantizeE2M1NEON(dst *E2M1Block, x *float32, blocks int, gs float32)
TEXT ·quantizeE2M1NEON(SB), NOSPLIT, $0-28
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD blocks+16(FP), R2
	FMOVS gs+24(FP), F16
	CONSTANT(0x7FFFFFFF, V31)
	CONSTANT(0x7F800000, V30) // power of two below
	CONSTANT(0x40C00000, V28) // 6
	CONSTANT(0x3F800000, V27) // 1
	CONSTANT(0x4A800000, V26) // 2^22
	CONSTANT(0x43E00000, V25) // 448
	CONSTANT(0x3C800000, V24) // 2^-6
	CONSTANT(0x49800000, V23) // 2^20
	CONSTANT(0x42800000, V22) // 64
	CONSTANT(0x7FC00000, V21)
	MOVD $-12, R9
	MOVD $0x7F800000, R8

quantize:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	MAGNITUDE
	CMPW   R8, R6
	BHS    quantizeNaN
	FDIVS  F28, F4, F4
	FMULS  F16, F4, F4
	FMINS  F25, F4, F4
	VAND   V30.B16, V4.B16, V5.B16
	FMAXS  F24, F5, F5
	FMULS  F23, F5, F5
	FADDS  F5, F4, F4
	FSUBS  F5, F4, F4 // sf
	FMOVS  F4, R6
	CBZW   R6, quantizeZero
	FDIVS  F4, F16, F5 // gs / sf
	FMULS  F22, F4, F17
	FMUL_LANE0(5, 0, 0)
	FMUL_LANE0(5, 1, 1)
	FMUL_LANE0(5, 2, 2)
	FMUL_LANE0(5, 3, 3)
	ROUND2(0, 4, 5, V0, V4, V5)
	ROUND2(1, 6, 7, V1, V6, V7)
	ROUND2(2, 18, 19, V2, V18, V19)
	ROUND2(3, 4, 5, V3, V4, V5)
	VUZP1  V1.H8, V0.H8, V0.H8
	VUZP1  V3.H8, V2.H8, V2.H8
	VUZP1  V2.B16, V0.B16, V0.B16
	MINUS12SUM(0)

quantizeStore:
	FMOVQ F0, (R0)
	MOVW  R7, 16(R0)
	FMOVS F17, 20(R0)
	ADD   $E2M1_BYTES, R0
	SUBS  $1, R2
	BNE   quantize
	RET

quantizeNaN:
	ZERO(0)
	MOVD  $0, R7
	FMOVS F21, F17
	B     quantizeStore

quantizeZero:
	ZERO(0)
	ZERO(17)
	MOVD $0, R7
	B    quantizeStore

// DIGIT narrows the low signed bytes of 16 int32 in V0..V3 to V4, stores them as plane p and takes them off: what is left is rounded to the nearest multiple of 256, halves up.
#define DIGIT(p) \
	VUZP1 V1.B16, V0.B16, V4.B16; \
	VUZP1 V3.B16, V2.B16, V5.B16; \
	VUZP1 V5.B16, V4.B16, V4.B16; \
	SRSHR8(0, 0);                 \
	SRSHR8(1, 1);                 \
	SRSHR8(2, 2);                 \
	SRSHR8(3, 3);                 \
	FMOVQ F4, (16*p)(R0)

// func fixed24NEON(dst *Fixed24Block, x *float32, blocks int)
TEXT ·fixed24NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD blocks+16(FP), R2
	CONSTANT(0x7FFFFFFF, V31)
	MOVD $-12, R9
	MOVD $0x7F800000, R8
	MOVD $27, R10
	MOVD $275, R11

fixed:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	MAGNITUDE
	CMPW   R8, R6
	BHS    fixedNaN
	LSR    $23, R6, R6
	CMP    R10, R6
	CSEL   HS, R6, R10, R6
	SUB    R6, R11, R12
	LSL    $23, R12, R12
	FMOVS  R12, F5
	SUB    $14, R6, R6
	LSL    $23, R6, R6
	MOVW   R6, 60(R0)
	FMUL_LANE0(5, 0, 0)
	FMUL_LANE0(5, 1, 1)
	FMUL_LANE0(5, 2, 2)
	FMUL_LANE0(5, 3, 3)
	FCVTNS(0, 0)
	FCVTNS(1, 1)
	FCVTNS(2, 2)
	FCVTNS(3, 3)
	VADD   V1.S4, V0.S4, V4.S4
	VADD   V3.S4, V2.S4, V5.S4
	VADD   V5.S4, V4.S4, V4.S4
	VADDV  V4.S4, V4
	FMOVS  F4, R7
	MULW   R9, R7, R7
	MOVW   R7, 48(R0)
	MOVD   ZR, 52(R0)
	DIGIT(0)
	DIGIT(1)
	DIGIT(2)

fixedNext:
	ADD  $FIXED24_BYTES, R0
	SUBS $1, R2
	BNE  fixed
	RET

fixedNaN:
	ZERO(0)
	FSTPQ (F0, F0), (R0)
	FSTPQ (F0, F0), 32(R0)
	MOVW  $0x7FC00000, R6
	MOVW  R6, 60(R0)
	B     fixedNext
