// Package library finds and checks the models in the data folder: one folder each under models/, in Hugging Face layout.
package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hearth/engine/checkpoint"
)

// maxModels bounds how many folders are looked at.
const maxModels = 1000

// ErrNotFound says that a name means no model; the message lists those there are.
var ErrNotFound = errors.New("no such model")

// Entry is one model of the library.
type Entry struct {
	Name string
	Dir  string
	Err  error // why it cannot be opened; the rest is then zero

	Architecture string
	Parameters   int64
	Bytes        int64
	Formats      string
	Context      int
	MTP          bool
}

// Dir is where models lie in a data folder.
func Dir(data string) string { return filepath.Join(data, "models") }

// List opens every model, in order of their names. A missing folder holds none.
func List(data string) ([]Entry, error) {
	names, err := names(data)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		entries = append(entries, describe(name, filepath.Join(Dir(data), name)))
	}
	return entries, nil
}

func names(data string) ([]string, error) {
	found, err := os.ReadDir(Dir(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the model library: %w", err)
	}
	var names []string
	for _, f := range found {
		info, err := os.Stat(filepath.Join(Dir(data), f.Name())) // follows links
		if err == nil && info.IsDir() && !strings.HasPrefix(f.Name(), ".") && len(names) < maxModels {
			names = append(names, f.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func describe(name, dir string) Entry {
	e := Entry{Name: name, Dir: dir}
	ck, err := checkpoint.Open(dir)
	if err != nil {
		e.Err = err
		return e
	}
	defer ck.Close()
	e.Architecture, e.Parameters, e.Bytes = ck.Config.Architecture, ck.Params(), ck.Bytes()
	e.Formats, e.Context, e.MTP = ck.Formats(), ck.Config.MaxPositions, ck.HasMTP()
	return e
}

// Find turns what --model says into a folder: a name in the library, or a path.
func Find(data, model string) (name, dir string, err error) {
	if dir = filepath.Join(Dir(data), model); filepath.IsLocal(model) && isDir(dir) {
		return model, dir, nil
	}
	if isDir(model) {
		abs, err := filepath.Abs(model)
		if err != nil {
			return "", "", err
		}
		return filepath.Base(abs), abs, nil
	}
	have, err := names(data)
	if err != nil {
		return "", "", err
	}
	list := "the library is empty"
	if len(have) > 0 {
		list = "there is: " + strings.Join(have, ", ")
	}
	return "", "", fmt.Errorf("%w: %q is neither a folder nor in %s (%s)", ErrNotFound, model, Dir(data), list)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
