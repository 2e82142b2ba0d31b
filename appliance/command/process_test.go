package command

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hearth/appliance"
)

// TestMain lets the test binary stand in for hearth, so that exit codes and signals are those of a process.
func TestMain(m *testing.M) {
	if os.Getenv("HEARTH_TEST_MAIN") != "" {
		Main("test")
		return
	}
	os.Exit(m.Run())
}

func hearth(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "HEARTH_TEST_MAIN=1", "XDG_DATA_HOME="+t.TempDir())
	return cmd
}

// run returns what a command prints and its exit code.
func run(t *testing.T, input string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := hearth(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// start runs hearth serve on a free port and waits until it is ready.
func start(t *testing.T, data string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd = hearth(t, "serve", "--listen", "127.0.0.1:0", "--data", data)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	lines := bufio.NewScanner(stderr)
	var seen []string
	for lines.Scan() && url == "" {
		seen = append(seen, lines.Text())
		if _, rest, ok := strings.Cut(lines.Text(), "url="); ok {
			url, _, _ = strings.Cut(rest, " ")
		}
	}
	if url == "" {
		t.Fatalf("it does not listen: %q", seen)
	}
	go io.Copy(io.Discard, stderr)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(url + "/health")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return cmd, url
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("not ready in time")
		}
	}
}

// The binary alone is enough: it serves the built-in model, talks in the terminal, keeps a second server off its data, and
// ends cleanly when it is told to.
func TestServe(t *testing.T) {
	data := t.TempDir()
	cmd, url := start(t, data)
	out, stderr, code := run(t, "", "chat", "--url", url, "--once", "Name a colour.")
	if code != 0 || !strings.Contains(out, "tokens, ") {
		t.Errorf("chat: %d %q %q", code, out, stderr)
	}
	out, _, code = run(t, "", "tokenize", "--url", url, "hello hello")
	if code != 0 || !strings.Contains(out, " tokens: ") {
		t.Errorf("tokenize: %d %q", code, out)
	}
	_, stderr, code = run(t, "", "serve", "--listen", "127.0.0.1:0", "--data", data)
	if code != appliance.ExitLocked || !strings.Contains(stderr, "another hearth (process ") {
		t.Errorf("a second server: %d %q", code, stderr)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("still listening")
	}
}

// An answer that is under way when the server is told to stop is finished.
func TestDrain(t *testing.T) {
	cmd, url := start(t, t.TempDir())
	const endless = `{"stream":true,"max_tokens":300,"logit_bias":{"4083":-100,"4084":-100,"4085":-100,"4086":-100},"messages":[{"role":"user","content":"Name a colour."}]}`
	res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(endless))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body := bufio.NewReader(res.Body)
	if _, err := body.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGINT)
	rest, err := io.ReadAll(body)
	if err != nil || !strings.Contains(string(rest), `"finish_reason":"length"`) || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("%v, the answer ends in %q", err, rest[max(0, len(rest)-300):])
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGINT: %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "hearth.toml")
	if err := os.WriteFile(file, []byte("nonsense = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args    string
		code    int
		message string
	}{
		{"version", 0, ""},
		{"serve --print-config", 0, ""},
		{"serve --config " + file, appliance.ExitConfig, `no setting "nonsense"`},
		{"serve --threads 5000", appliance.ExitConfig, "between 0 and 1024"},
		{"serve --data " + file + "/x", appliance.ExitDataDir, "--data"},
		{"serve --listen " + taken.Addr().String(), appliance.ExitPort, "in use"},
		{"serve --listen 127.0.0.1:0 --model nope", appliance.ExitModel, "no such model"},
		{"serve --kv int4", 80, "--kv"},
		{"nonsense", 80, "nonsense"},
		{"doctor --listen " + taken.Addr().String(), 1, "problems"},
		{"models verify nope", appliance.ExitModel, "no such model"},
		{"chat --url http://127.0.0.1:1 --once hi", 1, "hearth serve"},
	} {
		_, stderr, code := run(t, "", strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.message) {
			t.Errorf("hearth %s: exit %d, want %d; %q", tt.args, code, tt.code, stderr)
		}
	}
}

func TestModelsCommands(t *testing.T) {
	data := t.TempDir()
	if out, _, code := run(t, "", "models", "list", "--data", data); code != 0 || !strings.Contains(out, "hearth-demo is built in") {
		t.Errorf("empty: %d %q", code, out)
	}
	if err := os.Mkdir(filepath.Join(data, "models"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := run(t, "", "bench", "decode", "--shape", "demo", "--write", filepath.Join(data, "models", "mine")); code != 0 {
		t.Fatalf("write: %d %q %q", code, out, stderr)
	}
	for want, args := range map[string]string{"mine": "models list", "architecture": "models show mine", "model.safetensors": "models show mine"} {
		if out, stderr, code := run(t, "", append(strings.Fields(args), "--data", data)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %q %q", args, code, out, stderr)
		}
	}
}

// TestVerifyReadsTheTemplate: a model whose template cannot be parsed would not load, so it is not sound.
func TestVerifyReadsTheTemplate(t *testing.T) {
	const from = "../../engine/testdata/golden/tiny-b-nvfp4" // some files are links
	dir := t.TempDir()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, e.Name()), b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if out, _, code := run(t, "", "models", "verify", dir); code != 0 || !strings.Contains(out, "sound") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte("{% if %}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _, code := run(t, "", "models", "verify", dir); code != appliance.ExitModel || !strings.Contains(out, "chat template") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
