package checkpoint

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

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

// parseModelOpt reads either place: q is quantization_config of config.json, hf the quantization of hf_quant_config.json. The
// first wins; members it lacks come from the second.
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
	if layers.m == nil {
		return fmt.Errorf("%s: MIXED_PRECISION without quantized_layers: which module has which algorithm?", c.file)
	}
	schemes := make(map[string]Scheme, len(layers.m))
	for _, name := range sortedKeys(layers.m) { // of several mistakes always the same is told
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
