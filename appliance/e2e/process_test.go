package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hearth/appliance"
	"hearth/kernels"
)

// hearth prepares a run of this binary as hearth, without the settings of whoever runs the tests.
func hearth(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HEARTH_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, asCommand+"=1"), env...)
	return cmd
}

// process is a hearth serve that listens.
type process struct {
	server
	t     testing.TB
	cmd   *exec.Cmd
	begin time.Time

	mu  sync.Mutex
	log []string
	eof chan struct{}
}

// launch starts hearth serve on a free port and waits for its line that it listens.
func launch(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: hearth(t, env, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...), begin: time.Now(), eof: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); <-p.eof; p.cmd.Wait() })
	url := make(chan string, 1)
	go func() {
		defer close(p.eof)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log = append(p.log, lines.Text())
			p.mu.Unlock()
			if _, rest, ok := strings.Cut(lines.Text(), "msg=listening url="); ok {
				url <- strings.Fields(rest)[0]
			}
		}
	}()
	select {
	case p.url = <-url:
	case <-p.eof:
		t.Fatalf("hearth serve ended: %s", p.lines())
	case <-time.After(20 * time.Second):
		t.Fatalf("hearth serve does not listen: %s", p.lines())
	}
	return p
}

func (p *process) lines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// ready waits until a request would be taken.
func (p *process) ready() *process {
	p.t.Helper()
	until(p.t, 20*time.Second, "the model is ready", func() bool { _, code := p.health(p.t); return code == http.StatusOK })
	return p
}

// end waits for the process and returns its exit code.
func (p *process) end(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.eof:
	case <-time.After(limit):
		p.t.Fatalf("still running after %v: %s", limit, p.lines())
	}
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// run is a command that ends by itself.
func run(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := hearth(t, env, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// firstAnswer is how long a developer may wait after make run.
const firstAnswer = 2 * time.Second

func TestFirstAnswerAfterStart(t *testing.T) {
	p := launch(t, nil, "--data", t.TempDir())
	p.ready()
	if got := p.must(t, user("What can you do?")).said(); !strings.Contains(got.Content, "four million") && !strings.Contains(got.Content, "call the functions") {
		t.Errorf("%+v", got)
	}
	took := time.Since(p.begin)
	t.Log("first answer after", took)
	if took > firstAnswer && !underRace {
		t.Errorf("the first answer came %v after the start of the process, want %v", took, firstAnswer)
	}
}

// TestSignals stops a server in the middle of an answer: the answer is completed, newcomers are refused, and one line says
// what happens.
func TestSignals(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			p := launch(t, nil, "--data", t.TempDir()).ready()
			req := endless("Hello!", 4000).with(body{"stream": true})
			res, err := http.Post(p.url+"/v1/chat/completions", "application/json", req.reader(t))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			lines, events, last, whole := bufio.NewScanner(res.Body), 0, "", false
			for lines.Scan() {
				if lines.Text() == "" {
					continue
				}
				if events++; events == 20 {
					p.cmd.Process.Signal(sig)
				}
				last = lines.Text()
				whole = whole || strings.Contains(last, `"finish_reason":"length"`)
			}
			if last != "data: [DONE]" || events <= 20 || !whole {
				t.Errorf("after %d events the stream ended with %q, and all tokens came: %v", events, last, whole)
			}
			if code := p.end(10 * time.Second); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if log := p.lines(); strings.Count(log, "shutting down") != 1 || strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
				t.Error(log)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		p := launch(t, nil, "--data", t.TempDir()).ready()
		p.start(t, endless("Hello!", 60000))
		until(t, 5*time.Second, "the request runs", func() bool { h, _ := p.health(t); return h.Running == 1 })
		p.cmd.Process.Signal(os.Interrupt)
		until(t, 5*time.Second, "it drains", func() bool { return strings.Contains(p.lines(), "shutting down") })
		p.cmd.Process.Signal(os.Interrupt)
		if code := p.end(2 * time.Second); code == 0 {
			t.Error("ended by a second signal with exit code 0")
		}
	})
}

// TestRefusedStarts runs what cannot start: an exit code of its own, and one line that says what to do.
func TestRefusedStarts(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := t.TempDir()
	holder := launch(t, nil, "--data", busy)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "hearth.toml"), []byte("contxt = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		code       int
		env, args  []string
	}{
		{"port in use", taken.Addr().String() + " is in use", appliance.ExitPort, nil, []string{"--listen", taken.Addr().String()}},
		{"data in use", fmt.Sprintf("process %d", holder.cmd.Process.Pid), appliance.ExitLocked, nil, []string{"--listen", "127.0.0.1:0", "--data", busy}},
		{"no such model", `"nothing"`, appliance.ExitModel, nil, []string{"--listen", "127.0.0.1:0", "--model", "nothing"}},
		{"no such setting in the file", `"contxt"`, appliance.ExitConfig, nil, []string{"--data", broken}},
		{"value out of range", "max-queue", appliance.ExitConfig, []string{"HEARTH_MAX_QUEUE=0"}, nil},
		{"not a number", "environment HEARTH_CONTEXT: --context", appliance.ExitConfig, []string{"HEARTH_CONTEXT=many"}, nil},
		{"no such level", "environment HEARTH_CPU: --cpu", appliance.ExitConfig, []string{"HEARTH_CPU=mmx"}, nil},
		{"no such flag", "--contxt", 80, nil, []string{"--contxt", "5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"serve", "--log-level", "warn"}, tt.args...)
			if !strings.Contains(strings.Join(args, " "), "--data") {
				args = append(args, "--data", t.TempDir())
			}
			out, log, code := run(t, tt.env, args...)
			line := strings.TrimSpace(log)
			if i := strings.LastIndex(line, "\n"); tt.code == 80 { // usage comes first
				line = line[i+1:]
			}
			if code != tt.code || out != "" && tt.code != 80 || strings.Contains(line, "\n") || !strings.Contains(line, tt.want) {
				t.Errorf("exit code %d, want %d; output %q; log %q, want a line with %q", code, tt.code, out, log, tt.want)
			}
		})
	}
}

