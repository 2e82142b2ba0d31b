package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"hearth/engine"
	"hearth/engine/chat"
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

// A weight file that is cut while it is served fails the model and the requests, not the process.
func TestWeightsCutWhileServed(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, FS()); err != nil {
		t.Fatal(err)
	}
	e := engine.Open(context.Background(), engine.Options{Name: "cut", Dir: dir, Context: 64})
	defer e.Close()
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		req := &engine.Request{Messages: []chat.Message{{Role: "user", Parts: []chat.Part{{Type: "text", Text: "hello"}}}}, MaxTokens: 3}
		stream, err := e.Chat(t.Context(), req)
		if err != nil {
			return err
		}
		defer stream.Close()
		for {
			if _, more := stream.Next(t.Context()); !more {
				_, err := stream.Result()
				return err
			}
		}
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(dir, "model.safetensors")
	if err := os.Chmod(weights, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(weights, 100); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var refusal *engine.RequestError
		if err := ask(); !errors.As(err, &refusal) || refusal.Kind != engine.NotReady || !strings.Contains(refusal.Message, "restart") {
			t.Errorf("got %v, want a refusal that says what to do", err)
		}
	}
	if s := e.Status(); s.State != engine.Failed {
		t.Errorf("the model is %s", s.State)
	}
}
