package persist

import (
	"os"
)

// Clear deletes all records of all fingerprints by beginning a new file.
func (c *Cache) Clear() error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.unlock()
	c.fileMu.Lock()
	f := c.db
	c.db = nil
	c.fileMu.Unlock()
	c.mu.Lock()
	c.index.reset()
	c.mu.Unlock()
	err := os.Remove(c.path)
	if f != nil {
		f.abandon()
	}
	if err == nil {
		err = c.open(false)
	}
	if err != nil {
		c.turnOff(err.Error())
		return err
	}
	c.o.Log.Info("cache cleared", "file", c.path)
	return nil
}
