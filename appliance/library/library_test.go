package library

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hearth/engine/checkpoint"
)

// demo writes a small checkpoint into the library.
func demo(t *testing.T, data, name string) string {
	t.Helper()
	ck, err := checkpoint.Synthetic("demo", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	dir := filepath.Join(Dir(data), name)
	if err := os.MkdirAll(Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Write(dir, ck, 1<<30); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestList(t *testing.T) {
	data := t.TempDir()
	if list, err := List(data); err != nil || len(list) != 0 {
		t.Fatalf("no folder: %v %v", list, err)
	}
	demo(t, data, "b-demo")
	for _, name := range []string{"a-broken", ".hidden"} {
		if err := os.MkdirAll(filepath.Join(Dir(data), name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(Dir(data), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := List(data)
	if err != nil || len(list) != 2 || list[0].Name != "a-broken" || list[0].Err == nil || list[1].Err != nil {
		t.Fatalf("%+v %v", list, err)
	}
	if e := list[1]; e.Name != "b-demo" || e.Parameters == 0 || e.Bytes == 0 || e.Formats == "" || e.Context == 0 || e.Architecture == "" {
		t.Errorf("%+v", e)
	}
}

func TestFind(t *testing.T) {
	data := t.TempDir()
	inside := filepath.Join(Dir(data), "one")
	outside := filepath.Join(t.TempDir(), "two")
	for _, dir := range []string{inside, outside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if name, dir, err := Find(data, "one"); name != "one" || dir != inside || err != nil {
		t.Error(name, dir, err)
	}
	if name, dir, err := Find(data, outside); name != "two" || dir != outside || err != nil {
		t.Error(name, dir, err)
	}
	if _, _, err := Find(data, "three"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "there is: one") {
		t.Error(err)
	}
}
