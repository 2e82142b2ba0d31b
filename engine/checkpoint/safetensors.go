package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// DType is an element type as safetensors spells it.
type DType string

// Element types that weights are read from. Others may appear in a file, and fail only when asked for.
const (
	dtypeF32  DType = "F32"
	dtypeBF16 DType = "BF16"
	dtypeF16  DType = "F16"
	dtypeE4M3 DType = "F8_E4M3"
	dtypeU8   DType = "U8"
)

// dtypeBits are the element sizes of the format.
var dtypeBits = map[DType]int64{
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16,
	"I32": 32, "U32": 32, "F32": 32,
	"I64": 64, "U64": 64, "F64": 64, "C64": 64,
}

// parseSafetensors reads the header of a file image: 8 bytes little-endian header length, a JSON object of name to dtype,
// shape and data_offsets (relative to the end of the header), then the data. As the format demands, tensors must cover the
// data exactly, without gap or overlap. Offsets of the result are absolute. file names the image in errors.
func parseSafetensors(file string, image []byte) ([]*Tensor, error) {
	if len(image) < 8 {
		return nil, fmt.Errorf("%s: %d bytes is too short for a safetensors file: truncated?", file, len(image))
	}
	if bytes.HasPrefix(image, []byte("version https://git-lfs")) {
		return nil, fmt.Errorf("%s: a Git LFS pointer, not the weights: fetch them with git lfs pull", file)
	}
	n := binary.LittleEndian.Uint64(image)
	if n > maxHeaderBytes {
		return nil, fmt.Errorf("%s: header of %d bytes, the limit is %d: damaged, or not a safetensors file", file, n, maxHeaderBytes)
	}
	if n > uint64(len(image)-8) {
		return nil, fmt.Errorf("%s: header of %d bytes in a file of %d: truncated?", file, n, len(image))
	}
	header, data := image[8:8+n], int64(len(image))-8-int64(n)
	if n == 0 || header[0] != '{' {
		return nil, fmt.Errorf("%s: header does not begin with {: damaged, or not a safetensors file", file)
	}
	tensors, err := parseHeader(header)
	if err != nil {
		return nil, fmt.Errorf("%s: header: %w", file, err)
	}
	if err := checkCover(tensors, data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, t := range tensors {
		t.File = file
		t.offset += 8 + int64(n)
	}
	return tensors, nil
}

// metadataKey is the one name in a header that is no tensor: strings for people.
const metadataKey = "__metadata__"

func parseHeader(header []byte) ([]*Tensor, error) {
	dec, err := strictDecoder(header)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != nil { // the opening brace, checked by the caller
		return nil, err
	}
	var tensors []*Tensor
	seen := map[string]bool{}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := k.(string)
		if seen[name] {
			return nil, fmt.Errorf("tensor %s appears twice", clip(name))
		}
		seen[name] = true
		limit := maxEntryValues
		if name == metadataKey {
			limit = maxJSONValues
		}
		v, err := decodeValue(dec, 1, limit)
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", clip(name), err)
		}
		if name == metadataKey {
			continue
		}
		t, err := parseEntry(name, v)
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", clip(name), err)
		}
		if tensors = append(tensors, t); len(tensors) > maxTensors {
			return nil, fmt.Errorf("more than %d tensors", maxTensors)
		}
	}
	return tensors, nil
}

// clip keeps a hostile name from flooding an error.
func clip(name string) string {
	if len(name) > 120 {
		return strconv.Quote(name[:120]) + "…"
	}
	return name
}

