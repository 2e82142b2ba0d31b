package persist

import (
	"slices"
	"time"
)

// index is what is known in memory about the records of this fingerprint. Reference counts live only here.
type index struct {
	nodes     map[string]*node
	blobs     map[blobKey]*blob
	liveBytes int64 // cost of all nodes and blobs
}

type blobKey struct {
	kind byte
	key  string
}

type node struct {
	key     string
	bytes   int64 // of the entry
	blobs   []*blob
	lastUse time.Time
	hits    uint64
	pinned  bool
	dirty   bool // use differs from what is stored
}

type blob struct {
	blobKey
	blobEntry
	refs int  // records that name it, and one for each writer that is about to
	bad  bool // failed verification; a miss until its records are deleted
}

func (r Ref) index() blobKey { return blobKey{r.Kind, string(r.Key)} }

func (b *blob) ref() Ref { return Ref{b.kind, []byte(b.key)} }

// cost is what a blob takes in the file: chunks come in runs of pages, 2 to 4 to a run.
func (b *blob) cost() int64 { return costOfBlob(b.length) }

func costOfBlob(length int64) int64 {
	return length + chunksOf(length)*64 + 128
}

func costOfNode(entryBytes int) int64 { return int64(entryBytes) + 256 }

func (x *index) reset() {
	*x = index{nodes: map[string]*node{}, blobs: map[blobKey]*blob{}}
}

// add puts n in, whose blobs are counted already.
func (x *index) add(n *node) {
	x.nodes[n.key] = n
	x.liveBytes += n.bytes
}

func (x *index) addBlob(b *blob) {
	x.blobs[b.blobKey] = b
	x.liveBytes += b.cost()
}

// remove takes n out and returns the blobs that nobody names any more, which are taken out too.
func (x *index) remove(n *node) (orphans []*blob) {
	delete(x.nodes, n.key)
	x.liveBytes -= n.bytes
	return x.release(n.blobs)
}

func (x *index) release(blobs []*blob) (orphans []*blob) {
	for _, b := range blobs {
		if b.refs--; b.refs == 0 {
			delete(x.blobs, b.blobKey)
			x.liveBytes -= b.cost()
			orphans = append(orphans, b)
		}
	}
	return orphans
}

func (n *node) info() Info {
	in := Info{Key: []byte(n.key), Bytes: n.bytes, FreeBytes: n.bytes, LastUse: n.lastUse, Hits: n.hits, Pinned: n.pinned}
	for _, b := range n.blobs {
		in.Bytes += b.length
		if b.refs == 1 {
			in.FreeBytes += b.length
		}
	}
	return in
}

// users returns the records that name b.
func (x *index) users(b *blob) (out []*node) {
	for _, n := range x.nodes {
		if slices.Contains(n.blobs, b) {
			out = append(out, n)
		}
	}
	return out
}

// Infos returns what is known of every record, without reading the file, in no order.
func (c *Cache) Infos() []Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Info, 0, len(c.index.nodes))
	for _, n := range c.index.nodes {
		out = append(out, n.info())
	}
	return out
}

// Touch counts a use of key now. It is written later, with others.
func (c *Cache) Touch(key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.index.nodes[string(key)]; n != nil {
		n.lastUse, n.hits, n.dirty = c.o.Clock(), n.hits+1, true
	}
}

// Has reports whether a record of that key is stored.
func (c *Cache) Has(key []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index.nodes[string(key)] != nil
}

// HasBlob reports whether a stored record names that blob.
func (c *Cache) HasBlob(kind byte, key []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index.blobs[blobKey{kind, string(key)}] != nil
}
