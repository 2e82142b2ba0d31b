package persist

import (
	"context"
	"os"
	"time"
)

// CompactFile rewrites a cache file without its free pages while no process has it open, whatever its fingerprints are. It fails
// with a LockedError, or with ErrDamaged, and then leaves the file as it was.
func CompactFile(ctx context.Context, path string, wait time.Duration) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	old, err := openFile(opening{path: path, wait: wait})
	if err != nil {
		return err
	}
	fresh, err := compactFile(ctx.Err, old, 0)
	if err != nil {
		old.close()
		return err
	}
	old.close()
	return fresh.close()
}

// ClearFile deletes a cache file while no process has it open.
func ClearFile(path string, wait time.Duration) error {
	f, err := lockFile(path, false, wait)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(path)
}
