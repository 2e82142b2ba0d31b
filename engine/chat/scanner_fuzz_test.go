package chat

import (
	"strings"
	"testing"
	"time"
)

// FuzzScanner: any text gives the same events however it is cut, completed arguments are JSON, and without tools, stop texts
// and reasoning all of it comes out as content.
func FuzzScanner(f *testing.F) {
	for _, c := range scanCases() {
		f.Add(c.in, uint16(len(c.in)/2), c.opts.ThinkOpen, strings.Join(c.opts.Stop, "\x00"))
	}
	f.Fuzz(func(t *testing.T, in string, cut uint16, think bool, stop string) {
		opts := ScannerOptions{Tools: scanTools, ThinkOpen: think}
		if stop != "" && len(stop) < 40 {
			opts.Stop = []string{stop}
		}
		want, s := scan(t, opts, in)
		checkCalls(t, s)
		at := int(cut) % (len(in) + 1)
		if got, _ := scan(t, opts, in[:at], in[at:]); got != want {
			t.Fatalf("cut at %d: got %q\nwant %q", at, got, want)
		}
		var bytes []string
		for i := range len(in) {
			bytes = append(bytes, in[i:i+1])
		}
		if got, _ := scan(t, opts, bytes...); got != want {
			t.Fatalf("byte by byte: got %q\nwant %q", got, want)
		}
		plain := ""
		p := NewScanner(ScannerOptions{ToolsOff: true})
		collect := func(e Event) { plain += e.Text }
		p.Feed([]byte(in), collect)
		p.Finish(collect)
		if lead := strings.TrimPrefix(strings.TrimLeft(in, asciiSpace), tagThinkEnd); strings.ToValidUTF8(in, "\ufffd") != plain && lead == strings.TrimLeft(in, asciiSpace) {
			t.Fatalf("text was lost: got %q of %q", plain, in)
		}
	})
}

// TestScannerIsLinear feeds a megabyte of what looks like the beginning of something, a byte at a time and at once.
func TestScannerIsLinear(t *testing.T) {
	for _, unit := range []string{"<", "<tool_call>", "<tool_call><function=", "</parameter>", "\n", " ", "</think>", "</parameter>\n<parameter=", "<function=bash>\n"} {
		in := strings.Repeat(unit, 1<<20/len(unit))
		for _, prefix := range []string{"", "<tool_call><function=bash><parameter=command>"} {
			start := time.Now()
			for _, size := range []int{1, 1 << 21} {
				s := NewScanner(ScannerOptions{Tools: scanTools, ThinkOpen: prefix == "", Stop: []string{"<<<<!", "\n\n\n!"}})
				n := 0
				emit := func(e Event) { n += len(e.Text) }
				for text := []byte(prefix + in); len(text) > 0; {
					k := min(size, len(text))
					s.Feed(text[:k], emit)
					text = text[k:]
				}
				s.Finish(emit)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%q after %q: %v for two megabytes", unit, prefix, took)
			}
		}
	}
}
