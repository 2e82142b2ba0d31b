package checkpoint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// Scheme says how activations are quantised before a matrix. Formulas: NVFP4 uses a static tensor scale and a dynamic E4M3
// scale per 16 columns; static FP8 one scale; dynamic FP8 one scale per token, or per token and 128 columns.
type Scheme uint8

const (
	None Scheme = iota
	StaticNVFP4
	StaticFP8
	DynamicFP8Token
	DynamicFP8Block
)

func (s Scheme) String() string {
	return [...]string{"none", "NVFP4", "FP8 static", "FP8 per token", "FP8 per token and 128 columns"}[s]
}

const supportedQuant = "supported are ModelOpt (NVFP4, W4A16_NVFP4, FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MIXED_PRECISION), " +
	"compressed-tensors NVFP4 and FP8, and fp8 in 128×128 blocks"

// quantConfig is what the quantisation config says about activations and the KV cache.
type quantConfig struct {
	file   string // where it was read
	scheme func(names []string, linear bool) (Scheme, error)
	kvFP8  bool
}

// parseQuant reads quantization_config of config.json and hf_quant_config.json (nil where absent).
func parseQuant(root, modelopt map[string]any) (quantConfig, error) {
	var err error
	top := newFields("config.json", root, &err)
	q := top.object("quantization_config")
	if !top.has("quantization_config") {
		q = top.object("text_config").object("quantization_config")
	}
	if q.m == nil {
		q = top.object("compression_config")
	}
	if err != nil {
		return quantConfig{}, err
	}
	hf := newFields("hf_quant_config.json", modelopt, &err).object("quantization")
	if q.m == nil && hf.m == nil {
		return quantConfig{scheme: func([]string, bool) (Scheme, error) { return None, nil }}, err
	}
	method := q.textOr("quant_method", "")
	if method == "" && (hf.m != nil || q.has("quant_algo")) {
		method = "modelopt"
	}
	var c quantConfig
	var unsupported error
	switch {
	case strings.HasPrefix(method, "modelopt"):
		c, unsupported = parseModelOpt(q, hf)
	case method == "compressed-tensors":
		c, unsupported = parseCompressedTensors(q)
	case method == "fp8":
		c, unsupported = parseFineFP8(q)
	default:
		unsupported = unsupportedf(q.file, fmt.Sprintf("quant_method %q", clip(method)), supportedQuant)
	}
	if err != nil {
		return quantConfig{}, err
	}
	return c, unsupported
}

// kvScheme tells whether kv_cache_scheme is FP8.
func kvScheme(q fields) bool {
	s := q.object("kv_cache_scheme")
	return s.m != nil && s.integerOr("num_bits", 0, 0, 64) == 8 && s.textOr("type", "") == "float"
}

// --- ModelOpt

// modelOptSchemes are the values of quant_algo that run.
var modelOptSchemes = map[string]Scheme{
	"":                          None,
	"FP8":                       StaticFP8,
	"FP8_PER_CHANNEL_PER_TOKEN": DynamicFP8Token,
	"FP8_PB_WO":                 None,
	"NVFP4":                     StaticNVFP4,
	"W4A16_NVFP4":               None,
}

func modelOptScheme(file, algo string) (Scheme, error) {
	s, ok := modelOptSchemes[algo]
	if !ok {
		return None, unsupportedf(file, fmt.Sprintf("quant_algo %q", clip(algo)), supportedQuant)
	}
	return s, nil
}

