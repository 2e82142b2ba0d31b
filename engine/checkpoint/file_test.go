package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestDataSurvivesDone(t *testing.T) {
	c := openGolden(t, "tiny-b-nvfp4")
	for _, x := range c.Inventory() {
		before := bytes.Clone(x.Data())
		x.Done()
		if !bytes.Equal(x.Data(), before) {
			t.Errorf("%s reads differently after Done", x.Name)
		}
	}
}

func TestDoneAfterClose(t *testing.T) {
	c, err := Open(filepath.Join(goldenDir, "tiny-a-bf16"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Matrix("embed_tokens.weight", 512, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	m.Done() // nothing is left to release, and nothing may break
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestConcurrentReads(t *testing.T) {
	c := openGolden(t, "tiny-a-nvfp4")
	matrices, _ := c.Config.plan(true)
	var wg sync.WaitGroup
	for _, p := range matrices {
		for range 4 {
			wg.Go(func() {
				m, err := c.Matrix(p.name, p.rows, p.cols)
				if err != nil {
					t.Error(err)
				}
				m.Done()
			})
		}
	}
	wg.Wait()
}

func TestOpenNamesTheFolder(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "nothing-here")); err == nil || !strings.Contains(err.Error(), "nothing-here") {
		t.Errorf("error %v", err)
	}
	dir := filepath.Join(t.TempDir(), "odd-model")
	if err := os.CopyFS(dir, goldenFiles(t, "tiny-a-bf16")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.safetensors")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "odd-model") || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder in place of weights: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "model.safetensors: 0 bytes is too short") {
		t.Errorf("empty weights: %v", err)
	}
}

// A named pipe in place of a file is refused at once: to open one waits for somebody to write to it.
func TestNamedPipes(t *testing.T) {
	for _, name := range []string{"config.json", "model.safetensors", "generation_config.json", "hf_quant_config.json", "model.safetensors.index.json"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(goldenDir, "tiny-a-bf16"))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		done := make(chan error, 1)
		go func() {
			c, err := Open(dir)
			if err == nil {
				c.Close()
			}
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "regular file") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: still waiting", name)
		}
	}
}
