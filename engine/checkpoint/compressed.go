package checkpoint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// ctFormats are the storage formats that are read.
var ctFormats = []string{"", "nvfp4-pack-quantized", "float-quantized", "naive-quantized", "mixed-precision", "dense"}

// ctGroup is one entry of config_groups.
type ctGroup struct {
	targets []matcher
	scheme  Scheme
}

// parseCompressedTensors reads config_groups: each names modules by class, path or expression, and a scheme for their inputs.
func parseCompressedTensors(q fields) (quantConfig, error) {
	c := quantConfig{file: q.file, kvFP8: kvScheme(q)}
	if err := ctFormat(q); err != nil {
		return c, err
	}
	if len(q.object("transform_config").object("config_groups").m) > 0 {
		return c, unsupportedf(q.file, "transform_config (rotated weights)", supportedQuant)
	}
	if s := q.object("sparsity_config").textOr("format", "dense"); s != "dense" {
		return c, unsupportedf(q.file, fmt.Sprintf("sparsity_config.format %q", clip(s)), supportedQuant)
	}
	ignore, err := matchers(q, "ignore")
	if err != nil {
		return c, err
	}
	var groups []ctGroup
	list := q.object("config_groups")
	for _, name := range sortedKeys(list.m) {
		g, err := parseCTGroup(list.object(name))
		if err != nil {
			return c, err
		}
		groups = append(groups, g)
	}
	c.scheme = func(names []string, linear bool) (Scheme, error) { return ctScheme(groups, ignore, names, linear) }
	return c, nil
}

func ctFormat(f fields) error {
	if format := f.textOr("format", ""); !slices.Contains(ctFormats, format) {
		return unsupportedf(f.file, fmt.Sprintf("%sformat %q", f.path, clip(format)), supportedQuant)
	}
	return nil
}

func parseCTGroup(f fields) (ctGroup, error) {
	var g ctGroup
	if err := ctFormat(f); err != nil {
		return g, err
	}
	w := f.object("weights")
	if bits := w.integerOr("num_bits", 0, 0, 64); w.m != nil && (w.textOr("type", "float") != "float" || bits != 4 && bits != 8) {
		return g, unsupportedf(f.file, fmt.Sprintf("%sweights of %d bits, type %s", f.path, bits, clip(w.textOr("type", ""))), supportedQuant)
	}
	var err error
	if g.targets, err = matchers(f, "targets"); err != nil {
		return g, err
	}
	g.scheme, err = ctActivations(f.object("input_activations"))
	return g, err
}

func ctActivations(a fields) (Scheme, error) {
	if a.m == nil {
		return None, nil
	}
	bits, kind, strategy := a.integerOr("num_bits", 0, 0, 64), a.textOr("type", "float"), a.textOr("strategy", "")
	dynamic := fmt.Sprint(a.get("dynamic"))
	size := a.integerOr("group_size", 0, -1, 1<<20)
	switch {
	case kind == "float" && bits == 4 && dynamic == "local" && size == 16:
		return StaticNVFP4, nil
	case kind == "float" && bits == 8 && dynamic == "true" && (strategy == "token" || strategy == ""):
		return DynamicFP8Token, nil
	case kind == "float" && bits == 8 && dynamic == "true" && strategy == "group" && size == 128:
		return DynamicFP8Block, nil
	case kind == "float" && bits == 8 && dynamic == "false" && (strategy == "tensor" || strategy == ""):
		return StaticFP8, nil
	}
	return None, unsupportedf(a.file, fmt.Sprintf("%s%d bits, type %s, strategy %s, dynamic %s", a.path, bits, clip(kind), clip(strategy), clip(dynamic)), supportedQuant)
}

// ctScheme finds a module's group: by name or expression first, then by class.
func ctScheme(groups []ctGroup, ignore []matcher, names []string, linear bool) (Scheme, error) {
	class := "Embedding"
	if linear {
		class = "Linear"
	}
	for _, m := range ignore {
		if ok, err := m.matches(names, class); ok || err != nil {
			return None, err
		}
	}
	for _, as := range []string{"", class} {
		for _, g := range groups {
			for _, m := range g.targets {
				if ok, err := m.matches(names, as); err != nil {
					return None, err
				} else if ok {
					return g.scheme, nil
				}
			}
		}
	}
	return None, nil
}

// matcher is an entry of targets or ignore: a class, a module path, or an expression.
type matcher struct {
	text string
	fast *regexp.Regexp
	slow *regexp2.Regexp // for look-around, which the fast engine lacks
}

const slowMatchTimeout = 50 * time.Millisecond // a module path has some 60 bytes; longer means runaway backtracking

func matchers(f fields, key string) ([]matcher, error) {
	list := f.texts(key, maxPatterns)
	out := make([]matcher, 0, len(list))
	for _, s := range list {
		m := matcher{text: s}
		if len(s) > maxPatternBytes {
			return nil, fmt.Errorf("%s: %s%s: entry of %d bytes, the limit is %d", f.file, f.path, key, len(s), maxPatternBytes)
		}
		if expr, ok := strings.CutPrefix(s, "re:"); ok {
			if err := m.compile(`^(?:` + expr + `)`); err != nil {
				return nil, fmt.Errorf("%s: %s%s: %s: %w", f.file, f.path, key, clip(s), err)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// compile takes the engine whose time is bounded where it can; look-around needs the other, with a limit.
func (m *matcher) compile(expr string) (err error) {
	m.fast, err = regexp.Compile(expr)
	if err == nil || !strings.Contains(expr, "(?=") && !strings.Contains(expr, "(?!") && !strings.Contains(expr, "(?<") {
		return err
	}
	if m.slow, err = regexp2.Compile(expr, regexp2.None); err == nil {
		m.slow.MatchTimeout = slowMatchTimeout
	}
	return err
}

func (m matcher) matches(names []string, class string) (bool, error) {
	switch {
	case m.fast != nil:
		return slices.ContainsFunc(names, m.fast.MatchString), nil
	case m.slow != nil:
		for _, n := range names {
			if ok, err := m.slow.MatchString(n); err != nil {
				return false, fmt.Errorf("config.json: expression %s: %w", clip(m.text), err)
			} else if ok {
				return true, nil
			}
		}
		return false, nil
	}
	return m.text == class || slices.Contains(names, m.text), nil
}