func parseModelOpt(q, hf fields) (quantConfig, error) {
	algo, excludes, layers := q.textOr("quant_algo", ""), q.texts("ignore", maxPatterns), q.object("quantized_layers")
	file := q.file
	if algo == "" && hf.m != nil {
		file, algo, excludes = hf.file, hf.textOr("quant_algo", ""), hf.texts("exclude_modules", maxPatterns)
	}
	if layers.m == nil {
		layers = hf.object("quantized_layers")
	}
	c := quantConfig{file: file, kvFP8: kvScheme(q) || hf.textOr("kv_cache_quant_algo", "") == "FP8" || q.textOr("kv_cache_quant_algo", "") == "FP8"}
	if err := checkPatterns(file, excludes); err != nil {
		return c, err
	}
	if algo == "MIXED_PRECISION" {
		return c, c.modelOptMixed(layers)
	}
	scheme, err := modelOptScheme(file, algo)
	c.scheme = func(names []string, _ bool) (Scheme, error) {
		if slices.ContainsFunc(excludes, func(p string) bool { return wildcard(p, names) }) {
			return None, nil
		}
		return scheme, nil
	}
	return c, err
}

// modelOptMixed takes each module's own algorithm; a module that is not listed is unquantised.
func (c *quantConfig) modelOptMixed(layers fields) error {
	if len(layers.m) > maxPatterns {
		return fmt.Errorf("%s: quantized_layers has %d entries, the limit is %d", layers.file, len(layers.m), maxPatterns)
	}
	schemes := make(map[string]Scheme, len(layers.m))
	for name := range layers.m {
		s, err := modelOptScheme(layers.file+": "+clip(name), layers.object(name).textOr("quant_algo", ""))
		if err != nil {
			return err
		}
		schemes[name] = s
	}
	c.scheme = func(names []string, _ bool) (Scheme, error) {
		for _, n := range names {
			if s, ok := schemes[n]; ok {
				return s, nil
			}
		}
		return None, nil
	}
	return nil
}

func checkPatterns(file string, patterns []string) error {
	for _, p := range patterns {
		if len(p) > maxPatternBytes {
			return fmt.Errorf("%s: pattern %s has %d bytes, the limit is %d", file, clip(p), len(p), maxPatternBytes)
		}
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%s: pattern %s: %w", file, clip(p), err)
		}
	}
	return nil
}

// wildcard matches a shell pattern. Module paths have no slash, so * runs over dots, as it does where the pattern was made.
func wildcard(pattern string, names []string) bool {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	return slices.ContainsFunc(names, func(n string) bool {
		ok, err := path.Match(pattern, n)
		return ok && err == nil
	})
}

// --- FP8 in blocks, as the official repositories have it

func parseFineFP8(q fields) (quantConfig, error) {
	c := quantConfig{file: q.file, kvFP8: kvScheme(q)}
	if f := q.textOr("fmt", "e4m3"); f != "e4m3" {
		return c, unsupportedf(q.file, fmt.Sprintf("quantization_config.fmt %q", clip(f)), "want e4m3")
	}
	scheme := DynamicFP8Token
	if v, ok := q.get("weight_block_size").([]any); ok {
		scheme = DynamicFP8Block
		for _, n := range v {
			if edge, ok := toInteger(n); !ok || edge != 128 || len(v) != 2 {
				return c, unsupportedf(q.file, "quantization_config.weight_block_size other than [128, 128]", supportedQuant)
			}
		}
	}
	switch a := q.textOr("activation_scheme", "dynamic"); a {
	case "dynamic":
	case "static":
		scheme = StaticFP8
	default:
		return c, unsupportedf(q.file, fmt.Sprintf("quantization_config.activation_scheme %q", clip(a)), "want dynamic or static")
	}
	c.scheme = func([]string, bool) (Scheme, error) { return scheme, nil }
	return c, nil
}

// --- compressed-tensors

// ctFormats are the storage formats that are read.
var ctFormats = []string{"", "nvfp4-pack-quantized", "float-quantized", "naive-quantized", "mixed-precision", "dense"}

// ctGroup is one entry of config_groups.
type ctGroup struct {
	targets []matcher
	scheme  Scheme
}

func parseCompressedTensors(q fields) (quantConfig, error) {
	c := quantConfig{file: q.file, kvFP8: kvScheme(q)}
	if err := ctFormat(q); err != nil {
		return c, err
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
