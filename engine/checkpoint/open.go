package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Open maps the checkpoint in dir. Errors name the file and what in it is wrong; those of models that do not run here wrap
// ErrUnsupported.
func Open(dir string) (*Checkpoint, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Name: filepath.Base(abs)}
	root := os.DirFS(abs)
	c.small = func(name string) ([]byte, error) { return readSmall(root, name) }
	return c.open(root, func(name string) (*weightFile, error) { return mapFile(abs, name) })
}

// OpenFS reads the checkpoint in the folder name of fsys ("." is its root), such as one embedded in the binary. Weights are
// copied into memory by file systems that cannot share their bytes.
func OpenFS(fsys fs.FS, name string) (*Checkpoint, error) {
	root, err := fs.Sub(fsys, name)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Name: name[strings.LastIndexByte(name, '/')+1:]}
	c.small = func(name string) ([]byte, error) { return readSmall(root, name) }
	return c.open(root, func(name string) (*weightFile, error) { return loadFile(root, name) })
}

// readSmall reads a file beside the weights, bounded. It looks before it opens: to open a named pipe can take for ever.
func readSmall(root fs.FS, name string) ([]byte, error) {
	st, err := fs.Stat(root, name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Size() <= maxSmallFile {
		b, err := io.ReadAll(io.LimitReader(f, maxSmallFile+1)) // the size may be a lie, as in /proc
		if err != nil || len(b) <= maxSmallFile {
			return b, err
		}
	}
	return nil, fmt.Errorf("%s: %d bytes, the limit is %d for a file beside the weights", name, max(st.Size(), maxSmallFile+1), maxSmallFile)
}

func (c *Checkpoint) open(root fs.FS, load func(string) (*weightFile, error)) (*Checkpoint, error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, fmt.Errorf("open checkpoint %s: %w", c.Name, err)
	}
	if err := c.readConfigs(); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", c.Name, err)
	}
	names, index, err := c.shards(entries)
	if err == nil {
		err = c.loadShards(names, load)
	}
	if err == nil {
		err = c.checkIndex(index)
	}
	if err == nil {
		err = c.catalogue()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", c.Name, err), c.Close())
	}
	return c, nil
}

// readConfigs parses config.json and what stands beside it.
func (c *Checkpoint) readConfigs() error {
	root, err := c.object("config.json")
	if err != nil {
		return err
	}
	if root == nil {
		return errors.New("config.json is missing: not a Hugging Face model folder")
	}
	generation, err := c.object("generation_config.json")
	if err != nil {
		return err
	}
	if c.Config, err = parseConfig(root, generation); err != nil {
		return err
	}
	modelopt, err := c.object("hf_quant_config.json")
	if err != nil {
		return err
	}
	c.quant, err = parseQuant(root, modelopt)
	return err
}

