package appliance

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// imports says which of our folders each top folder may import. kernels, persist and firmware stand alone; engine builds on
// kernels; console declares what it wants; appliance and main join everything.
var imports = map[string][]string{
	"kernels":   {},
	"persist":   {},
	"firmware":  {},
	"engine":    {"engine", "kernels"},
	"console":   {"console"},
	"packaging": {},
	"appliance": {"appliance", "console", "engine", "firmware", "kernels", "persist"},
	".":         {"appliance", "console", "engine", "firmware", "kernels", "persist"},
}

// TestImportRule keeps imports pointing one way, and HTTP out of everything below appliance and console.
func TestImportRule(t *testing.T) {
	files := 0
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		files++
		top, _, below := strings.Cut(name, "/")
		if !below {
			top = "."
		}
		allowed, known := imports[top]
		if !known {
			t.Errorf("%s: no rule for folder %q", name, top)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			checkImport(t, name, top, allowed, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d Go files seen: the walk went wrong", files)
	}
}

func checkImport(t *testing.T, name, top string, allowed []string, p string) {
	below := top == "kernels" || top == "persist" || top == "firmware" || top == "engine"
	if below && (p == "net/http" || strings.HasPrefix(p, "github.com/gofiber/") || strings.HasPrefix(p, "github.com/valyala/")) {
		t.Errorf("%s: %s knows no HTTP, but imports %s", name, top, p)
	}
	rest, ours := strings.CutPrefix(p, "hearth/")
	if !ours {
		return
	}
	to, _, _ := strings.Cut(path.Clean(rest), "/")
	for _, a := range allowed {
		if a == to {
			return
		}
	}
	t.Errorf("%s: %s must not import %s", name, top, p)
}
