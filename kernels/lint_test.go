package kernels

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// portableMath is what of package math gives the same bits on every architecture: correctly rounded, or no arithmetic.
var portableMath = map[string]bool{
	"Sqrt": true, "FMA": true, "Abs": true, "IsNaN": true, "IsInf": true, "Inf": true, "NaN": true,
	"Float32bits": true, "Float32frombits": true, "Float64bits": true, "Float64frombits": true,
	"Pi": true, "E": true, "Ln2": true, "Sqrt2": true, "SmallestNonzeroFloat32": true, "MaxFloat32": true, "MaxFloat64": true,
	"MaxInt": true, "MinInt": true, "MaxInt8": true, "MinInt8": true, "MaxInt16": true, "MinInt16": true, "MaxUint8": true,
	"MaxInt32": true, "MinInt32": true, "MaxInt64": true, "MinInt64": true, "MaxUint16": true, "MaxUint32": true, "MaxUint64": true,
}

// computing are the folders whose results reach a tensor, a table or a token.
var computing = []string{".", "../engine/cpu", "../engine/device", "../engine/sampling"}

// TestOnlyPortableMath fails when a function of package math that differs between architectures, or that may change with
// the Go version, is used where bits count: Exp, Log, Pow, Sin and their like have assembly of their own on some.
func TestOnlyPortableMath(t *testing.T) {
	files := 0
	for _, folder := range computing {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, use := range nonPortableMath(t, path, src) {
				t.Errorf("%s: results may differ between machines; use this package's functions", use)
			}
			return nil
		})
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && folder != ".") {
			t.Fatal(err)
		}
	}
	if files < 10 {
		t.Fatalf("only %d files were checked", files)
	}
}

func TestNonPortableMathIsFound(t *testing.T) {
	for src, want := range map[string]int{
		"package p; import \"math\"; var x = math.Exp(1) + math.Sqrt(2)":            1,
		"package p; import m \"math\"; var f, g = m.Pow, m.Float32bits":             1,
		"package p; import . \"math\"; var x = Sin(1)":                              1,
		"package p; import \"math/cmplx\"; var x = cmplx.Exp(1)":                    1,
		"package p; import \"math\"; var x = math.FMA(1, 2, math.Pi) + math.Inf(1)": 0,
		"package p; import \"math/rand\"; var x = rand.ExpFloat64()":                0,
	} {
		if got := nonPortableMath(t, "p.go", []byte(src)); len(got) != want {
			t.Errorf("%s: found %q, want %d", src, got, want)
		}
	}
}

// nonPortableMath lists the uses in one file, with positions.
func nonPortableMath(t *testing.T, path string, src []byte) []string {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var uses []string
	found := func(n ast.Node, what string) { uses = append(uses, fset.Position(n.Pos()).String()+": "+what) }
	names := map[string]bool{}
	for _, imp := range file.Imports {
		switch p, _ := strconv.Unquote(imp.Path.Value); {
		case p == "math/cmplx" || p == "math" && imp.Name != nil && imp.Name.Name == ".":
			found(imp, "import of "+p)
		case p == "math" && imp.Name != nil:
			names[imp.Name.Name] = true
		case p == "math":
			names["math"] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && names[id.Name] && !portableMath[sel.Sel.Name] {
				found(sel, "math."+sel.Sel.Name)
			}
		}
		return true
	})
	return uses
}
