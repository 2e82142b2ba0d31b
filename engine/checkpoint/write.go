package checkpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// smallFiles are copied beside the weights where they exist.
var smallFiles = []string{
	"config.json", "generation_config.json", "hf_quant_config.json", "tokenizer.json", "tokenizer_config.json",
	"chat_template.jinja", "chat_template.json", "vocab.json", "merges.txt", "special_tokens_map.json", "added_tokens.json",
}

// Write saves c as a Hugging Face folder that Open reads back to the same bytes. Weight files have at most shardBytes of data
// (0: one file), but a tensor is never split. The folder appears complete or not at all: it is written beside dir, synced
// and renamed. dir must not exist, or be empty.
func Write(dir string, c *Checkpoint, shardBytes int64) (err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(abs); err == nil && len(entries) > 0 {
		return fmt.Errorf("write checkpoint: %s is not empty", abs)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	parent := filepath.Dir(abs)
	partial, err := os.MkdirTemp(parent, "."+filepath.Base(abs)+".partial-*")
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write checkpoint %s: %w", abs, err), os.RemoveAll(partial))
		}
	}()
	if err := os.Chmod(partial, 0o755); err != nil {
		return err
	}
	if err := writeSmallFiles(partial, c); err != nil {
		return err
	}
	if err := writeShards(partial, c.stored, shardBytes); err != nil {
		return err
	}
	if err := syncDir(partial); err != nil {
		return err
	}
	if err := unix.Rename(partial, abs); err != nil { // unlike os.Rename, onto an empty folder too
		return fmt.Errorf("rename %s: %w", partial, err)
	}
	return syncDir(parent)
}

func writeSmallFiles(dir string, c *Checkpoint) error {
	for _, name := range smallFiles {
		b, err := c.File(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, name), func(w *bufio.Writer) error {
			_, err := w.Write(b)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// writeShards splits tensors in the order of their names.
func writeShards(dir string, tensors []*Tensor, shardBytes int64) error {
	var shards [][]*Tensor
	var size int64
	for _, t := range tensors {
		if len(shards) == 0 || shardBytes > 0 && size+t.Bytes > shardBytes && size > 0 {
			shards, size = append(shards, nil), 0
		}
		last := len(shards) - 1
		shards[last], size = append(shards[last], t), size+t.Bytes
	}
	weightMap, total := map[string]string{}, int64(0)
	for i, shard := range shards {
		name := "model.safetensors"
		if len(shards) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		}
		if err := writeFile(filepath.Join(dir, name), func(w *bufio.Writer) error { return writeSafetensors(w, shard) }); err != nil {
			return err
		}
		for _, t := range shard {
			weightMap[t.Name] = name
			total += t.Bytes
		}
	}
	if len(shards) < 2 {
		return nil
	}
	return writeFile(filepath.Join(dir, indexFile), func(w *bufio.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": weightMap})
	})
}

// writeSafetensors writes one file, wide elements first so that every tensor is aligned. Tensors pass one at a time.
func writeSafetensors(w *bufio.Writer, tensors []*Tensor) error {
	tensors = slices.Clone(tensors)
	slices.SortFunc(tensors, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(dtypeBits[b.DType], dtypeBits[a.DType]), strings.Compare(a.Name, b.Name))
	})
	header := bytes.NewBufferString(`{"__metadata__":{"format":"pt"}`)
	var offset int64
	for _, t := range tensors {
		name, err := json.Marshal(t.Name)
		if err != nil {
			return err
		}
		shape, err := json.Marshal(append([]int{}, t.Shape...))
		if err != nil {
			return err
		}
		fmt.Fprintf(header, `,%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, name, t.DType, shape, offset, offset+t.Bytes)
		offset += t.Bytes
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	if header.Len() > maxHeaderBytes {
		return fmt.Errorf("header of %d bytes, the limit is %d", header.Len(), maxHeaderBytes)
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(header.Len())); err != nil {
		return err
	}
	if _, err := header.WriteTo(w); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Data()); err != nil {
			return err
		}
		t.Done()
	}
	return nil
}

// writeFile creates a file, fills it and brings it to the disk.
func writeFile(path string, fill func(*bufio.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
