package persist

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Inspect reads a cache file that no process writes, without changing it; chunks says whether to verify every chunk. It fails with
// a LockedError, with ErrDamaged when the pages make no sense, and with ErrNewer.
func Inspect(path string, wait time.Duration, chunks bool) (Report, error) {
	r := Report{Path: path}
	lock, err := lockFile(path, true, wait)
	if err != nil {
		return r, err
	}
	err = r.pages(lock)
	lock.Close()
	if err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	f, err := openFile(opening{path: path, readOnly: true, wait: wait})
	if err != nil {
		return r, err
	}
	defer f.close()
	var fps []fingerprint
	err = f.view(func(tx *bbolt.Tx) error {
		if schema := getMeta(tx, keySchema); len(schema) != 1 || schema[0] < cacheSchema {
			return damagedf("%s is not a cache of schema %d", path, cacheSchema)
		} else if schema[0] > cacheSchema {
			return fmt.Errorf("%w: %s has schema %d, this program knows %d", ErrNewer, path, schema[0], cacheSchema)
		}
		day, _ := decodeDaily(getMeta(tx, keyDay))
		r.WrittenTodayBytes = day.written
		if tx.Bucket(bucketGens) == nil {
			return damagedf("%s lacks a bucket", path)
		}
		return tx.Bucket(bucketGens).ForEachBucket(func(k []byte) error {
			if len(k) == 32 {
				fps = append(fps, fingerprint(k))
			}
			return nil
		})
	})
	for _, fp := range fps {
		if err == nil {
			err = r.generation(f, fp, chunks)
		}
	}
	return r, err
}

// pages checks the structure of the file, and of the older meta page's tree if the newest is broken.
func (r *Report) pages(f *os.File) error {
	ms := readMetas(f)
	if len(ms) == 0 {
		return damagedf("no valid meta page")
	}
	var use pageUse
	err := walkFile(f, ms[0], &use)
	if err != nil && len(ms) == 2 && walkFile(f, ms[1], nil) == nil {
		return fmt.Errorf("%w; a start would go back to the transaction before", err)
	}
	if st, serr := f.Stat(); serr == nil {
		r.FileBytes = st.Size()
	}
	r.UsedBytes = int64(use.used * use.pageSize)
	r.FreeBytes = r.FileBytes - r.UsedBytes
	return err
}

func (r *Report) generation(f *file, fp fingerprint, chunks bool) error {
	l, err := readIndex(f, fp)
	if err != nil {
		return err
	}
	g := Generation{Fingerprint: fp, Blobs: len(l.index.blobs), BadEntries: l.bad}
	err = f.view(func(tx *bbolt.Tx) error {
		g.Opened = decodeTime(getMeta(tx, openedKey(fp)))
		b, ok := openGen(tx, fp)
		if !ok {
			return damagedf("a bucket is gone")
		}
		for _, n := range l.index.nodes {
			payload, err := unseal(sealNode, where(fp, bucketNodes, []byte(n.key)), b.nodes.Get([]byte(n.key)))
			if err != nil {
				return err
			}
			e, err := decodeNode(payload)
			if err != nil {
				return err
			}
			g.Records = append(g.Records, Node{n.info(), e.value, e.blobs})
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(g.Records, func(a, b Node) int { return bytes.Compare(a.Key, b.Key) })
	for _, b := range l.index.blobs {
		g.Bytes += b.length
	}
	if chunks {
		err = g.chunks(f, l)
	}
	r.Generations = append(r.Generations, g)
	return err
}

// chunks verifies every chunk of every blob, and counts the blobs that have chunks and no entry.
func (g *Generation) chunks(f *file, l loaded) error {
	for _, b := range l.index.blobs {
		err := f.view(func(tx *bbolt.Tx) error { return verifyBlob(tx, g.Fingerprint, b.blobEntry) })
		if errors.Is(err, errChunk) {
			g.BadBlobs = append(g.BadBlobs, b.ref())
		} else if err != nil {
			return err
		}
	}
	slices.SortFunc(g.BadBlobs, func(a, b Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.Key, b.Key)) })
	s := sweep{limit: l.nextBlob, known: l.ids}
	var orphans []garbage
	for s.next < s.limit {
		if err := f.view(func(tx *bbolt.Tx) error { return s.look(tx, g.Fingerprint, &orphans) }); err != nil {
			return err
		}
	}
	g.Orphans = len(orphans)
	return nil
}

func verifyBlob(tx *bbolt.Tx, fp fingerprint, e blobEntry) error {
	g, ok := openGen(tx, fp)
	if !ok {
		return damagedf("a bucket is gone")
	}
	var checks []byte
	for i := range e.chunks {
		key := chunkKey(e.id, i)
		end, err := verifyChunk(fp, key, e, i, g.chunks.Get(key))
		if err != nil {
			return err
		}
		checks = append(checks, end...)
	}
	if len(checks) > 0 && sum(checks) != e.sum {
		return errChunk
	}
	return nil
}

// verifyChunk checks the stored value v of chunk i of blob e and returns its checksum's four bytes.
func verifyChunk(fp fingerprint, key []byte, e blobEntry, i uint32, v []byte) ([]byte, error) {
	size := int(min(chunkBytes, e.length-int64(i)*chunkBytes))
	if len(v) != size+4 || sum(where(fp, bucketChunks, key), v[:size]) != binary.BigEndian.Uint32(v[size:]) {
		return nil, errChunk
	}
	return v[size:], nil
}
