package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Severity of a finding.
type Severity string

const (
	Broken  Severity = "error"   // the model does not load, or computes nonsense
	Warning Severity = "warning" // it runs, but something is missing or not understood
)

// Finding is one thing Verify has to say.
type Finding struct {
	Severity Severity
	Subject  string // tensor or file
	Message  string
}

// Report is the outcome of Verify. Findings are in order of the checks; none means sound.
type Report struct {
	Findings []Finding
	Digests  Digests
}

// Sound tells whether nothing is broken.
func (r Report) Sound() bool {
	for _, f := range r.Findings {
		if f.Severity == Broken {
			return false
		}
	}
	return true
}

func (r *Report) add(s Severity, subject, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Severity: s, Subject: subject, Message: fmt.Sprintf(format, args...)})
}

// Verify reads everything: each tensor the config promises with its shape, scales and values, what is stored beside them,
// the files around, and the digests. progress, which may be nil, hears how many bytes are read of how many. The error is
// that of ctx or of reading, never a finding.
func (c *Checkpoint) Verify(ctx context.Context, progress func(done, total int64)) (Report, error) {
	var r Report
	fresh, err := c.untracked()
	if err != nil {
		return r, err
	}
	total := c.Bytes()
	for _, w := range c.weights {
		total += w.info.Size
	}
	tell := func(done int64) {
		if progress != nil {
			progress(done, total)
		}
	}
	var done int64
	matrices, vectors := c.Config.plan(c.HasMTP())
	for _, p := range matrices {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		done += fresh.verifyMatrix(&r, p)
		tell(done)
	}
	for _, p := range vectors {
		fresh.verifyVector(&r, p)
	}
	for _, name := range fresh.Unused() {
		r.add(Warning, name, "no part of the model uses this tensor")
	}
	c.verifyFiles(&r)
	text := c.Bytes()
	tell(text)
	r.Digests, err = c.Digest(ctx, func(done, _ int64) { tell(text + done) })
	if err != nil {
		return r, err
	}
	c.verifyDigests(&r)
	tell(total)
	return r, nil
}

// untracked is the same checkpoint with a record of its own of what was asked for.
func (c *Checkpoint) untracked() (*Checkpoint, error) {
	u := &Checkpoint{Name: c.Name, Config: c.Config, small: c.small, stored: c.stored, tensors: c.tensors, quant: c.quant,
		taken: map[string]bool{}}
	return u, u.readKVScales()
}

// verifyMatrix checks one matrix and returns the bytes it read.
func (c *Checkpoint) verifyMatrix(r *Report, p matrixPlan) int64 {
	m, err := c.Matrix(p.name, p.rows, p.cols)
	if err != nil {
		r.add(Broken, p.name, "%v", err)
		return 0
	}
	if i := firstNonFinite(m.Format, m.Codes); i >= 0 {
		r.add(Broken, p.name, "%s: near byte %d of %s is a NaN or an infinity: the file is damaged", m.parts[0].File, i, m.parts[0].Name)
	}
	m.Done()
	return int64(len(m.Codes) + len(m.BlockScales))
}

func (c *Checkpoint) verifyVector(r *Report, p vectorPlan) {
	var err error
	if len(p.shape) == 3 {
		if _, err = c.Conv(p.name); err == nil && (c.tensors[p.name].Shape[2] == 1) != (c.NormOffset() == 0) {
			err = fmt.Errorf("%s: layout %v differs from that of the first layer", p.name, c.tensors[p.name].Shape)
		}
	} else {
		_, err = c.Vector(p.name, p.shape[0])
	}
	if err != nil {
		r.add(Broken, p.name, "%v", err)
	}
}

// verifyFiles looks at what stands beside the weights.
func (c *Checkpoint) verifyFiles(r *Report) {
	if _, err := c.File("tokenizer.json"); err != nil {
		r.add(Broken, "tokenizer.json", "%v", err)
	}
	if _, err := c.ChatTemplate(); err != nil {
		r.add(Broken, "chat_template.jinja", "%v", err)
	}
	if _, err := c.File("generation_config.json"); errors.Is(err, fs.ErrNotExist) {
		r.add(Warning, "generation_config.json", "absent: sampling defaults are neutral, and only config.json says where a reply ends")
	}
	if len(c.Config.EOS) == 0 && len(c.Config.Generation.EOS) == 0 {
		r.add(Broken, "config.json", "no eos_token_id there or in generation_config.json: replies would never end")
	}
	if c.Config.MTPLayers > 0 && !c.HasMTP() {
		r.add(Warning, "config.json", "an MTP head is configured and its tensors are absent: drafts come from the prompt only")
	}
}

// verifyDigests compares with what the hub's cache says: there a weight file is a link to a blob named by its SHA-256.
func (c *Checkpoint) verifyDigests(r *Report) {
	for _, w := range c.weights {
		if !w.mapped {
			continue
		}
		target, err := filepath.EvalSymlinks(w.info.Path)
		if err != nil {
			r.add(Broken, w.info.Path, "%v", err)
			continue
		}
		want, got := filepath.Base(target), r.Digests.Files[filepath.Base(w.info.Path)]
		if sum, err := hex.DecodeString(want); err == nil && len(sum) == 32 && want != got {
			r.add(Broken, filepath.Base(w.info.Path), "SHA-256 is %s, the hub's cache names it %s: damaged, download it again", got, want)
		}
	}
}

// firstNonFinite is the offset of the first 8 bytes of codes with a NaN or an infinity (E4M3: a NaN), -1 without one. In each
// lane, exponent bits that are all ones plus their lowest bit carry into the sign.
func firstNonFinite(f Format, codes []byte) int {
	var mask, low, sign uint64
	switch f {
	case F32:
		mask, low, sign = 0x7F800000_7F800000, 0x00800000_00800000, 0x80000000_80000000
	case BF16:
		mask, low, sign = 0x7F80_7F80_7F80_7F80, 0x0080_0080_0080_0080, 0x8000_8000_8000_8000
	case F16:
		mask, low, sign = 0x7C00_7C00_7C00_7C00, 0x0400_0400_0400_0400, 0x8000_8000_8000_8000
	case FP8Tensor, FP8Channel, FP8Block:
		mask, low, sign = 0x7F7F7F7F_7F7F7F7F, 0x01010101_01010101, 0x80808080_80808080
	default:
		return -1 // every E2M1 code is finite
	}
	for i := 0; i < len(codes); i += 8 {
		var w uint64
		if i+8 <= len(codes) {
			w = binary.LittleEndian.Uint64(codes[i:])
		} else {
			var last [8]byte
			copy(last[:], codes[i:])
			w = binary.LittleEndian.Uint64(last[:])
		}
		if (w&mask+low)&sign != 0 {
			return i
		}
	}
	return -1
}
