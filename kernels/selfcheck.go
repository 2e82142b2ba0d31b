package kernels

import "fmt"

// A check compares one dispatched kernel with its reference on fixed operands and returns what differs.
type check struct {
	name string
	run  func() error
}

var checks []check

// registerCheck is called from init functions of the files that own an operation.
func registerCheck(name string, run func() error) { checks = append(checks, check{name, run}) }

// SelfCheck runs every kernel of the level in use against the reference on fixed operands. On a difference it falls back
// to Generic and returns what differed; the caller logs it.
func SelfCheck() error {
	for _, c := range checks {
		if err := c.run(); err != nil {
			failed := level
			level = Generic
			return fmt.Errorf("kernel %s at level %s differs from the reference, using %s instead: %w", c.name, failed, level, err)
		}
	}
	return nil
}
