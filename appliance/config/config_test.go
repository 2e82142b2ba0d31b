package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// app is a command line like that of the binary.
type app struct {
	Global
	Serve struct {
		Serve
		PrintConfig bool `env:"-"`
	} `cmd:""`
	Other struct {
		KV string `name:"kv" default:"none" env:"-"`
	} `cmd:""`
}

func parse(t *testing.T, data string, env map[string]string, args ...string) (app, string, error) {
	t.Helper()
	var a app
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	r := NewResolver(lookup)
	parser, err := kong.New(&a, kong.Vars{"data": data}, kong.DefaultEnvars("HEARTH"), kong.Resolvers(r), kong.Exit(func(int) { t.Fatal("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return a, "", err
	}
	if r.Err() != nil {
		return a, "", r.Err()
	}
	var out bytes.Buffer
	r.Print(&out, ctx)
	return a, out.String(), nil
}

func write(t *testing.T, dir, text string) string {
	t.Helper()
	name := filepath.Join(dir, fileName)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A flag wins over the environment, the environment over the file, the file over the default; each is told.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "# ours\nkv = \"f32\"\ncontext = 100\nthreads = 3\nany-model = true\nallow-host = [\"a.example\", \"b\"]\n")
	env := map[string]string{"HEARTH_CONTEXT": "200", "HEARTH_THREADS": "5", "HEARTH_LOG_LEVEL": "debug"}
	a, printed, err := parse(t, dir, env, "serve", "--threads", "7")
	if err != nil {
		t.Fatal(err)
	}
	s := a.Serve.Serve
	if s.KV != "f32" || s.Context != 200 || s.Threads != 7 || !s.AnyModel || strings.Join(s.AllowHost, " ") != "a.example b" || s.LogLevel != "debug" || s.MaxQueue != 64 {
		t.Errorf("%+v", s)
	}
	for _, want := range []string{
		`kv = "f32" # file ` + file, "context = 200 # environment HEARTH_CONTEXT", "threads = 7 # flag --threads", "any-model = true # file " + file,
		`allow-host = ["a.example", "b"] # file ` + file, "max-queue = 64 # default", `listen = "127.0.0.1:8080" # default`, `# data = "` + dir + `" # default`} {
		if !strings.Contains(strings.Join(strings.Fields(printed), " "), want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	// What is printed is a file again.
	other := t.TempDir()
	write(t, other, printed)
	if again, _, err := parse(t, other, nil, "serve"); err != nil || again.Serve.Threads != 7 || again.Serve.Context != 200 {
		t.Errorf("%v %+v", err, again.Serve)
	}
	// Another command takes nothing from the file.
	if a, _, err := parse(t, dir, nil, "other"); err != nil || a.Other.KV != "none" {
		t.Errorf("%v %+v", err, a.Other)
	}
}

func TestWhereTheFileIs(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	file := write(t, elsewhere, "threads = 9\n")
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
	}{
		"--data":        {nil, []string{"--data", elsewhere, "serve"}},
		"HEARTH_DATA":   {map[string]string{"HEARTH_DATA": elsewhere}, []string{"serve"}},
		"--config":      {nil, []string{"serve", "--config=" + file}},
		"HEARTH_CONFIG": {map[string]string{"HEARTH_CONFIG": file}, []string{"serve"}},
	} {
		if a, _, err := parse(t, dir, tt.env, tt.args...); err != nil || a.Serve.Threads != 9 {
			t.Errorf("%s: %v, threads %d", name, err, a.Serve.Threads)
		}
	}
	if _, _, err := parse(t, dir, nil, "serve"); err != nil {
		t.Errorf("no file at the default place: %v", err)
	}
	if _, _, err := parse(t, dir, nil, "serve", "--config", filepath.Join(dir, "gone.toml")); err == nil || !strings.Contains(err.Error(), "gone.toml") {
		t.Errorf("a named file that is not there: %v", err)
	}
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"thread = 3":               `no setting "thread"`,
		"data = \"/x\"":            `no setting "data"`,
		"[serve]\nthreads = 3":     "is a table",
		"threads = ":               "expected value",
		"threads = \"many\"":       "threads",
		"kv = \"int4\"":            "kv",
		strings.Repeat("#", 2<<20): "larger than",
	} {
		dir := t.TempDir()
		write(t, dir, text)
		if _, _, err := parse(t, dir, nil, "serve"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Serve{MaxQueue: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, s := range map[string]Serve{"threads: -1": {Threads: -1, MaxQueue: 1}, "max-queue: 0": {}, "context: 2000000": {Context: 2_000_000, MaxQueue: 1}} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