// object parses a JSON file, nil where it does not exist.
func (c *Checkpoint) object(name string) (map[string]any, error) {
	b, err := c.small(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseObject(name, b)
}

const indexFile = "model.safetensors.index.json"

// shards lists the weight files: those of the index, else all there are. index maps tensors to files, nil without one.
func (c *Checkpoint) shards(entries []fs.DirEntry) (names []string, index map[string]string, err error) {
	var foreign []string
	for _, e := range entries {
		switch n := e.Name(); {
		case strings.HasSuffix(n, ".safetensors"):
			names = append(names, n)
		case strings.HasSuffix(n, ".gguf"), strings.HasSuffix(n, ".bin"), strings.HasSuffix(n, ".pt"), strings.HasSuffix(n, ".pth"):
			foreign = append(foreign, n)
		}
	}
	if index, err = c.readIndex(); err != nil {
		return nil, nil, err
	}
	if index != nil {
		files := map[string]bool{}
		for _, f := range index {
			files[f] = true
		}
		names = sortedKeys(files)
	}
	if index == nil {
		err = checkNumbers(names)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case len(names) == 0 && len(foreign) > 0:
		return nil, nil, unsupportedf(foreign[0], "a weight file of this kind", "want safetensors")
	case len(names) == 0:
		return nil, nil, errors.New("no *.safetensors file")
	case len(names) > maxShards:
		return nil, nil, fmt.Errorf("%d weight files, the limit is %d", len(names), maxShards)
	}
	return names, index, nil
}

// checkNumbers finds gaps in names like model-00001-of-00015.safetensors, which tell an incomplete download from a whole one
// where no index does.
func checkNumbers(names []string) error {
	for _, n := range names {
		prefix, rest, ok := strings.Cut(strings.TrimSuffix(n, ".safetensors"), "-of-")
		total, err := strconv.Atoi(rest)
		if !ok || err != nil || total > maxShards || len(rest) != 5 || len(prefix) < 5 {
			continue
		}
		stem := prefix[:len(prefix)-5]
		for i := range total {
			if want := fmt.Sprintf("%s%05d-of-%s.safetensors", stem, i+1, rest); !slices.Contains(names, want) {
				return fmt.Errorf("%s does not exist beside %s: download incomplete?", want, n)
			}
		}
		return nil
	}
	return nil
}

func (c *Checkpoint) readIndex() (map[string]string, error) {
	root, err := c.object(indexFile)
	if root == nil || err != nil {
		return nil, err
	}
	f := newFields(indexFile, root, &err)
	m := f.object("weight_map")
	index := make(map[string]string, len(m.m))
	for _, name := range sortedKeys(m.m) {
		file := m.textOr(name, "")
		if file == "" || strings.ContainsAny(file, `/\`) || !strings.HasSuffix(file, ".safetensors") {
			m.fail(clip(name), "file %q, want the name of a .safetensors file in the same folder", clip(file))
		}
		index[name] = file
	}
	if len(index) == 0 {
		f.fail("weight_map", "empty")
	}
	return index, err
}

func (c *Checkpoint) loadShards(names []string, load func(string) (*weightFile, error)) error {
	where := map[string]*Tensor{}
	for _, name := range names {
		w, err := load(name)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is named by %s and does not exist: download incomplete?", name, indexFile)
		}
		if err != nil {
			return err
		}
		c.weights = append(c.weights, w)
		tensors, err := parseSafetensors(name, w.image)
		if err != nil {
			return err
		}
		for _, t := range tensors {
			if u, ok := where[t.Name]; ok {
				return t.errorf("stored in %s too", u.File)
			}
			where[t.Name] = t
			t.source = w
		}
		if len(where) > maxTensors {
			return fmt.Errorf("more than %d tensors", maxTensors)
		}
	}
	c.stored = slices.Collect(maps.Values(where))
	sortByName(c.stored)
	return nil
}

// checkIndex demands every tensor of the index in the file it names.
func (c *Checkpoint) checkIndex(index map[string]string) error {
	if index == nil {
		return nil
	}
	found := make(map[string]string, len(c.stored))
	for _, t := range c.stored {
		found[t.Name] = t.File
	}
	for _, name := range sortedKeys(index) {
		if got := found[name]; got != index[name] {
			return fmt.Errorf("%s: tensor %s is not in %s", indexFile, clip(name), index[name])
		}
	}
	return nil
}

// catalogue gives tensors their logical names, and checks what can be told from names alone.
func (c *Checkpoint) catalogue() error {
	c.tensors = make(map[string]*Tensor, len(c.stored))
	c.taken = map[string]bool{}
	for _, t := range c.stored {
		name, vision := logicalName(t.Name)
		if vision {
			continue
		}
		t.Logical = name
		if u, ok := c.tensors[name]; ok {
			return t.errorf("means the same as %s in %s", clip(u.Name), u.File)
		}
		c.tensors[name] = t
	}
	if !c.hasModule("lm_head") {
		c.Config.Tied = true // whatever the flags say
	}
	if err := c.checkMTP(); err != nil {
		return err
	}
	return c.readKVScales()
}

// hasModule tells whether a matrix is stored in some format.
func (c *Checkpoint) hasModule(module string) bool {
	return c.tensors[module+".weight"] != nil || c.tensors[module+".weight_packed"] != nil
}

// checkMTP refuses an MTP head of which a part is missing.
func (c *Checkpoint) checkMTP() error {
	var missing []string
	for _, m := range mtpModules {
		if !c.hasModule(m) {
			missing = append(missing, m+".weight")
		}
	}
	for _, v := range mtpVectors {
		if c.tensors[v] == nil {
			missing = append(missing, v)
		}
	}
	if n := len(mtpModules) + len(mtpVectors); len(missing) > 0 && len(missing) < n {
		return fmt.Errorf("MTP head is incomplete, %d of %d tensors are missing: %s", len(missing), n, strings.Join(missing, ", "))
	}
	return nil
}
