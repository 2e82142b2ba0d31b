// The vector exponential and sigmoid: the steps of Exp and Sigmoid (exp.go, math.go), eight or sixteen at a time. Include
// after textflag.h.
//
// MIN and MAX take the operand second, so that NaN passes.

#define EXP_MIN ·expTable+0(SB)
#define EXP_MAX ·expTable+32(SB)
#define EXP_TOINT ·expTable+64(SB)
#define EXP_LOG2E ·expTable+96(SB)
#define EXP_LN2HI ·expTable+128(SB)
#define EXP_LN2LO ·expTable+160(SB)
#define EXP_C6 ·expTable+192(SB)
#define EXP_C5 ·expTable+224(SB)
#define EXP_C4 ·expTable+256(SB)
#define EXP_C3 ·expTable+288(SB)
#define EXP_C2 ·expTable+320(SB)
#define EXP_ONE ·expTable+352(SB)
#define EXP_SIGN ·expTable+384(SB)
#define EXP_BIAS ·expTable+416(SB)
#define EXP_L1 ·expTable+448(SB)
#define EXP_L2 ·expTable+480(SB)
#define EXP_L3 ·expTable+512(SB)
#define EXP_L4 ·expTable+544(SB)
#define EXP_L5 ·expTable+576(SB)
#define EXP_L6 ·expTable+608(SB)
#define EXP_L7 ·expTable+640(SB)
#define EXP_L8 ·expTable+672(SB)
#define EXP_L9 ·expTable+704(SB)
#define EXP_L10 ·expTable+736(SB)

// EXP16 replaces the sixteen floats in x by their exponentials. t and n are clobbered. VSCALEFPS rounds a subnormal result
// once, as the two factors of Exp do.
#define EXP16(x, t, n) \
	VBROADCASTSS EXP_MAX, t \
	VMINPS x, t, x \
	VBROADCASTSS EXP_MIN, t \
	VMAXPS x, t, x \
	VBROADCASTSS EXP_TOINT, t \
	VFMADD231PS.BCST EXP_LOG2E, x, t \
	VSUBPS.BCST EXP_TOINT, t, n \
	VFMADD231PS.BCST EXP_LN2HI, n, x \
	VFMADD231PS.BCST EXP_LN2LO, n, x \
	VBROADCASTSS EXP_C6, t \
	VFMADD213PS.BCST EXP_C5, x, t \
	VFMADD213PS.BCST EXP_C4, x, t \
	VFMADD213PS.BCST EXP_C3, x, t \
	VFMADD213PS.BCST EXP_C2, x, t \
	VFMADD213PS.BCST EXP_ONE, x, t \
	VFMADD213PS.BCST EXP_ONE, x, t \
	VSCALEFPS n, t, x

// SIGMOID16 sets s to the sigmoid of x, which stays. t, n and K1 are clobbered.
#define SIGMOID16(x, s, t, n) \
	VPORD.BCST EXP_SIGN, x, s \
	EXP16(s, t, n) \
	VPMOVD2M x, K1 \
	VADDPS.BCST EXP_ONE, s, t \
	VBROADCASTSS EXP_ONE, n \
	VMOVAPS s, K1, n \
	VDIVPS t, n, s

// EXP8 is EXP16 for eight floats of AVX2.
#define EXP8(x, t, n) \
	VMOVUPS EXP_MAX, t \
	VMINPS x, t, x \
	VMOVUPS EXP_MIN, t \
	VMAXPS x, t, x \
	VMOVUPS EXP_TOINT, t \
	VFMADD231PS EXP_LOG2E, x, t \
	VSUBPS EXP_TOINT, t, n \
	VFMADD231PS EXP_LN2HI, n, x \
	VFMADD231PS EXP_LN2LO, n, x \
	VPSUBD EXP_BIAS, t, t \
	VMOVUPS EXP_C6, n \
	VFMADD213PS EXP_C5, x, n \
	VFMADD213PS EXP_C4, x, n \
	VFMADD213PS EXP_C3, x, n \
	VFMADD213PS EXP_C2, x, n \
	VFMADD213PS EXP_ONE, x, n \
	VFMADD213PS EXP_ONE, x, n \
	VPSRAD $1, t, x \
	VPSUBD x, t, t \
	VPSLLD $23, x, x \
	VPSLLD $23, t, t \
	VMULPS x, n, n \
	VMULPS t, n, x

// SIGMOID8 is SIGMOID16 for eight floats of AVX2. t and n are clobbered.
#define SIGMOID8(x, s, t, n) \
	VORPS EXP_SIGN, x, s \
	EXP8(s, t, n) \
	VADDPS EXP_ONE, s, t \
	VMOVUPS EXP_ONE, n \
	VBLENDVPS x, s, n, n \
	VDIVPS t, n, s
