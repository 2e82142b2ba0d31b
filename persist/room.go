package persist

import (
	"cmp"
	"slices"
	"syscall"
)

// makeRoom sees to it that n more bytes fit into the file, or says why not. What the batch holds is written first when records
// have to go.
func (c *Cache) makeRoom(b *batch, n int64) error {
	c.mu.Lock()
	c.day.roll(c.o.Clock())
	left := c.o.DailyWriteBytes - c.day.written - b.bytes
	c.mu.Unlock()
	need := n + n/8 + 256<<10 // pages are filled to seven eighths or better; the rest is for branch pages
	if n > left {
		return c.full("the daily write budget is used up")
	}
	if need > c.o.DiskBudgetBytes {
		return c.full("a record is larger than the disk budget")
	}
	if free, ok := diskFree(c.path); ok && free-c.o.DiskReserveBytes < need && c.space().free < need+b.bytes {
		return c.full("the disk is nearly full")
	}
	if c.roomInFile() >= need+b.bytes+c.overhead {
		return nil
	}
	if err := b.flush(); err != nil {
		return err
	}
	for {
		short := need + c.overhead - c.roomInFile()
		if short <= 0 {
			return nil
		}
		if err := c.freeSome(max(short, c.o.DiskBudgetBytes/64)); err != nil {
			return err
		}
	}
}

// full logs a reason once per day and reason.
func (c *Cache) full(reason string) error {
	c.mu.Lock()
	told := c.told
	c.told = toldReason{reason, c.day.day}
	c.mu.Unlock()
	if told != (toldReason{reason, c.day.day}) {
		c.o.Log.Warn("cache: records are not stored", "file", c.path, "reason", reason)
	}
	return ErrFull
}

type toldReason struct {
	reason string
	day    int64
}

// space says how the file's bytes are used.
func (c *Cache) space() fileSpace {
	c.fileMu.RLock()
	defer c.fileMu.RUnlock()
	if c.db == nil || c.db.broken.Load() {
		return fileSpace{}
	}
	return c.db.space()
}

// roomInFile is what can be written before the file would exceed insertCap: free pages and what it may still grow.
func (c *Cache) roomInFile() int64 {
	return c.insertCap() - c.space().used() - c.allocBytes()
}

// insertCap is how large writing records may make the file.
func (c *Cache) insertCap() int64 {
	return c.o.DiskBudgetBytes - min(deleteRoomBytes, c.o.DiskBudgetBytes/4)
}

// deleteCap is how large deleting may make the file: the disk budget, or a little more than it has where the budget was lowered.
func (c *Cache) deleteCap() int64 {
	if top := c.space().top; top > c.o.DiskBudgetBytes {
		return top + min(deleteRoomBytes, c.o.DiskBudgetBytes/4)
	}
	return c.o.DiskBudgetBytes
}

// allocBytes is how much bbolt grows a file beyond what it needs.
func (c *Cache) allocBytes() int64 { return max(64<<10, min(c.o.DiskBudgetBytes/64, 16<<20)) }

// freeSome frees about n bytes: what is waiting to be deleted, then records of other fingerprints, then ours by score.
func (c *Cache) freeSome(n int64) error {
	if len(c.garbage) > 0 {
		return c.collect()
	}
	if freed, err := c.evictForeign(n); freed || err != nil {
		return err
	}
	victims := c.victims(n)
	if len(victims) == 0 {
		return c.full("nothing is left to evict")
	}
	if err := c.deleteRecords(victims); err != nil {
		return err
	}
	c.count(func(s *Stats) { s.Evicted += uint64(len(victims)) })
	return c.collect()
}

// victims picks records to evict that free about n bytes together: lowest score first, pinned last.
func (c *Cache) victims(n int64) []*node {
	c.mu.Lock()
	infos := make([]Info, 0, len(c.index.nodes))
	for _, nd := range c.index.nodes {
		infos = append(infos, nd.info())
	}
	c.mu.Unlock()
	scores := make(map[string]float64, len(infos))
	if c.o.Score != nil {
		for _, in := range infos {
			scores[string(in.Key)] = c.o.Score(in)
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		if a.Pinned != b.Pinned {
			if a.Pinned {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(scores[string(a.Key)], scores[string(b.Key)]), a.LastUse.Compare(b.LastUse),
			cmp.Compare(string(a.Key), string(b.Key)))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*node
	refs := map[*blob]int{}
	for _, in := range infos {
		nd := c.index.nodes[string(in.Key)]
		if nd == nil {
			continue
		}
		out = append(out, nd)
		n -= nd.bytes
		for _, bl := range nd.blobs {
			if refs[bl]++; refs[bl] == bl.refs {
				n -= bl.cost()
			}
		}
		if n <= 0 {
			break
		}
	}
	return out
}

// diskFree is what an ordinary user may still write to the disk that holds path's folder.
func diskFree(path string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
