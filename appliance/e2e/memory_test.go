package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hearth/engine/checkpoint"
)

// memoryShare is what a loaded model may take at most, at any time, of the bytes of its weight files, beside what the process
// needs for itself: its code, Go's runtime, states, and the buffers of a step.
const (
	memoryShare   = 1.15
	processBytes  = 64 << 20
	memoryMinutes = 2
)

// heavyHead is the hard case: the matrix that is both embedding and head is the largest and BF16.
func heavyHead() checkpoint.Shape {
	return checkpoint.Shape{
		Name: "heavy-head", Hidden: 1024, Intermediate: 3584, Layers: 4, Heads: 8, KVHeads: 2, HeadDim: 256,
		LinearKeyHeads: 16, LinearValueHeads: 16, LinearDim: 128, Vocab: 81920, MaxPositions: 8192, RopeTheta: 1e7, Tied: true, EOS: 4083,
		Algorithm: func(module string) string {
			if strings.HasPrefix(module, "layers.") {
				return "FP8"
			}
			return ""
		},
	}
}

// TestPeakMemoryOfLoading loads a checkpoint of some hundred megabytes in a process of its own and reads its peak.
// E2E_CHECKPOINT names a folder to load instead.
func TestPeakMemoryOfLoading(t *testing.T) {
	if underRace {
		t.Skip("the race detector's own memory would be counted")
	}
	dir := os.Getenv("E2E_CHECKPOINT")
	if dir == "" {
		if testing.Short() {
			t.Skip("writes 300 MB")
		}
		dir = filepath.Join(t.TempDir(), "model")
		ck, err := heavyHead().Synthetic(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Write(dir, ck, 0); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} {
			b, err := os.ReadFile(filepath.Join("..", "demo", "checkpoint", name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var file int64
	shards, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	for _, name := range shards {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		file += info.Size()
	}
	p := launch(t, nil, "--data", t.TempDir(), "--model", dir, "--context", "8192")
	ctx, cancel := context.WithTimeout(context.Background(), memoryMinutes*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		h, code := p.health(t)
		if code == 200 {
			break
		}
		if h.Status == "failed" {
			t.Fatal(h.Error)
		}
		time.Sleep(20 * time.Millisecond)
	}
	loaded := memory(t, p.cmd.Process.Pid, "VmHWM")
	p.must(t, user("Hello!").with(body{"max_tokens": 4}))
	peak, left := memory(t, p.cmd.Process.Pid, "VmHWM"), memory(t, p.cmd.Process.Pid, "VmRSS")
	t.Logf("weight files %.0f MB, peak %.0f MB while loading and %.0f MB with a request: %.2f of the files; %.0f MB now",
		float64(file)/1e6, loaded/1e6, peak/1e6, peak/float64(file), left/1e6)
	if limit := memoryShare*float64(file) + processBytes; peak > limit {
		t.Errorf("peak of %.0f MB, want at most %.0f MB", peak/1e6, limit/1e6)
	}
}

// memory reads a field of /proc/PID/status (proc_pid_status(5)), in bytes.
func memory(t *testing.T, pid int, field string) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return float64(n << 10)
		}
	}
	t.Fatalf("no %s of process %d", field, pid)
	return 0
}
