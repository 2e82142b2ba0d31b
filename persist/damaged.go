package persist

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// damagedName is where a damaged file is kept: cache.db.damaged-20260102T030405.678Z, sortable by time.
func damagedName(path string, now time.Time) string {
	return path + ".damaged-" + now.UTC().Format("20060102T150405.000Z")
}

// moveAside renames a damaged file and removes the oldest ones beyond maxDamagedKept. It returns the new name.
func moveAside(path string, now time.Time) (string, error) {
	to := damagedName(path, now)
	if err := os.Rename(path, to); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(globQuote(path) + ".damaged-*")
	slices.Sort(old)
	old = slices.DeleteFunc(old, func(name string) bool { return name == to })
	for len(old) >= maxDamagedKept {
		if err := os.Remove(old[0]); err != nil {
			return to, nil // it stays one longer; the next time tries again
		}
		old = old[1:]
	}
	return to, syncDir(path)
}

// globQuote escapes what filepath.Glob would expand.
func globQuote(path string) string {
	var out []byte
	for i := range len(path) {
		if c := path[i]; c == '*' || c == '?' || c == '[' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}
