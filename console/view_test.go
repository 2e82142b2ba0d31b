package console

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

var full = State{Status: "ready", Version: "v1", Loopback: true, Model: Model{Name: "Qwen3.5-0.8B", Architecture: "Qwen3_5ForCausalLM", Parameters: 752_000_000,
	WeightBytes: 3 << 29, Formats: "NVFP4 (W4A4), BF16", KVFormat: "fp8", ContextLength: 262144, VocabSize: 248320, MTP: true, Level: "avx512", Threads: 8, Fingerprint: "0123456789abcdef"}}

func TestFacts(t *testing.T) {
	var got []string
	for _, f := range NewView(full, "http://h").Facts {
		got = append(got, f.Label+"="+f.Value)
	}
	const want = "Architecture=Qwen3_5ForCausalLM|Parameters=752 M|Weights=1.5 GiB, NVFP4 (W4A4), BF16|KV cache=FP8|Context=262,144 tokens|" +
		"Vocabulary=248,320|MTP head=present|Computes on=8 threads, avx512|Fingerprint=0123456789ab"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	if facts := NewView(State{Status: "starting"}, "http://h").Facts; len(facts) != 0 {
		t.Errorf("facts about an unknown model: %v", facts)
	}
	for n, want := range map[int64]string{4_200_000: "4.2 M", 27_300_000_000: "27.3 B", 999_999: "1.0 M"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s", n, got)
		}
	}
}

func render(t *testing.T, s State) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(NewView(s, "http://localhost:8080")).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStates(t *testing.T) {
	for _, tt := range []struct {
		state       State
		want, never []string
	}{
		{full, []string{`data-status="ready"`, "Ready", "only this machine reaches it", `class="loading" hidden`}, []string{"reach open"}},
		{State{Status: "loading", Stage: "reading weights", Progress: 0.426, Model: Model{Name: "m"}},
			[]string{`value="42"`, "reading weights", "anyone who reaches this address", "reach open"}, []string{`class="loading" hidden`}},
		{State{Status: "failed", Error: "config.json: <bad>"}, []string{"The model could not be loaded.", "config.json: &lt;bad&gt;"}, []string{"<bad>"}},
	} {
		page := render(t, tt.state)
		for _, want := range tt.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q", tt.state.Status, want)
			}
		}
		for _, never := range tt.never {
			if strings.Contains(page, never) {
				t.Errorf("%s: has %q", tt.state.Status, never)
			}
		}
	}
}

// Whatever a model is called, what is copied stays one JSON text or one shell command.
func TestClientsQuote(t *testing.T) {
	const name = `it's "odd" \ <model> $HOME`
	for _, c := range clients("http://localhost:8080/v1", name) {
		if strings.ContainsAny(c.Text, "{}") && strings.Contains(c.Text, "{url}") || strings.HasPrefix(c.Text, "\n") {
			t.Errorf("%s: %q", c.ID, c.Text)
		}
		switch c.ID {
		case "opencode":
			var v struct {
				Provider map[string]struct {
					Options struct{ BaseURL string }
					Models  map[string]struct{ Name string }
				}
			}
			if err := json.Unmarshal([]byte(c.Text), &v); err != nil || v.Provider["hearth"].Models[name].Name != name || v.Provider["hearth"].Options.BaseURL != "http://localhost:8080/v1" {
				t.Errorf("%v %+v", err, v)
			}
		case "curl":
			out := shell(t, strings.Replace(c.Text, "curl", "printf '%s\\n'", 1))
			var v struct{ Model string }
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &v); err != nil || v.Model != name {
				t.Errorf("%v %q", err, out)
			}
		case "qwen-code":
			if out := shell(t, strings.Replace(c.Text, "\nqwen", "\nprintf %s \"$OPENAI_MODEL\"", 1)); out != name {
				t.Errorf("%q", out)
			}
		}
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	out, err := exec.Command(sh, "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