func parseEntry(name string, v any) (*Tensor, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("want an object of dtype, shape and data_offsets")
	}
	if name == "" || len(name) > maxTensorName {
		return nil, fmt.Errorf("name of %d bytes, want 1 to %d", len(name), maxTensorName)
	}
	for k := range m {
		if k != "dtype" && k != "shape" && k != "data_offsets" {
			return nil, fmt.Errorf("unknown member %q", clip(k))
		}
	}
	dtype, ok := m["dtype"].(string)
	if !ok {
		return nil, errors.New("dtype is missing")
	}
	bits, ok := dtypeBits[DType(dtype)]
	if !ok {
		return nil, fmt.Errorf("unknown dtype %q", clip(dtype))
	}
	shape, err := unsigned(m["shape"], maxTensorDims)
	if err != nil {
		return nil, fmt.Errorf("shape: %w", err)
	}
	offsets, err := unsigned(m["data_offsets"], 2)
	if err != nil {
		return nil, fmt.Errorf("data_offsets: %w", err)
	}
	if len(offsets) != 2 || offsets[0] > offsets[1] {
		return nil, fmt.Errorf("data_offsets %v: want begin and end", offsets)
	}
	size, err := byteSize(shape, bits)
	if err != nil {
		return nil, err
	}
	if size != offsets[1]-offsets[0] {
		return nil, fmt.Errorf("dtype %s and shape %v need %d bytes, data_offsets %v hold %d", dtype, shape, size, offsets, offsets[1]-offsets[0])
	}
	t := &Tensor{Name: name, DType: DType(dtype), Shape: make([]int, len(shape)), Bytes: size, offset: offsets[0]}
	for i, d := range shape {
		t.Shape[i] = int(d)
	}
	return t, nil
}

// unsigned reads a list of at most limit whole numbers.
func unsigned(v any, limit int) ([]int64, error) {
	list, ok := v.([]any)
	if !ok && v == nil {
		return nil, errors.New("missing")
	}
	if !ok {
		return nil, fmt.Errorf("want a list, got %s", describe(v))
	}
	if len(list) > limit {
		return nil, fmt.Errorf("%d numbers, the limit is %d", len(list), limit)
	}
	out := make([]int64, len(list))
	for i, v := range list {
		n, ok := v.(json.Number)
		if !ok {
			return nil, fmt.Errorf("want whole numbers, got %s", describe(v))
		}
		u, err := strconv.ParseUint(n.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("want whole numbers below 2^63, got %s", describe(v))
		}
		out[i] = int64(u)
	}
	return out, nil
}

// byteSize is the storage of a shape, checked for overflow.
func byteSize(shape []int64, bits int64) (int64, error) {
	n := int64(1)
	for _, d := range shape {
		if d == 0 {
			return 0, nil
		}
	}
	for _, d := range shape {
		if n > math.MaxInt64/64/d { // 64: the widest element in bits
			return 0, fmt.Errorf("shape %v overflows", shape)
		}
		n *= d
	}
	if n*bits%8 != 0 {
		return 0, fmt.Errorf("shape %v of %d-bit elements does not fill bytes", shape, bits)
	}
	return n * bits / 8, nil
}

// checkCover demands that tensors tile [0, data). It leaves them sorted by offset.
func checkCover(tensors []*Tensor, data int64) error {
	slices.SortStableFunc(tensors, func(a, b *Tensor) int {
		if a.offset != b.offset {
			return int(max(-1, min(1, a.offset-b.offset)))
		}
		return int(max(-1, min(1, a.Bytes-b.Bytes)))
	})
	end, last := int64(0), "the header"
	for _, t := range tensors {
		switch {
		case t.offset+t.Bytes > data:
			return fmt.Errorf("tensor %s ends at byte %d of %d: truncated?", clip(t.Name), t.offset+t.Bytes, data)
		case t.offset < end:
			return fmt.Errorf("tensor %s overlaps %s at byte %d", clip(t.Name), clip(last), t.offset)
		case t.offset > end:
			return fmt.Errorf("%d bytes between %s and tensor %s belong to nothing", t.offset-end, clip(last), clip(t.Name))
		}
		end, last = t.offset+t.Bytes, t.Name
	}
	if end != data {
		return fmt.Errorf("%d bytes after the last tensor (%s) belong to nothing", data-end, clip(last))
	}
	return nil
}
