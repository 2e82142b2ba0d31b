package persist

import (
	"go.etcd.io/bbolt"
)

// copyBuckets copies all entries in transactions of about batchBytes.
func copyBuckets(goOn func() error, to, from *file) error {
	p := &copier{goOn: goOn, to: to}
	err := from.view(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return p.bucket(b, [][]byte{name}) })
	})
	if err != nil {
		return err
	}
	for range 2 { // twice: both meta pages know the last state
		if err := p.flush(); err != nil {
			return err
		}
	}
	return nil
}

// copier collects entries, which stay valid as long as the read transaction they come from.
type copier struct {
	goOn  func() error
	to    *file
	ops   []copied
	bytes int
}

type copied struct {
	path       [][]byte
	key, value []byte // nil: the bucket itself
}

func (p *copier) bucket(b *bbolt.Bucket, path [][]byte) error {
	if err := p.add(copied{path: path}); err != nil {
		return err
	}
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return p.bucket(b.Bucket(k), append(path[:len(path):len(path)], k))
		}
		return p.add(copied{path, k, v})
	})
}

func (p *copier) add(o copied) error {
	p.ops = append(p.ops, o)
	if p.bytes += len(o.key) + len(o.value); p.bytes < batchBytes && len(p.ops) < batchOps {
		return nil
	}
	return p.flush()
}

func (p *copier) flush() error {
	if err := p.goOn(); err != nil {
		return err
	}
	_, err := p.to.update(func(tx *bbolt.Tx) error {
		for _, o := range p.ops {
			b, err := tx.CreateBucketIfNotExists(o.path[0])
			for _, name := range o.path[1:] {
				if err == nil {
					b, err = b.CreateBucketIfNotExists(name)
				}
			}
			if err == nil && o.key != nil {
				b.FillPercent = 1 // entries come in order
				err = b.Put(o.key, o.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	p.ops, p.bytes = nil, 0
	return err
}
