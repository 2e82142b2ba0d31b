package appliance

import "testing"

func TestParseMeminfo(t *testing.T) {
	const text = "MemTotal:       24689176 kB\nMemFree:        20000000 kB\nMemAvailable:   22000000 kB\nHugePages_Total:       0\nBad: x kB\n"
	for key, want := range map[string]int64{"MemTotal": 24689176 << 10, "MemAvailable": 22000000 << 10, "Mem": 0, "Bad": 0, "Gone": 0} {
		if got := parseMeminfo(text, key); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
}

func TestLeastBytes(t *testing.T) {
	for _, tt := range [][3]int64{{0, 0, 0}, {5, 0, 5}, {0, 5, 5}, {4, 5, 4}, {5, 4, 4}} {
		if got := leastBytes(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%d and %d: %d", tt[0], tt[1], got)
		}
	}
}
