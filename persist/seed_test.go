package persist

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// seeded returns a random source: always the same one in a plain run, so that a change is judged by what it changes; the
// clock's in a soak; PERSIST_SEED's to repeat a failure.
func seeded(t testing.TB) (*rand.Rand, uint64) {
	seed := uint64(1)
	if os.Getenv("PERSIST_SOAK") != "" {
		seed = uint64(time.Now().UnixNano())
	}
	if s, err := strconv.ParseUint(os.Getenv("PERSIST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 7)), seed
}

// soak is how many times longer a test runs; PERSIST_SOAK=50 for a night.
func soak() int {
	if n, err := strconv.Atoi(os.Getenv("PERSIST_SOAK")); err == nil && n > 0 {
		return n
	}
	return 1
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
