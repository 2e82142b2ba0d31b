// The vector exponential and sigmoid: the steps of Exp and Sigmoid (exp.go, math.go), four at a time. Include after
// textflag.h. Macros take register numbers, destination last, since the assembler lacks these instructions.

// FADD Vd.4S, Vn.4S, Vm.4S
#define FADD4S(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
// FSUB Vd.4S, Vn.4S, Vm.4S
#define FSUB4S(m, n, d) WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d))
// FMUL Vd.4S, Vn.4S, Vm.4S
#define FMUL4S(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
// FDIV Vd.4S, Vn.4S, Vm.4S
#define FDIV4S(m, n, d) WORD $(0x6E20FC00 | (m)<<16 | (n)<<5 | (d))
// FMIN Vd.4S, Vn.4S, Vm.4S
#define FMIN4S(m, n, d) WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))
// FMAX Vd.4S, Vn.4S, Vm.4S
#define FMAX4S(m, n, d) WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
// FMLA Vd.4S, Vn.4S, Vm.4S
#define FMLA4S(m, n, d) WORD $(0x4E20CC00 | (m)<<16 | (n)<<5 | (d))
// FABS Vd.4S, Vn.4S
#define FABS4S(n, d) WORD $(0x4EA0F800 | (n)<<5 | (d))
// FNEG Vd.4S, Vn.4S
#define FNEG4S(n, d) WORD $(0x6EA0F800 | (n)<<5 | (d))
// SUB Vd.4S, Vn.4S, Vm.4S
#define SUB4S(m, n, d) WORD $(0x6EA08400 | (m)<<16 | (n)<<5 | (d))
// SSHR Vd.4S, Vn.4S, #shift
#define SSHR4S(shift, n, d) WORD $(0x4F000400 | (64-(shift))<<16 | (n)<<5 | (d))
// SHL Vd.4S, Vn.4S, #shift
#define SHL4S(shift, n, d) WORD $(0x4F005400 | (32+(shift))<<16 | (n)<<5 | (d))
// BSL Vd.16B, Vn.16B, Vm.16B
#define BSL16B(m, n, d) WORD $(0x6E601C00 | (m)<<16 | (n)<<5 | (d))
// MOV Vd.16B, Vn.16B
#define MOV16B(n, d) WORD $(0x4EA01C00 | (n)<<16 | (n)<<5 | (d))

// Registers of the constants, filled by EXP_LOAD.
#define EXP_MIN 16
#define EXP_MAX 17
#define EXP_TOINT 18
#define EXP_LOG2E 19
#define EXP_LN2HI 20
#define EXP_LN2LO 21
#define EXP_C6 22
#define EXP_C5 23
#define EXP_C4 24
#define EXP_C3 25
#define EXP_C2 26
#define EXP_ONE 27
#define EXP_BIAS 28

#define EXP_LOAD(pointer) \
	MOVD   $·expTable(SB), pointer \
	VLD1.P 64(pointer), [V16.S4, V17.S4, V18.S4, V19.S4] \
	VLD1.P 64(pointer), [V20.S4, V21.S4, V22.S4, V23.S4] \
	VLD1.P 64(pointer), [V24.S4, V25.S4, V26.S4, V27.S4] \
	VLD1.P 16(pointer), [V28.S4]

// EXP4 replaces the four floats in x by their exponentials. t, n and u are clobbered.
#define EXP4(x, t, n, u) \
	FMIN4S(EXP_MAX, x, x) \
	FMAX4S(EXP_MIN, x, x) \
	MOV16B(EXP_TOINT, t) \
	FMLA4S(EXP_LOG2E, x, t) \
	FSUB4S(EXP_TOINT, t, n) \
	FMLA4S(EXP_LN2HI, n, x) \
	FMLA4S(EXP_LN2LO, n, x) \
	SUB4S(EXP_BIAS, t, t) \
	MOV16B(EXP_C5, n) \
	FMLA4S(EXP_C6, x, n) \
	MOV16B(EXP_C4, u) \
	FMLA4S(n, x, u) \
	MOV16B(EXP_C3, n) \
	FMLA4S(u, x, n) \
	MOV16B(EXP_C2, u) \
	FMLA4S(n, x, u) \
	MOV16B(EXP_ONE, n) \
	FMLA4S(u, x, n) \
	MOV16B(EXP_ONE, u) \
	FMLA4S(n, x, u) \
	SSHR4S(1, t, x) \
	SUB4S(x, t, t) \
	SHL4S(23, x, x) \
	SHL4S(23, t, t) \
	FMUL4S(x, u, u) \
	FMUL4S(t, u, x)

// SIGMOID4 sets s to the sigmoid of x, which stays. t, n and u are clobbered.
#define SIGMOID4(x, s, t, n, u) \
	FABS4S(x, s) \
	FNEG4S(s, s) \
	EXP4(s, t, n, u) \
	FADD4S(EXP_ONE, s, t) \
	SSHR4S(31, x, n) \
	BSL16B(EXP_ONE, s, n) \
	FDIV4S(t, n, s)
