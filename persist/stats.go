package persist

// Stats are figures for metrics. Counters begin at 0 with each OpenCache.
type Stats struct {
	Off string // why writing is off; empty: it is on

	Records, Pinned, Blobs          int
	LiveBytes, FileBytes, FreeBytes int64 // stored by records; the file's size; what is free within it
	QueuedRecords                   int
	QueuedBytes                     int64
	WrittenTodayBytes               int64 // bytes written to the file today (UTC), across restarts

	Hits, Misses uint64 // of Load
	LoadedBytes  uint64
	Stored       uint64 // records written
	WrittenBytes uint64 // to the file, page overhead included
	Evicted      uint64 // records removed to make room
	Dropped      uint64 // records not written: no room, daily budget, off, shut down
	Bad          uint64 // entries or chunks that failed verification and were removed
	DamagedFiles uint64 // files moved aside
	SteppedBack  uint64 // times the last transaction was damaged and the one before was used
	Compactions  uint64
	OrphanBlobs  uint64 // blobs without a record whose chunks were swept
}

// Stats returns the figures of this moment.
func (c *Cache) Stats() Stats {
	space := c.space()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.FileBytes, s.FreeBytes = space.file, space.file-space.used()
	s.Records, s.Blobs, s.LiveBytes = len(c.index.nodes), len(c.index.blobs), c.index.liveBytes
	for _, n := range c.index.nodes {
		if n.pinned {
			s.Pinned++
		}
	}
	s.QueuedRecords, s.QueuedBytes = len(c.queue.items), c.queue.bytes
	s.WrittenTodayBytes = c.day.written
	return s
}

// count changes a counter.
func (c *Cache) count(change func(*Stats)) {
	c.mu.Lock()
	change(&c.stats)
	c.mu.Unlock()
}
