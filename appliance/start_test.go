package appliance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hearth/appliance/config"
)

func wantStart(t *testing.T, err error, code int, message string) {
	t.Helper()
	var start *StartError
	if !errors.As(err, &start) || start.ExitCode() != code || !strings.Contains(start.Message, message) || strings.Contains(start.Message, "\n") {
		t.Errorf("got %v, want code %d and %q", err, code, message)
	}
}

// Each way of not starting has its own exit code and one line that says what to do.
func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	data, err := OpenDataDir(filepath.Join(dir, "new", "data"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenDataDir(data.Path)
	wantStart(t, err, ExitLocked, fmt.Sprintf("process %d", os.Getpid()))
	data.Close()
	if again, err := OpenDataDir(data.Path); err != nil {
		t.Error("not unlocked:", err)
	} else {
		again.Close()
	}

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = OpenDataDir(filepath.Join(file, "data"))
	wantStart(t, err, ExitDataDir, "--data")

	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, err = Listen(ln.Addr().String())
	wantStart(t, err, ExitPort, "in use")
	_, err = Listen("127.0.0.1:banana")
	wantStart(t, err, ExitPort, "--listen")
}

func TestUnwritableDataDir(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	os.Chmod(dir, 0o500)
	_, err := OpenDataDir(filepath.Join(dir, "data"))
	wantStart(t, err, ExitDataDir, "permission denied")
}

// synced is a buffer for a log that is read while it is written.
type synced struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *synced) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A server starts, tells systemd, answers, and stops when its context ends.
func TestRun(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	unit, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer unit.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	e := newFakeEngine()
	e.set(text("ok"))
	var log synced
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	port, _ := net.Listen("tcp", "127.0.0.1:0")
	address := port.Addr().String()
	port.Close()
	go func() {
		done <- Run(ctx, Startup{Config: config.Serve{Listen: address, LogLevel: "info", Alias: []string{"fast"}}, Data: t.TempDir(), Version: "v1", Stderr: &log,
			Open: func(context.Context, config.Serve, string, *slog.Logger) (Engine, error) { return e, nil }})
	}()
	var res *http.Response
	for range 200 {
		if res, err = http.Get("http://" + address + "/v1/models/fast"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err, log.String())
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Error(res.Status)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "url=http://"+address) || strings.Contains(log.String(), "no login") {
		t.Error(log.String())
	}
	var told strings.Builder
	b := make([]byte, 4096)
	unit.SetReadDeadline(time.Now().Add(time.Second))
	for !strings.Contains(told.String(), "STOPPING=1") {
		n, err := unit.Read(b)
		if err != nil {
			t.Fatalf("%v after %q", err, told.String())
		}
		told.Write(b[:n])
		told.WriteByte('\n')
	}
	if !strings.HasPrefix(told.String(), "READY=1\n") || !strings.Contains(told.String(), "STATUS=serving qwen-test") {
		t.Errorf("%q", told.String())
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "10.0.0.1:1": false, "example.org:1": false, "": false} {
		if Loopback(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "models", "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	findings := Examine(context.Background(), config.Serve{Listen: ln.Addr().String(), Model: "gone", CPU: "auto", Threads: 100_000}, dir)
	var out bytes.Buffer
	PrintFindings(&out, findings)
	for _, want := range []string{"ok       cpu", "ok       kernels", "note     threads", "memory", "ok       data", "PROBLEM  port", "PROBLEM  model        broken", `PROBLEM  model        no such model: "gone"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if Healthy(findings) {
		t.Error("healthy with a taken port")
	}
	findings = Examine(context.Background(), config.Serve{Listen: "127.0.0.1:0", CPU: "auto"}, t.TempDir())
	if !Healthy(findings) {
		PrintFindings(&out, findings)
		t.Errorf("an empty data folder and a free port:\n%s", out.String())
	}
}
