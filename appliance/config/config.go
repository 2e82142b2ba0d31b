// Package config gathers the settings of hearth: from flags, HEARTH_* variables of the environment, the file hearth.toml
// and defaults, in this order of precedence, and says for each value where it came from.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"
)

// Global are the flags of every command.
type Global struct {
	Data   string `help:"Folder for models, caches and settings. Default: ${data}" default:"${data}" placeholder:"DIR"`
	Config string `help:"Configuration file. Default: hearth.toml in the data folder, if it is there." placeholder:"FILE"`
}

// Serve are the settings of the server. Each is a flag, a variable and a key of the file.
type Serve struct {
	Listen      string   `help:"Address and port to listen on. Default: ${default}, which only this machine reaches." default:"127.0.0.1:8080" placeholder:"ADDR:PORT"`
	Model       string   `help:"Model to serve: a name under models/ in the data folder, or a folder. Default: the built-in demo model." placeholder:"NAME|DIR"`
	Alias       []string `help:"More names under which clients may ask for the model." placeholder:"NAME"`
	AnyModel    bool     `help:"Let any model name in a request mean the served model."`
	Threads     int      `help:"Threads to compute with; 0 is one a core." default:"0"`
	CPU         string   `name:"cpu" help:"Instruction level: ${enum}." enum:"auto,generic,avx2,avx512,neon" default:"auto"`
	KV          string   `name:"kv" help:"Format of attention keys and values: ${enum}." enum:"auto,f32,bf16,fp8" default:"auto"`
	Activations string   `help:"Quantise activations as the checkpoint says (auto), or never (f32)." enum:"auto,f32" default:"auto"`
	Context     int      `help:"Longest conversation in tokens; 0 is what the model allows." default:"0"`
	MaxQueue    int      `help:"Requests that may wait; more are refused." default:"64"`
	AllowHost   []string `help:"More Host names to answer to." placeholder:"NAME"`
	AllowOrigin []string `help:"Web origins whose pages may call the API, such as https://example.org." placeholder:"ORIGIN"`
	LogLevel    string   `help:"Least level that is logged: ${enum}." enum:"debug,info,warn,error" default:"info"`
	LogFormat   string   `help:"Format of the log: ${enum}." enum:"text,json" default:"text"`
}

// Check refuses values that no single flag can judge.
func (s Serve) Check() error {
	for _, c := range []struct {
		name  string
		value int
		least int
		most  int
	}{{"threads", s.Threads, 0, 1024}, {"context", s.Context, 0, 1 << 20}, {"max-queue", s.MaxQueue, 1, 4096}} {
		if c.value < c.least || c.value > c.most {
			return fmt.Errorf("%s: %d is not between %d and %d", c.name, c.value, c.least, c.most)
		}
	}
	return nil
}

// DefaultData is the data folder: $XDG_DATA_HOME/hearth or ~/.local/share/hearth.
func DefaultData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hearth")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "/var/lib/hearth"
	}
	return filepath.Join(home, ".local", "share", "hearth")
}

// fileName is looked for in the data folder.
const fileName = "hearth.toml"

// maxFileBytes bounds the configuration file.
const maxFileBytes = 1 << 20

// notInFile are flags that say where the file is, or make no sense in it.
var notInFile = []string{"data", "config", "help", "print-config"}

// Resolver finds the values that the command line does not give. It is used for one parse.
type Resolver struct {
	lookup func(string) (string, bool) // the environment

	loaded  bool
	err     error
	path    string
	values  map[string]any
	sources map[string]string // by flag name
}

// NewResolver reads variables through lookup, normally os.LookupEnv.
func NewResolver(lookup func(string) (string, bool)) *Resolver {
	return &Resolver{lookup: lookup, sources: map[string]string{}}
}

// Validate implements kong.Resolver; keys are checked when the file is read, which needs the parsed --data.
func (r *Resolver) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: a variable of the environment wins over the file. The file speaks to
// serve, and to doctor, which checks what serve would do.
func (r *Resolver) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if v, ok := r.lookup(name); ok {
			r.sources[flag.Name] = "environment " + name
			return v, nil
		}
	}
	selected := ctx.Selected()
	if selected == nil || !slices.Contains([]string{"serve", "doctor"}, selected.Name) || slices.Contains(notInFile, flag.Name) {
		return nil, nil
	}
	if r.err = cmp.Or(r.err, r.load(ctx)); r.err != nil {
		return nil, nil // Err has it; kong would blame the flag that happens to be first
	}
	v, ok := r.values[flag.Name]
	if !ok {
		return nil, nil
	}
	r.sources[flag.Name] = "file " + r.path
	return v, nil
}

// Blame says where a refused value came from, if not from the command line; else it is nil.
func (r *Resolver) Blame(err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "--")
	if !ok {
		return nil
	}
	name := strings.FieldsFunc(rest, func(c rune) bool { return c == ' ' || c == ':' || c == '=' })
	if len(name) == 0 || r.sources[name[0]] == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", r.sources[name[0]], err)
}

// Err is what is wrong with the file. It is to be asked after the parse.
func (r *Resolver) Err() error { return r.err }

// setting is a flag's value as far as command line, environment and default give it.
func (r *Resolver) setting(ctx *kong.Context, name string) (value string, given bool) {
	for _, f := range ctx.Flags() {
		if f.Name != name {
			continue
		}
		for _, p := range ctx.Path {
			if p.Flag == f && !p.Resolved {
				s, _ := ctx.FlagValue(f).(string)
				return s, true
			}
		}
		for _, env := range f.Envs {
			if v, ok := r.lookup(env); ok {
				return v, true
			}
		}
		return f.Default, false
	}
	return "", false
}

// load reads the file once.
func (r *Resolver) load(ctx *kong.Context) error {
	if r.loaded {
		return nil
	}
	r.loaded = true
	path, given := r.setting(ctx, "config")
	if path == "" {
		data, _ := r.setting(ctx, "data")
		path = filepath.Join(data, fileName)
	}
	values, err := readFile(path)
	if !given && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	known := map[string]bool{}
	for _, f := range ctx.Flags() {
		known[f.Name] = !slices.Contains(notInFile, f.Name)
	}
	for key := range values {
		if !known[key] {
			return fmt.Errorf("configuration file %s: there is no setting %q; the keys are the flags of hearth serve without --", path, key)
		}
	}
	r.path, r.values = path, values
	return nil
}

func readFile(path string) (map[string]any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileBytes)
	}
	var values map[string]any
	if err := toml.Unmarshal(b, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for key, v := range values {
		if _, nested := v.(map[string]any); nested {
			return nil, fmt.Errorf("%s: %q is a table; settings are plain keys", path, key)
		}
	}
	return values, nil
}

// Print writes every value of the selected command with its source, in the format of the file.
func (r *Resolver) Print(w io.Writer, ctx *kong.Context) {
	given := map[string]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			given[p.Flag.Name] = true
		}
	}
	for _, f := range ctx.Flags() {
		if slices.Contains([]string{"help", "print-config"}, f.Name) {
			continue
		}
		source := r.sources[f.Name]
		switch {
		case given[f.Name]:
			source = "flag --" + f.Name
		case source == "":
			source = "default"
		}
		line := f.Name + " = " + literal(f.Target)
		if slices.Contains(notInFile, f.Name) {
			line = "# " + line
		}
		fmt.Fprintf(w, "%-44s # %s\n", line, source)
	}
}

// literal spells a value in TOML.
func literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return quote(v.String())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = literal(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

// quote is a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, "\\u%04x", c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
