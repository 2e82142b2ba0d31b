package persist

import (
	"log/slog"
	"time"
)

// Options are what OpenCache needs to know. Only Fingerprint must be set.
type Options struct {
	// Fingerprint stands for everything that must be the same for a stored byte to be usable. Records of another fingerprint are
	// misses; they are deleted Grace after their fingerprint was last opened, or earlier when room is needed.
	Fingerprint [32]byte
	Grace       time.Duration // 0: DefaultGrace

	DiskBudgetBytes  int64 // cap on the file; 0: DefaultDiskBudget
	DailyWriteBytes  int64 // bytes written to the file a day (UTC), counted across restarts; 0: DefaultDailyWrite
	DiskReserveBytes int64 // free bytes left on the disk; 0: DefaultDiskReserve, negative: none
	QueueBytes       int64 // bytes waiting to be written; 0: DefaultQueueBytes

	QuietDelay  time.Duration // how long after the last Queue or Load the writer begins; 0: DefaultQuietDelay, negative: at once
	UsesEvery   time.Duration // how often last-use times are written; 0: DefaultUsesEvery
	LockTimeout time.Duration // 0: DefaultLockTimeout

	// Score ranks records for eviction: the lowest goes first, pinned ones last. nil: least recently used.
	Score func(Info) float64

	Clock func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: silent

	failCommit func() error // tests: an error here takes the place of a commit
	noSync     bool         // tests
}

func (o *Options) fill() {
	defaultTo(&o.Grace, DefaultGrace)
	defaultTo(&o.DiskBudgetBytes, DefaultDiskBudget)
	defaultTo(&o.DailyWriteBytes, DefaultDailyWrite)
	defaultTo(&o.DiskReserveBytes, DefaultDiskReserve)
	defaultTo(&o.QueueBytes, DefaultQueueBytes)
	defaultTo(&o.QuietDelay, DefaultQuietDelay)
	defaultTo(&o.UsesEvery, DefaultUsesEvery)
	defaultTo(&o.LockTimeout, DefaultLockTimeout)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func defaultTo[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
