package checkpoint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/minio/sha256-simd"
)

// Digests are the SHA-256 sums of a checkpoint, hex.
type Digests struct {
	Files       map[string]string // by base name of the weight file
	Fingerprint string            // over names, sizes and sums of the weight files, config.json and hf_quant_config.json
}

// Files lists the weight files in order of their names. A digest may be remembered by path, size, time and inode.
func (c *Checkpoint) Files() []FileInfo {
	out := make([]FileInfo, len(c.weights))
	for i, w := range c.weights {
		out[i] = w.info
	}
	return out
}

// Digest reads all weight files. progress, which may be nil, hears how many bytes are done of how many.
func (c *Checkpoint) Digest(ctx context.Context, progress func(done, total int64)) (Digests, error) {
	if c.digest != nil {
		return *c.digest, nil
	}
	var done, total int64
	for _, w := range c.weights {
		total += w.info.Size
	}
	sums := make(map[string]string, len(c.weights))
	for _, w := range c.weights {
		if err := ctx.Err(); err != nil {
			return Digests{}, err
		}
		h := sha256.New()
		err := w.feed(ctx, h, func(n int) {
			done += int64(n)
			if progress != nil {
				progress(done, total)
			}
		})
		if err != nil {
			return Digests{}, err
		}
		sums[filepath.Base(w.info.Path)] = hex.EncodeToString(h.Sum(nil))
	}
	return c.Fingerprint(sums)
}

// Fingerprint is Digest for sums that are known already, by base name of the weight file.
func (c *Checkpoint) Fingerprint(sums map[string]string) (Digests, error) {
	h := sha256.New()
	for _, w := range c.weights {
		name := filepath.Base(w.info.Path)
		if sums[name] == "" {
			return Digests{}, fmt.Errorf("fingerprint of %s: no digest of %s", c.Name, name)
		}
		fmt.Fprintf(h, "%q %d %s\n", name, w.info.Size, sums[name])
	}
	for _, name := range []string{"config.json", "hf_quant_config.json"} { // they decide what the weights compute
		if b, err := c.small(name); err == nil {
			fmt.Fprintf(h, "%q %d %x\n", name, len(b), sha256.Sum256(b))
		}
	}
	return Digests{Files: sums, Fingerprint: hex.EncodeToString(h.Sum(nil))}, nil
}

// feed writes the file to h. A file on disk is read, not mapped: a read error is an error, where a mapping would fault.
func (w *weightFile) feed(ctx context.Context, h hash.Hash, step func(int)) error {
	if !w.mapped {
		for b := w.image; len(b) > 0; {
			n := min(len(b), digestChunkBytes)
			h.Write(b[:n])
			step(n)
			b = b[n:]
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := os.Open(w.info.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !w.info.describes(st) {
		return errors.Join(fmt.Errorf("%s has changed since it was opened: load the model again", w.info.Path), err)
	}
	buf := make([]byte, digestChunkBytes)
	for {
		n, err := io.ReadFull(f, buf)
		h.Write(buf[:n])
		step(n)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", w.info.Path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
