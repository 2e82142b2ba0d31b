package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"hearth/engine"
)

// altered is the demo checkpoint with one file changed.
func altered(t *testing.T, name string, change func([]byte) []byte) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(FS(), path)
		if path == name {
			before := b
			if b = change(bytes.Clone(b)); bytes.Equal(b, before) {
				t.Fatalf("%s did not change", name)
			}
		}
		out[path] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A token beyond the rows of the embedding would be read from outside of it, and end the process.
func TestTokensBeyondTheEmbedding(t *testing.T) {
	files := altered(t, "tokenizer.json", func(b []byte) []byte {
		var file map[string]json.RawMessage
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
		added := bytes.TrimSuffix(bytes.TrimSpace(file["added_tokens"]), []byte("]"))
		file["added_tokens"] = append(bytes.Clone(added), `, {"id": 4096, "content": "zzz", "special": true}]`...)
		b, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	e := engine.Open(context.Background(), engine.Options{Name: "foreign", FS: files, Context: 64})
	defer e.Close()
	if err := e.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "vocab_size of 4096") {
		t.Errorf("opened with tokens beyond the vocabulary: %v", err)
	}
}
