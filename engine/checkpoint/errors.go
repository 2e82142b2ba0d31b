package checkpoint

import (
	"errors"
	"fmt"
)

// ErrUnsupported is wrapped by errors about checkpoints that are sound, but of a kind that does not run here. Their text
// names what was found and what is supported.
var ErrUnsupported = errors.New("not supported")

// unsupportedf says "WHERE: WHAT is not supported; INSTEAD".
func unsupportedf(where, what, instead string) error {
	return fmt.Errorf("%s: %s is %w; %s", where, what, ErrUnsupported, instead)
}
