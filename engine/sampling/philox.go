package sampling

import "math/bits"

// philox4x32 is Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): ten
// rounds of two 32×32-bit products over a 128-bit counter.
func philox4x32(counter [4]uint32, key [2]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85 // golden ratio, √3 − 1
	)
	for range 10 {
		hi0, lo0 := bits.Mul32(m0, counter[0])
		hi1, lo1 := bits.Mul32(m1, counter[2])
		counter = [4]uint32{hi1 ^ counter[1] ^ key[0], lo1, hi0 ^ counter[3] ^ key[1], lo0}
		key[0] += w0
		key[1] += w1
	}
	return counter
}

// Uniform is the random number of the token at that index: 53 bits of Philox under the seed, in [0, 1).
func Uniform(seed, index uint64) float64 {
	r := philox4x32([4]uint32{uint32(index), uint32(index >> 32)}, [2]uint32{uint32(seed), uint32(seed >> 32)})
	return float64((uint64(r[1])<<32|uint64(r[0]))>>11) * 0x1p-53
}
