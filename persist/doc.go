// Package persist keeps bytes across restarts in two bbolt files and knows nothing about what they mean.
//
// A Settings file holds small JSON values and a log of results. It is synced on every write, copied before a migration and
// never discarded. A Cache file holds records: a node entry (a small value the caller can rebuild its index from) and the blobs
// it needs, shared by reference count between records. The cache is disposable: whatever is wrong with it costs warmth, never
// truth and never the start of the service.
//
// # How long a value lives
//
// Every slice handed out is a copy, or is valid only until the function it was handed to returns: the chunk that Load passes to
// its callback is overwritten by the next one. Slices handed in with a Record belong to persist until Record.Done is called and
// must not change before; all other arguments are copied before the call returns. No read transaction outlives the copying of
// one chunk, so a slow reader never keeps pages from being reused and never makes the writer wait.
//
// # What is stored
//
//	meta                     schema, bytes written today, when each fingerprint was last opened
//	gens/<fingerprint>/
//	    nodes    key         -> value, blob list
//	    uses     key         -> last use, hits, pinned
//	    blobs    kind+key    -> blob id, length, number of chunks, checksum over the chunks' checksums
//	    chunks   id+index    -> up to 256 KiB, CRC-32C
//
// A record exists if and only if its node entry does; chunks are written before it, blob entries with it. Reference counts are
// not stored: they are counted from the node entries at every start, so they cannot drift. Checksums cover the fingerprint and
// the key beside the value, so a value that turns up in another place is refused as well.
//
// # Who may call what
//
// All methods of Settings and Cache may be called from any goroutine. One goroutine of the cache writes, in transactions of about
// 8 MiB; Load runs beside it and beside other Loads. Callbacks (Load's, Options.Score, Record.Done) must not call back into the
// same Cache, except that Load's callback may. Two processes never share a file: the second waits for the lock, then gets
// ErrLocked with the holder's process id.
//
// # When something is wrong
//
// A failed write (full or read-only disk, I/O error) turns a cache off: one log line, Stats().Off says why, writes return ErrOff,
// reads go on. A process that runs under RLIMIT_FSIZE must ignore SIGXFSZ, or the kernel ends it first. A file whose pages do not
// make sense is moved aside and a fresh one begun. Pages are checked before bbolt sees
// them, because bbolt answers a bad page with a panic, at open even in a goroutine of its own. Panics and memory faults inside
// a transaction are contained and treated as damage. What cannot be contained: a page that goes bad while the file is open and
// is met by the rescan that bbolt starts after a failed commit.
//
// A power cut on an honest disk loses at most the transaction it fell into. On a disk that reorders writes the last transaction may
// be torn; then the one before is used, which copy on write left whole. Where such a disk dropped a page whose place held an
// earlier state of the same tree, that state comes back: bbolt's pages carry no version that would tell. Blobs are bound to their
// keys, so that this costs records, never right bytes; a setting may return to an earlier value of its own.
//
// # Budgets
//
// The disk budget caps the file's size. A part of it is kept for deletions, which copy what stays of the pages they touch, and a
// part is lost to scattered free pages: a few per cent of gigabytes, half of 24 MiB. A damaged file that was moved aside is not
// counted.
//
// Opening takes about 0.1 s per GiB when the file is in memory and 0.3 s when it is not (virtual NVMe, two cores), most of it to
// check every page's header, so OpenCache belongs on a goroutine beside the loading of the model.
package persist
