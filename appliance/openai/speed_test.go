package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkDecodeChat decodes a late turn of an agent: 120 messages, 150 KiB. It is on the way to the first token, so it should
// stay at a few milliseconds.
func BenchmarkDecodeChat(b *testing.B) {
	output, _ := json.Marshal(strings.Repeat("drwxr-xr-x 2 user \"group\" 4096 file.go\n", 60))
	turn := `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls -la\"}"}}]},` +
		`{"role":"tool","tool_call_id":"c","content":` + string(output) + `},`
	body := []byte(`{"model":"m","messages":[{"role":"system","content":"be brief"},` + strings.Repeat(turn, 60) + asUser + `],"tools":[` + aTool + `],"stream":true}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeChat(body, func(string) {}); err != nil {
			b.Fatal(err)
		}
	}
}
