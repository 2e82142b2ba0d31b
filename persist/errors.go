package persist

import (
	"errors"
	"fmt"
)

var (
	// ErrMiss: what was asked for is not there, or was there and is no longer trusted.
	ErrMiss = errors.New("persist: miss")
	// ErrOff: the cache has stopped writing; Stats().Off says why.
	ErrOff = errors.New("persist: cache is off")
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("persist: file is locked")
	// ErrNewer: the file was written by a newer version and was left alone.
	ErrNewer = errors.New("persist: file is from a newer version")
	// ErrDamaged: the file or value does not make sense.
	ErrDamaged = errors.New("persist: damaged")
	// ErrLimit: an argument is larger than limits.go allows, or cannot be right.
	ErrLimit = errors.New("persist: limit exceeded")
	// ErrFull: there is no room in the queue, the disk budget, the daily write budget or on the disk; the record was dropped.
	ErrFull = errors.New("persist: no room")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("persist: closed")
)

func damagedf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

func limitf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))
}

// LockedError names who holds a file. It is ErrLocked to errors.Is.
type LockedError struct {
	Path string
	PID  int    // 0 when unknown
	Name string // the process's name, empty when unknown
}

func (e *LockedError) Error() string {
	switch {
	case e.PID == 0:
		return fmt.Sprintf("persist: %s is locked by another process; stop it first", e.Path)
	case e.Name == "":
		return fmt.Sprintf("persist: %s is locked by process %d; stop it first", e.Path, e.PID)
	}
	return fmt.Sprintf("persist: %s is locked by process %d (%s); stop it first", e.Path, e.PID, e.Name)
}

func (e *LockedError) Is(target error) bool { return target == ErrLocked }
