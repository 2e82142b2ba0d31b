package tokenizer

import (
	"encoding/json"
	"os"
	"testing"
)

// demoWith is the demo's file with one top-level value replaced.
func demoWith(t testing.TB, key, value string) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/demo-tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var f map[string]json.RawMessage
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	f[key] = json.RawMessage(value)
	if file, err = json.Marshal(f); err != nil {
		t.Fatal(err)
	}
	return file
}
