package tokenizer

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// TestNFC compares with Python's unicodedata (Unicode 14), runs of combining marks of any length included.
func TestNFC(t *testing.T) {
	file, err := os.ReadFile("testdata/nfc_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]string
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	long := 0
	for _, c := range cases {
		if got := nfc(c[0]); got != c[1] {
			t.Errorf("nfc(%+q) = %+q, want %+q", c[0], got, c[1])
		}
		if got := string(appendComposed(nil, c[0])); got != c[1] {
			t.Errorf("appendComposed(%+q) = %+q, want %+q", c[0], got, c[1])
		}
		if norm.NFC.String(c[0]) != c[1] {
			long++
		}
	}
	if len(cases) != 144 || long < 20 {
		t.Errorf("%d cases, %d that need more than x/text", len(cases), long)
	}
	for _, s := range []string{"", "plain", "é中😀", strings.Repeat("x", 100) + "ÿ"} {
		if got := nfc(s); got != s {
			t.Errorf("nfc(%q) = %q", s, got)
		}
	}
}
