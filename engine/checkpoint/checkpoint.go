package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Checkpoint is an open model folder.
type Checkpoint struct {
	Name   string // base name of the folder
	Config Config

	small    func(name string) ([]byte, error) // files beside the weights
	weights  []*weightFile
	stored   []*Tensor          // by stored name, vision included
	tensors  map[string]*Tensor // by logical name, vision excluded
	quant    quantConfig
	kvScales map[int][2]float32 // by layer: keys, values
	digest   *Digests           // fixed digests of generated weights

	mu    sync.Mutex
	taken map[string]bool // logical names that were asked for
}

// Close ends the mappings: bytes of tensors are invalid from here on.
func (c *Checkpoint) Close() error {
	var err error
	for _, w := range c.weights {
		err = errors.Join(err, w.close())
	}
	return err
}

// HasMTP tells whether the MTP head's tensors are there (all of them: Open refuses a part).
func (c *Checkpoint) HasMTP() bool { return c.hasModule("mtp.fc") }

// Has tells whether a tensor is stored under a logical name.
func (c *Checkpoint) Has(name string) bool { return c.tensors[name] != nil }

// take finds a tensor and remembers that it was asked for.
func (c *Checkpoint) take(name string) (Tensor, bool) {
	t, ok := c.tensors[name]
	if !ok {
		return Tensor{}, false
	}
	c.mu.Lock()
	c.taken[name] = true
	c.mu.Unlock()
	return *t, true
}

// ErrMissing is wrapped by errors about tensors that the config promises and no file holds.
var ErrMissing = errors.New("tensor is missing")

func (c *Checkpoint) missing(name string) error {
	return fmt.Errorf("%w: %s in %s", ErrMissing, name, c.Name)
}

// Ignore says that tensors whose logical name begins with prefix are left out on purpose, so that Unused keeps silent.
func (c *Checkpoint) Ignore(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.tensors {
		if strings.HasPrefix(name, prefix) {
			c.taken[name] = true
		}
	}
}

// Unused lists stored names of text tensors that nothing asked for: a wrong name, or a feature that is not understood.
func (c *Checkpoint) Unused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, t := range c.stored {
		if t.Logical != "" && !c.taken[t.Logical] && !buffer(t.Logical) {
			out = append(out, t.Name)
		}
	}
	return out
}

// Vector reads a tensor of shape [n] (F32, BF16 or F16) as float32. NaN and infinities are refused.
func (c *Checkpoint) Vector(name string, n int) ([]float32, error) {
	t, ok := c.take(name)
	if !ok {
		return nil, c.missing(name)
	}
	if len(t.Shape) != 1 || t.Shape[0] != n {
		return nil, t.errorf("shape %v, want [%d]", t.Shape, n)
	}
	return t.finite()
}

// Conv reads a depthwise convolution, [C, 1, 4] or in foreign exports [C, 4, 1], tap by tap: [4][C], oldest tap first.
func (c *Checkpoint) Conv(name string) ([]float32, error) {
	t, ok := c.take(name)
	if !ok {
		return nil, c.missing(name)
	}
	n, taps := c.Config.ConvChannels(), c.Config.ConvKernel
	if !slices.Equal(t.Shape, []int{n, 1, taps}) && !slices.Equal(t.Shape, []int{n, taps, 1}) {
		return nil, t.errorf("shape %v, want [%d 1 %d] or [%d %d 1]", t.Shape, n, taps, n, taps)
	}
	x, err := t.finite()
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(x))
	for ch := range n {
		for tap := range taps {
			out[tap*n+ch] = x[ch*taps+tap]
		}
	}
	return out, nil
}

// NormOffset is what to add to the weights of the zero-centred norms: 1, or 0 where a foreign export has added it (told by
// its convolution, stored [C, 4, 1]). The norm inside linear_attn is plain in both.
func (c *Checkpoint) NormOffset() float32 {
	for i, full := range c.Config.FullAttention {
		if t := c.tensors[fmt.Sprintf("layers.%d.linear_attn.conv1d.weight", i)]; !full && t != nil {
			if n := len(t.Shape); n == 3 && t.Shape[2] == 1 {
				return 0
			}
			return 1
		}
	}
	return 1
}

// KVScales are the scales of FP8 keys and values of a full-attention layer: stored = E4M3(x / scale). ok is false where the
// checkpoint has none.
func (c *Checkpoint) KVScales(layer int) (k, v float32, ok bool) {
	s, ok := c.kvScales[layer]
	return s[0], s[1], ok
}

// readKVScales reads the scales of all layers at Open: they are few, and a bad one must not be found in mid-conversation.
func (c *Checkpoint) readKVScales() error {
	c.kvScales = map[int][2]float32{}
	for layer := range c.Config.Layers {
		prefix := fmt.Sprintf("layers.%d.self_attn.", layer)
		for _, names := range [][2]string{{"k_proj.k_scale", "v_proj.v_scale"}, {"k_scale", "v_scale"}} {
			var scales [2]float32
			found := 0
			for i, name := range names {
				t, ok := c.take(prefix + name)
				if !ok {
					continue
				}
				found++
				var err error
				if scales[i], err = t.scalar(); err != nil {
					return err
				}
			}
			switch found {
			case 1:
				return fmt.Errorf("layer %d has one of %s%s and %s%s, want both or none", layer, prefix, names[0], prefix, names[1])
			case 2:
				c.kvScales[layer] = scales
			}
		}
	}
	return nil
}

// KVDeclaredFP8 tells whether the checkpoint asks for an FP8 KV cache, with or without scales.
func (c *Checkpoint) KVDeclaredFP8() bool { return c.quant.kvFP8 }

// File reads a file beside the weights, such as tokenizer.json. The error of an absent one wraps fs.ErrNotExist.
func (c *Checkpoint) File(name string) ([]byte, error) {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return nil, fmt.Errorf("%q is not the name of a file in the checkpoint", name)
	}
	return c.small(name)
}

func sortByName(tensors []*Tensor) {
	slices.SortFunc(tensors, func(a, b *Tensor) int { return strings.Compare(a.Name, b.Name) })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
