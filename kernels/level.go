package kernels

import (
	"fmt"
	"strings"
)

// Level names a set of instructions. Every level computes the same bits.
type Level uint8

const (
	Generic Level = iota // the Go reference
	AVX2                 // amd64: AVX2, FMA, F16C
	AVX512               // amd64: AVX2 and AVX-512 F, BW, DQ, VL, VNNI
	NEON                 // arm64: Advanced SIMD with dot product
)

var levelNames = [...]string{Generic: "generic", AVX2: "avx2", AVX512: "avx512", NEON: "neon"}

func (l Level) String() string { return levelNames[l] }

// level is what dispatchers look at. It changes only in Use, before any kernel runs, and in tests.
var level = Best()

// Best is the highest level this CPU has.
func Best() Level {
	best := Generic
	for l := range levelNames {
		if supported(Level(l)) {
			best = Level(l)
		}
	}
	return best
}

// Levels lists what this CPU can run, lowest first; Generic is always there.
func Levels() []Level {
	var ls []Level
	for l := range levelNames {
		if Level(l) == Generic || supported(Level(l)) {
			ls = append(ls, Level(l))
		}
	}
	return ls
}

// Active is the level in use.
func Active() Level { return level }

// Use forces a level. It fails when the CPU lacks it. Call it before any kernel runs.
func Use(l Level) error {
	if l != Generic && !supported(l) {
		return fmt.Errorf("this CPU lacks %s; it has %v", l, Levels())
	}
	level = l
	return nil
}

// ParseLevel reads a level's name; "" and "auto" mean Best.
func ParseLevel(name string) (Level, error) {
	if name == "" || name == "auto" {
		return Best(), nil
	}
	for l, n := range levelNames {
		if n == strings.ToLower(name) {
			return Level(l), nil
		}
	}
	return Generic, fmt.Errorf("unknown instruction level %q: want auto, generic, avx2, avx512 or neon", name)
}
