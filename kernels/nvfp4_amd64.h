// Offsets in nvfp4Args.
#define ARG_W 0
#define ARG_SCALES 8
#define ARG_X 16
#define ARG_XSTRIDE 24
#define ARG_Y 32
#define ARG_YSTRIDE 40
#define ARG_BLOCKS 48
#define ARG_OUT 56
#define ARG_NEXT 64
#define ARG_NEXT_SCALES 72

// E2M1Block: 16 codes, offset, scale. Fixed24Block: 3 × 16 digits, offset at 48, scale at 60.
#define E2M1_BYTES 24
#define FIXED24_BYTES 64

// An unpacked block: 4 quads of 16 rows × 4 bytes, then 16 scales.
#define UNPACKED_BYTES 320

// How far ahead stored codes and their scales are fetched, in bytes: 9 of a matrix are 8 of codes and 1 of scales. Nearer, one
// thread does not fill the memory's latency; panels follow each other, so the end of one is no reason to stop.
#define CODES_AHEAD 16384
#define SCALES_AHEAD 2048
