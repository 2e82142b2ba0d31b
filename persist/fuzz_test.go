package persist

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// FuzzEntries decodes arbitrary bytes as each kind of entry: an error or a value that encodes to the same bytes, within limits.
func FuzzEntries(f *testing.F) {
	f.Add(nodeEntry{value: []byte("v"), blobs: []Ref{{1, []byte("a")}, {2, []byte("bc")}}}.encode())
	f.Add(blobEntry{7, 3*chunkBytes + 1, 4, 99}.encode())
	f.Add(encodeUse(time.UnixMilli(1.8e12), 3, true))
	f.Add(dailyBudget{20000, 5}.encode())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := decodeNode(b); err == nil {
			again, err := decodeNode(n.encode())
			if err != nil || !bytes.Equal(again.value, n.value) || !reflect.DeepEqual(again.blobs, n.blobs) {
				t.Errorf("node %+v came back as %+v, %v", n, again, err)
			}
		}
		if e, err := decodeBlob(b); err == nil && !bytes.Equal(e.encode(), b) {
			t.Errorf("blob %+v encodes to other bytes", e)
		}
		if last, hits, pinned, ok := decodeUse(b); ok && !bytes.Equal(encodeUse(last, hits, pinned), b) {
			t.Errorf("use %v %d %v encodes to other bytes", last, hits, pinned)
		}
		if d, ok := decodeDaily(b); ok && !bytes.Equal(d.encode(), b) {
			t.Errorf("day %+v encodes to other bytes", d)
		}
		if payload, err := unseal(sealNode, []byte("here"), b); err == nil && !bytes.Equal(seal(sealNode, []byte("here"), payload), b) {
			t.Error("a sealed value encodes to other bytes")
		}
	})
}

func TestSealIsBound(t *testing.T) {
	b := seal(sealNode, where(fingerprint{1}, bucketNodes, []byte("k")), []byte("payload"))
	if p, err := unseal(sealNode, where(fingerprint{1}, bucketNodes, []byte("k")), b); err != nil || string(p) != "payload" {
		t.Fatalf("%q, %v", p, err)
	}
	for name, ok := range map[string]func() error{
		"other fingerprint": func() error {
			_, err := unseal(sealNode, where(fingerprint{2}, bucketNodes, []byte("k")), b)
			return err
		},
		"other bucket": func() error {
			_, err := unseal(sealNode, where(fingerprint{1}, bucketUses, []byte("k")), b)
			return err
		},
		"other key": func() error {
			_, err := unseal(sealNode, where(fingerprint{1}, bucketNodes, []byte("l")), b)
			return err
		},
		"other kind": func() error {
			_, err := unseal(sealUse, where(fingerprint{1}, bucketNodes, []byte("k")), b)
			return err
		},
		"cut": func() error {
			_, err := unseal(sealNode, where(fingerprint{1}, bucketNodes, []byte("k")), b[:len(b)-1])
			return err
		},
		"longer": func() error {
			_, err := unseal(sealNode, where(fingerprint{1}, bucketNodes, []byte("k")), append(b[:len(b):len(b)], 0))
			return err
		},
	} {
		if ok() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 1
		if _, err := unseal(sealNode, where(fingerprint{1}, bucketNodes, []byte("k")), c); err == nil {
			t.Errorf("byte %d flipped: accepted", i)
		}
	}
}

// FuzzFile patches the structure of a small cache file and opens it: no panic, and the cache works.
func FuzzFile(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "seed.db")
	c := mustOpen(f, path, quiet())
	works(f, c, "a")
	c.Close()
	image, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), uint16(16), []byte{1, 2, 3})
	f.Add(uint16(5), uint16(8), []byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, page, offset uint16, patch []byte) {
		b := bytes.Clone(image)
		at := (int(page)*pageBytes + int(offset)) % len(b)
		copy(b[at:], patch)
		path := filepath.Join(t.TempDir(), "cache.db")
		os.WriteFile(path, b, 0o600)
		o := quiet()
		o.noSync = true
		c := mustOpen(t, path, o)
		neverWrong(t, c, map[string]int{"a/0": 3000})
		works(t, c, "b")
		c.Close()
	})
}
