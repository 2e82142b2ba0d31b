package persist

import (
	"time"
)

const (
	// chunkBytes is what one chunk carries: 256 KiB less room for key, checksum and headers, so that a chunk fills 64 pages and
	// four fill 256. Larger values need contiguous free pages and made the file grow (128 MiB: 149 MB at 256 KiB, 172 MB at
	// 1 MiB, 336 MB as single values of 32 MiB; bbolt v1.4.3).
	chunkBytes = 256<<10 - 64

	// batchBytes bounds one write transaction, so that a commit holds the disk and memory for a moment only.
	batchBytes = 8 << 20

	// batchOps bounds the number of entries in one write transaction, for records of many tiny parts.
	batchOps = 4096

	// maxKeyBytes bounds keys: callers use digests and short names; bbolt itself allows 32 KiB.
	maxKeyBytes = 256

	// maxNodeValueBytes bounds a node's value: 8,192 token ids of a ladder rung are 32 KiB, and every value is read at start.
	maxNodeValueBytes = 1 << 20

	// maxRecordBlobs bounds one record's blobs: 262,144 positions in pages of 32 are 8,192 pages, and a few states.
	maxRecordBlobs = 16384

	// maxBlobBytes bounds one blob: a state of the largest model is 157 MB.
	maxBlobBytes = 1 << 30

	// maxSettingBytes bounds one JSON value of settings; a benchmark result with samples is some 100 KB.
	maxSettingBytes = 4 << 20

	// maxResults bounds how many results of one kind List returns and Append keeps: ten a day for almost three years.
	maxResults = 10000

	// maxQueued bounds the records waiting to be written, beside Options.QueueBytes: the queue is searched linearly.
	maxQueued = 4096

	// minDiskBudgetBytes: a few runs of chunks, and room to delete some.
	minDiskBudgetBytes = 16 << 20

	// deleteRoomBytes, or a quarter of the disk budget, is a part of the budget into which only deletions may grow the file. A
	// deletion copies what stays of the pages it touches: up to 1.25 MiB in one piece at each end of a run of chunks. A file full
	// to the brim could not be emptied.
	deleteRoomBytes = 16 << 20

	// deleteRuns is how many runs of neighbouring blobs one transaction deletes, for the same reason.
	deleteRuns = 2

	// roomTries is how often more records are evicted when the free pages of a full file turn out too scattered.
	roomTries = 4

	// maxDamagedKept bounds the files moved aside: each may be as large as the disk budget.
	maxDamagedKept = 1

	// maxRenewals is how often one process begins a fresh cache after damage before it gives up: the disk is bad.
	maxRenewals = 3

	// compactMinBytes is the file size below which compaction is not worth a rewrite.
	compactMinBytes = 64 << 20

	// sweepStep is how many chunks one transaction of the sweep deletes, or how many blob ids it looks at: a few milliseconds.
	sweepStep = 256

	// maxPageDepth bounds the height of a tree in a file: with two keys a page, 2^48 pages.
	maxPageDepth = 48

	lockPoll = 50 * time.Millisecond // how often a held lock is tried again
)

// Defaults of Options.
const (
	DefaultLockTimeout = 10 * time.Second   // a predecessor that is shutting down during an update
	DefaultGrace       = 7 * 24 * time.Hour // an update may be rolled back within this time
	DefaultQueueBytes  = 1 << 30            // two records of 10,000 tokens of the largest model
	DefaultQuietDelay  = 3 * time.Second    // an agent's next turn usually comes sooner
	DefaultUsesEvery   = 5 * time.Minute    // how often last-use times are written
	DefaultDiskBudget  = 20 << 30           // bytes of the file
	DefaultDailyWrite  = 50 << 30           // bytes a day: 18 TB a year, a tenth of a small NVMe's endurance
	DefaultDiskReserve = int64(512) << 20   // free bytes left to everybody else on the disk
)
