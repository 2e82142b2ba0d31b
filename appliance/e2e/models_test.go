package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hearth/appliance/demo"
	"hearth/engine"
)

// golden holds seventeen tiny checkpoints, one for each layout and format that is read.
const golden = "../../engine/testdata/golden"

func TestEveryCheckpointFormatServes(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(golden, "tiny-*"))
	if err != nil || len(dirs) != 17 {
		t.Fatalf("%d checkpoints in %s, want 17 (%v)", len(dirs), golden, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c := settings()
			c.Model = dir
			s := serve(t, c)
			if h, code := s.health(t); code != http.StatusOK || h.Model != filepath.Base(dir) {
				t.Fatalf("health: %d %+v", code, h)
			}
			b := user("Hello!").with(body{"temperature": 1, "seed": 4, "max_tokens": 12})
			first := s.must(t, b).said()
			if again := s.stream(t, b).said(); again != first || first.OutputTokens == 0 {
				t.Errorf("at first %+v, then %+v", first, again)
			}
		})
	}
}

// TestFormatsOfKeysAndActivations serves the demo model in every format that is a choice of the operator.
func TestFormatsOfKeysAndActivations(t *testing.T) {
	answers := map[string]said{}
	for _, kv := range []string{"f32", "bf16", "fp8", "auto"} {
		for _, activations := range []string{"auto", "f32"} {
			c := settings()
			c.KV, c.Activations = kv, activations
			s := serve(t, c)
			b := endless(long(400), 200).with(body{"temperature": 1, "seed": 9})
			name := kv + " " + activations
			answers[name] = s.must(t, b).said()
			if again := s.must(t, b).said(); again != answers[name] || again.OutputTokens != 200 {
				t.Errorf("%s: at first %+v, then %+v", name, answers[name], again)
			}
			if got := s.engine.Status().Model.KVFormat; kv != "auto" && got != kv {
				t.Errorf("--kv %s serves with %s", kv, got)
			}
		}
	}
	for _, pair := range [][2]string{{"f32 auto", "fp8 auto"}, {"bf16 auto", "bf16 f32"}} {
		if answers[pair[0]] == answers[pair[1]] {
			t.Errorf("%s and %s answer alike: does the setting have an effect?", pair[0], pair[1])
		}
	}
	if answers["auto auto"] != answers["bf16 auto"] {
		t.Error("the demo model has no k/v scales, so auto must be bf16")
	}
}

// demoCopy writes the demo checkpoint to a folder that a test may damage.
func demoCopy(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := os.CopyFS(dir, demo.FS()); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chmod(path, 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func edit(t *testing.T, dir, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after := change(bytes.Clone(b))
	if bytes.Equal(after, b) {
		t.Fatalf("%s is unchanged", name)
	}
	if err := os.WriteFile(path, after, 0o644); err != nil {
		t.Fatal(err)
	}
}

func editConfig(t *testing.T, dir string, change func(map[string]any)) {
	edit(t, dir, "config.json", func(b []byte) []byte {
		var config map[string]any
		if err := json.Unmarshal(b, &config); err != nil {
			t.Fatal(err)
		}
		change(config)
		b, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

// TestDamagedModels serves folders that cannot be loaded: the service stays up, says what is wrong with what, and refuses
// requests.
func TestDamagedModels(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   []string
	}{
		{"weights cut short", func(t *testing.T, dir string) {
			edit(t, dir, "model.safetensors", func(b []byte) []byte { return b[:len(b)-1000] })
		}, []string{"model.safetensors", "truncated"}},
		{"weights empty", func(t *testing.T, dir string) {
			edit(t, dir, "model.safetensors", func([]byte) []byte { return nil })
		}, []string{"model.safetensors"}},
		{"weights with a huge header", func(t *testing.T, dir string) {
			edit(t, dir, "model.safetensors", func(b []byte) []byte { binary.LittleEndian.PutUint64(b, 1<<62); return b })
		}, []string{"model.safetensors", "header"}},
		{"weights of another size", func(t *testing.T, dir string) {
			editConfig(t, dir, func(c map[string]any) { c["intermediate_size"] = 1024 })
		}, []string{"512", "1024"}},
		{"weights renamed", func(t *testing.T, dir string) {
			edit(t, dir, "model.safetensors", func(b []byte) []byte { return bytes.Replace(b, []byte("norm.weight"), []byte("nurm.weight"), -1) })
		}, []string{"norm.weight"}},
		{"weights missing", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "model.safetensors")) }, []string{"safetensors"}},
		{"mixture of experts", func(t *testing.T, dir string) {
			editConfig(t, dir, func(c map[string]any) {
				c["architectures"] = []string{"Qwen3_5MoeForCausalLM"}
				c["model_type"] = "qwen3_5_moe_text"
				c["num_experts"] = 64
			})
		}, []string{"Qwen3_5MoeForCausalLM"}},
		{"config not JSON", func(t *testing.T, dir string) {
			edit(t, dir, "config.json", func(b []byte) []byte { return b[:len(b)/2] })
		}, []string{"config.json"}},
		{"tokenizer missing", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "tokenizer.json")) }, []string{"tokenizer.json"}},
		{"tokenizer not JSON", func(t *testing.T, dir string) {
			edit(t, dir, "tokenizer.json", func(b []byte) []byte { return b[:len(b)/2] })
		}, []string{"tokenizer.json"}},
		{"template missing", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "chat_template.jinja")) }, []string{"template"}},
		{"template broken", func(t *testing.T, dir string) {
			edit(t, dir, "chat_template.jinja", func(b []byte) []byte { return append(b, "{% for %}"...) })
		}, []string{"template"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := demoCopy(t)
			tt.damage(t, dir)
			c := settings()
			c.Model = dir
			s := serve(t, c)
			h, code := s.health(t)
			if code != http.StatusServiceUnavailable || h.Status != string(engine.Failed) {
				t.Fatalf("health: %d %+v", code, h)
			}
			for _, want := range tt.want {
				if !strings.Contains(h.Error, want) {
					t.Errorf("the reason %q does not name %s", h.Error, want)
				}
			}
			t.Log(h.Error)
			for _, stream := range []bool{false, true} {
				if a := s.ask(t, user("Hello!").with(body{"stream": stream})); a.status != http.StatusServiceUnavailable || a.Error.Code != "model_failed" {
					t.Errorf("a request: %d %+v", a.status, a.Error)
				}
			}
			res, err := http.Get(s.url + "/")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("the page: %s", res.Status)
			}
		})
	}
}
