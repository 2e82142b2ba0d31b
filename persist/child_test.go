package persist

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// children are bodies that tests run in a process of their own: the test binary, started again with PERSIST_CHILD set. They return
// an exit code; arguments come in PERSIST_ARG.
var children = map[string]func(arg string) int{}

func TestMain(m *testing.M) {
	if body := children[os.Getenv("PERSIST_CHILD")]; body != nil {
		os.Exit(body(os.Getenv("PERSIST_ARG")))
	}
	os.Exit(m.Run())
}

func child(t testing.TB, body, arg string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "PERSIST_CHILD="+body, "PERSIST_ARG="+arg)
	return cmd
}

// runChild runs a child to its end and returns what it printed.
func runChild(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("child: %v\n%s", err, out.String())
	}
	return out.String()
}

// childFails reports a child's failure and returns its exit code.
func childFails(format string, args ...any) int {
	fmt.Printf(format+"\n", args...)
	return 1
}
