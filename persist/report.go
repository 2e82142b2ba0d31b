package persist

import (
	"time"
)

// Report is what is in a cache file.
type Report struct {
	Path                            string
	FileBytes, UsedBytes, FreeBytes int64 // free: pages in the file that hold nothing
	WrittenTodayBytes               int64 // as of the last write
	Generations                     []Generation
}

// Generation are the records of one fingerprint.
type Generation struct {
	Fingerprint [32]byte
	Opened      time.Time // when it was last in use
	Records     []Node    // ascending by key
	Blobs       int
	Bytes       int64
	BadEntries  int   // entries that fail verification, left out above
	BadBlobs    []Ref // blobs whose chunks fail verification; only when they were checked
	Orphans     int   // blobs in chunks without an entry; only when they were checked
}

// Bad is how much in the file fails verification.
func (r Report) Bad() (n int) {
	for _, g := range r.Generations {
		n += g.BadEntries + len(g.BadBlobs)
	}
	return n
}
