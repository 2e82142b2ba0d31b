package persist

// dropCondemned deletes the records whose blobs Load found bad.
func (c *Cache) dropCondemned() {
	c.mu.Lock()
	var nodes []*node
	for _, k := range c.condemned {
		if b := c.index.blobs[k]; b != nil && b.bad {
			nodes = append(nodes, c.index.users(b)...)
		}
	}
	c.condemned = nil
	c.mu.Unlock()
	if len(nodes) > 0 {
		c.deleteRecords(nodes)
	}
}

// dropStrays deletes entries that the index does not know.
func (c *Cache) dropStrays() error {
	for len(c.strays) > 0 {
		some := c.strays[:min(len(c.strays), batchOps)]
		c.mu.Lock()
		var gone []stray
		for _, s := range some {
			if !c.index.knows(s) {
				gone = append(gone, s)
			}
		}
		c.mu.Unlock()
		err := c.commit(c.o.Fingerprint, c.deleteCap(), func(g gen) error {
			for _, s := range gone {
				if err := g.bucket(s.bucket).Delete(s.key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.strays = c.strays[len(some):]
	}
	return nil
}

func (x *index) knows(s stray) bool {
	if string(s.bucket) == "blobs" {
		return len(s.key) > 0 && x.blobs[blobKey{s.key[0], string(s.key[1:])}] != nil
	}
	return x.nodes[string(s.key)] != nil
}

// tidy does the small deletions that writing left behind. The caller holds writing and has no open batch.
func (c *Cache) tidy() {
	c.dropCondemned()
	if c.dropStrays() == nil {
		c.collect()
	}
}