// TestPrecedence sets one value in the file, the environment and a flag, and asks for it and for its effect.
func TestPrecedence(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "hearth.toml"), []byte("context = 320\nalias = [\"from-file\"]\nthreads = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HEARTH_DATA=" + data, "HEARTH_THREADS=2"}
	for _, tt := range []struct {
		env, args []string
		context   int
		source    string
	}{
		{env, nil, 320, "file " + filepath.Join(data, "hearth.toml")},
		{append(env, "HEARTH_CONTEXT=640"), nil, 640, "environment HEARTH_CONTEXT"},
		{append(env, "HEARTH_CONTEXT=640"), []string{"--context", "960"}, 960, "flag --context"},
	} {
		out, log, code := run(t, tt.env, append([]string{"serve", "--print-config"}, tt.args...)...)
		found := 0
		for line := range strings.Lines(out) {
			fields := strings.SplitN(strings.TrimSpace(line), "#", 2)
			switch strings.TrimSpace(fields[0]) {
			case fmt.Sprintf("context = %d", tt.context):
				if strings.TrimSpace(fields[1]) == tt.source {
					found++
				}
			case "threads = 2", `alias = ["from-file"]`, `kv = "auto"`:
				found++
			}
		}
		if code != 0 || log != "" || found != 4 {
			t.Errorf("exit code %d, log %q, %d of 4 lines as expected in\n%s", code, log, found, out)
		}
		p := launch(t, tt.env, tt.args...).ready()
		res, err := http.Post(p.url+"/tokenize", "application/json", body{"prompt": "x"}.reader(t))
		if err != nil {
			t.Fatal(err)
		}
		var limit struct {
			Positions int `json:"max_model_len"`
		}
		if err := json.NewDecoder(res.Body).Decode(&limit); err != nil || limit.Positions != tt.context {
			t.Errorf("the context is %d, want %d (%v)", limit.Positions, tt.context, err)
		}
		res.Body.Close()
		if a := p.ask(t, user("Hello!").with(body{"model": "from-file", "max_tokens": 1})); a.status != http.StatusOK {
			t.Errorf("an alias of the file: %d %+v", a.status, a.Error)
		}
		p.cmd.Process.Signal(syscall.SIGTERM)
		if code := p.end(5 * time.Second); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// TestTerminalCommands asks a running server from the command line.
func TestTerminalCommands(t *testing.T) {
	p := launch(t, nil, "--data", t.TempDir(), "--context", "512") // sampled answers of the demo model may be long
	out, log, code := run(t, nil, "chat", "--url", p.url, "--once", "What can you do?")
	if code != 0 || out == "" || strings.Contains(log, "rror") {
		t.Errorf("chat --once: exit code %d, %q, %q", code, out, log)
	}
	out, log, code = run(t, nil, "chat", "--url", p.url, "--once", "--no-think", "What can you do?")
	if code != 0 || out == "" {
		t.Errorf("chat --once --no-think: exit code %d, %q, %q", code, out, log)
	}
	want := p.tokenize(t, "cats and <|im_end|>", true)
	out, _, code = run(t, nil, "tokenize", "--url", p.url, "--special", "cats and <|im_end|>")
	if text := fmt.Sprintln(len(want), "tokens:", strings.Trim(fmt.Sprint(want), "[]")); code != 0 || out != text {
		t.Errorf("tokenize: exit code %d, %q, want %q", code, out, text)
	}
	out, log, code = run(t, nil, "tokenize", "--url", "http://127.0.0.1:1", "cats")
	if code != 1 || out != "" || !strings.Contains(log, "hearth serve") || strings.Count(log, "\n") != 1 {
		t.Errorf("tokenize without a server: exit code %d, %q, %q", code, out, log)
	}
}

// TestLevelsAnswerAlike compares answers of every instruction level and thread count, byte for byte.
func TestLevelsAnswerAlike(t *testing.T) {
	asked := []body{calling(), user(long(100)).with(body{"temperature": 1, "seed": 3, "max_tokens": 60}),
		endless("Hello!", 80).with(body{"temperature": 0.9, "seed": 11, "repetition_penalty": 1.2})}
	var want []said
	for _, level := range kernels.Levels() {
		for _, threads := range []string{"2", "1"} {
			if level == kernels.Generic && (threads == "1" || underRace) {
				continue // the reference is slow
			}
			p := launch(t, []string{"HEARTH_CPU=" + level.String(), "HEARTH_THREADS=" + threads}, "--data", t.TempDir()).ready()
			var got []said
			for _, b := range asked {
				got = append(got, p.must(t, b).said())
			}
			if want == nil {
				want = got
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%v with %s threads: request %d gives %+v, want %+v", level, threads, i, got[i], want[i])
				}
			}
			p.cmd.Process.Signal(syscall.SIGTERM)
			p.end(5 * time.Second)
		}
	}
}
