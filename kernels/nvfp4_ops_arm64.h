// Instructions that Go's assembler lacks.

// A lane of the last operand of SDOT and FMUL_LANE.
#define LANE0 0
#define LANE1 (1<<21)
#define LANE2 (1<<11)
#define LANE3 ((1<<21)|(1<<11))

// SDOT Vd.4S, Vn.16B, Vm.4B[i]
#define SDOT(i, m, n, d) WORD $(0x4F80E000 | i | (m)<<16 | (n)<<5 | (d))

// FMUL Vd.4S, Vn.4S, Vm.S[0]
#define FMUL_LANE0(m, n, d) WORD $(0x4F809000 | (m)<<16 | (n)<<5 | (d))

// FMUL, FADD, FSUB, FMAX, FMIN Vd.4S, Vn.4S, Vm.4S
#define FMUL(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
#define FADD(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(m, n, d) WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d))
#define FMAX(m, n, d) WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d) WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))

// FMLA Vd.4S, Vn.4S, Vm.4S
#define FMLA(m, n, d) WORD $(0x4E20CC00 | (m)<<16 | (n)<<5 | (d))

// SCVTF, FCVTNS Vd.4S, Vn.4S
#define SCVTF(n, d) WORD $(0x4E21D800 | (n)<<5 | (d))
#define FCVTNS(n, d) WORD $(0x4E21A800 | (n)<<5 | (d))

// FCVTL Vd.4S, Vn.4H and FCVTL2 Vd.4S, Vn.8H: the lower and the upper four halves.
#define FCVTL(n, d) WORD $(0x0E217800 | (n)<<5 | (d))
#define FCVTL2(n, d) WORD $(0x4E217800 | (n)<<5 | (d))

// SHL Vd.4S, Vn.4S, #8
#define SHL8(n, d) WORD $(0x4F285400 | (n)<<5 | (d))

// SRSHR Vd.4S, Vn.4S, #8
#define SRSHR8(n, d) WORD $(0x4F382400 | (n)<<5 | (d))

// MOVI Vd.2D, #0
#define ZERO(d) WORD $(0x6F00E400 | (d))

// UMAX Vd.4S, Vn.4S, Vm.4S and UMAXV Sd, Vn.4S
#define UMAX(m, n, d) WORD $(0x6EA06400 | (m)<<16 | (n)<<5 | (d))
#define UMAXV(n, d) WORD $(0x6EB0A800 | (n)<<5 | (d))

// SADDLV Hd, Vn.16B
#define SADDLV(n, d) WORD $(0x4E303800 | (n)<<5 | (d))

// ORR, BIC Vd.16B, Vn.16B, Vm.16B: BIC clears the bits of Vm.
#define BIC(m, n, d) WORD $(0x4E601C00 | (m)<<16 | (n)<<5 | (d))
