#include "textflag.h"
#include "exp_amd64.h"

// Each constant fills 32 bytes: AVX2 reads eight, AVX-512 broadcasts the first.
#define ROW(offset, pair) \
	DATA ·expTable+(offset+0)(SB)/8, $pair \
	DATA ·expTable+(offset+8)(SB)/8, $pair \
	DATA ·expTable+(offset+16)(SB)/8, $pair \
	DATA ·expTable+(offset+24)(SB)/8, $pair

ROW(0, 0xC2D00000C2D00000) // expMin
ROW(32, 0x42B2000042B20000) // expMax
ROW(64, 0x4B4000004B400000) // toInt
ROW(96, 0x3FB8AA3B3FB8AA3B) // log2E
ROW(128, 0xBF317218BF317218) // -ln2Hi
ROW(160, 0x3102E3083102E308) // -ln2Lo
ROW(192, 0x3AB5112B3AB5112B) // expC6
ROW(224, 0x3C091D813C091D81) // expC5
ROW(256, 0x3D2AAC7C3D2AAC7C) // expC4
ROW(288, 0x3E2AAA483E2AAA48) // expC3
ROW(320, 0x3EFFFFFE3EFFFFFE) // expC2
ROW(352, 0x3F8000003F800000) // 1, also log1pC[0]
ROW(384, 0x8000000080000000) // the sign bit
ROW(416, 0x4B3FFF024B3FFF02) // toIntBits - 2·127
ROW(448, 0xBEFFFFFABEFFFFFA) // log1pC[1]
ROW(480, 0x3EAAA9A73EAAA9A7) // log1pC[2]
ROW(512, 0xBE7FDEA2BE7FDEA2) // log1pC[3]
ROW(544, 0x3E4BAE663E4BAE66) // log1pC[4]
ROW(576, 0xBE24EC19BE24EC19) // log1pC[5]
ROW(608, 0x3DFE545A3DFE545A) // log1pC[6]
ROW(640, 0xBDA8D732BDA8D732) // log1pC[7]
ROW(672, 0x3D29E50A3D29E50A) // log1pC[8]
ROW(704, 0xBC5BAB33BC5BAB33) // log1pC[9]
ROW(736, 0x3B050DC23B050DC2) // log1pC[10]
GLOBL ·expTable(SB), RODATA|NOPTR, $768

// func expAVX512(dst, x *float32, n int)
TEXT ·expAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

loop:
	VMOVUPS (SI)(AX*4), Z0
	EXP16(Z0, Z1, Z2)
	VMOVUPS Z0, (DI)(AX*4)
	ADDQ    $16, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET

// func expAVX2(dst, x *float32, n int)
TEXT ·expAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

loop:
	VMOVUPS (SI)(AX*4), Y0
	EXP8(Y0, Y1, Y2)
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop
	VZEROUPPER
	RET
