package persist

import (
	"errors"
	"sync"
	"time"
)

// Cache is a disposable store of records; see the package comment.
type Cache struct {
	o    Options
	path string

	// writing is held (by sending to it) by whoever writes: the background writer, Flush, Put, Delete and the rest. It is taken
	// before mu and never while holding it.
	writing chan struct{}

	fileMu sync.RWMutex // held shared by a transaction, exclusively to swap db
	db     *file        // nil when there is no file at all

	mu        sync.Mutex // guards all below
	index     index
	queue     queue
	stats     Stats
	day       dailyBudget
	closed    bool
	told      toldReason
	flushers  int       // Flush calls under way; the background writer yields
	active    time.Time // last Queue or Load
	condemned []blobKey // blobs found bad by Load

	// Guarded by writing.
	garbage       []garbage     // blobs whose chunks are to be deleted
	strays        []stray       // entries to delete unless the index knows them
	foreign       []*foreignGen // once listed
	foreignListed bool
	sweep         sweep
	nextBlob      uint64
	renewals      int
	compactAfter  time.Time // not before, after a failed try
	epoch         int       // counts files
	overhead      int64     // room kept free because free pages were too scattered

	wake chan struct{}
	stop chan struct{}
	done chan struct{}
}

// OpenCache opens or creates the file at path. It fails only when another process holds the file (LockedError), the fingerprint is
// missing or the budget is below minDiskBudgetBytes; everything else that is wrong leaves a cache that is off, or a fresh one.
func OpenCache(path string, o Options) (*Cache, error) {
	o.fill()
	if o.Fingerprint == (fingerprint{}) {
		return nil, limitf("no fingerprint")
	}
	if o.DiskBudgetBytes < minDiskBudgetBytes {
		return nil, limitf("a disk budget of %d bytes, at least %d are needed", o.DiskBudgetBytes, minDiskBudgetBytes)
	}
	c := &Cache{o: o, path: path, writing: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{})}
	c.index.reset()
	c.queue.limitBytes = o.QueueBytes
	if err := c.openOrRenew(); err != nil {
		return nil, err
	}
	go c.run()
	return c, nil
}

// Close stops the background writer, writes last-use times and closes the file. Records still queued are dropped: Flush first.
func (c *Cache) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	close(c.stop)
	<-c.done
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	c.dropQueued(ErrClosed)
	err := c.writeUses()
	if errors.Is(err, ErrOff) {
		err = nil
	}
	c.fileMu.Lock()
	defer c.fileMu.Unlock()
	if c.db != nil {
		err = errors.Join(err, c.db.close())
		c.db = nil
	}
	return err
}

// lock takes the right to write; it fails when the cache is off or closed.
func (c *Cache) lock() error {
	c.writing <- struct{}{}
	if err := c.usable(); err != nil {
		<-c.writing
		return err
	}
	return nil
}

func (c *Cache) unlock() { <-c.writing }

func (c *Cache) usable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.stats.Off != "":
		return ErrOff
	}
	return nil
}

// turnOff ends writing until the next start. Reading goes on as long as the file lets it.
func (c *Cache) turnOff(reason string) {
	c.mu.Lock()
	first := c.stats.Off == ""
	if first {
		c.stats.Off = reason
	}
	c.mu.Unlock()
	if first {
		c.o.Log.Error("cache persistence is off until the next start; serving goes on", "file", c.path, "reason", reason)
		c.dropQueued(ErrOff)
	}
}
