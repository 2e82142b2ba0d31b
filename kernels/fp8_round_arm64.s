#include "textflag.h"

// Instructions on Vd.4S, Vn.4S, Vm.4S that Go's assembler lacks. FMIN keeps NaN.
#define FDIV(m, n, d) WORD $(0x6E20FC00 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d) WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))
#define FMAX(m, n, d) WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
#define FMUL(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
#define FADD(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(m, n, d) WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d)) // Vn − Vm
#define CMHI(m, n, d) WORD $(0x6EA03400 | (m)<<16 | (n)<<5 | (d)) // unsigned Vn > Vm
#define BIC(m, n, d) WORD $(0x4E601C00 | (m)<<16 | (n)<<5 | (d)) // Vn &^ Vm
#define UMAX(m, n, d) WORD $(0x6EA06400 | (m)<<16 | (n)<<5 | (d))
#define UMAXV(n, d) WORD $(0x6EB0A800 | (n)<<5 | (d))

#define BROADCAST(bits, v) \
	MOVW bits, R3; \
	VDUP R3, v.S4

// absMaxNEON compares magnitudes as integers, in which order they are the same; those above infinity are NaN and become 0.

// func absMaxNEON(x *float32, n int) float32
TEXT ·absMaxNEON(SB), NOSPLIT, $0-20
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	BROADCAST($0x7FFFFFFF, V4)
	BROADCAST($0x7F800000, V5)
	VEOR V0.B16, V0.B16, V0.B16

loop:
	VLD1.P 16(R0), [V1.S4]
	VAND   V4.B16, V1.B16, V1.B16
	CMHI(5, 1, 2)
	BIC(2, 1, 1)
	UMAX(1, 0, 0)
	SUBS   $4, R1
	BNE    loop
	UMAXV(0, 0)
	FMOVS  F0, ret+16(FP)
	RET

// func roundE4M3NEON(dst, x *float32, n int, scale float32)
TEXT ·roundE4M3NEON(SB), NOSPLIT, $0-28
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
	MOVW scale+24(FP), R3
	VDUP R3, V4.S4
	BROADCAST($0x7FFFFFFF, V5)
	BROADCAST($0x43E00000, V6) // 448
	BROADCAST($0x7F800000, V7)
	BROADCAST($0x3C800000, V16) // 2⁻⁶
	BROADCAST($0x49800000, V17) // 2²⁰

loop:
	VLD1.P 16(R1), [V0.S4]
	FDIV(4, 0, 0)
	VAND   V5.B16, V0.B16, V1.B16
	VEOR   V1.B16, V0.B16, V0.B16 // sign
	FMIN(6, 1, 1)
	VAND   V7.B16, V1.B16, V2.B16
	FMAX(16, 2, 2)
	FMUL(17, 2, 2)
	FADD(2, 1, 1)
	FSUB(2, 1, 1)
	VORR   V0.B16, V1.B16, V1.B16
	VST1.P [V1.S4], 16(R0)
	SUBS   $4, R2
	BNE    loop
	RET
