package kernels

import "testing"

// TestYardsticks: the sum sees every byte, and the loops count their work.
func TestYardsticks(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		b := guarded(t, make([]byte, 512*9))
		before := SumBytes(b)
		for i := 0; i < len(b); i += 8 {
			b[i] = 1
			if got := SumBytes(b); got != before+1 {
				t.Fatalf("byte %d: sum %d", i, got)
			}
			b[i] = 0
		}
		if FMAPeak(10) <= 0 || NVFP4InnerPeak(10) <= 0 || NVFP4Fixed24InnerPeak(10) <= 0 {
			t.Error("no work")
		}
	})
}
