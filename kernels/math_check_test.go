package kernels

import "testing"

// TestVectorSelfChecks runs the registered checks at every level: none may fail, and a spoiled operand must be noticed.
func TestVectorSelfChecks(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, c := range checks {
			if err := c.run(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
	x := checkVector(5, 1)
	y := append([]float32{}, x...)
	y[4] = -y[4]
	if checkSame(y, x) == nil {
		t.Error("a wrong sign passed")
	}
}
