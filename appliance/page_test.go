package appliance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hearth/engine"
	"hearth/engine/chat"
)

func TestPageHTTP(t *testing.T) {
	e := newFakeEngine()
	e.status.Model.Name = `Qwen/<"'& model`
	url, _ := serve(t, e, nil)
	r := do(t, "GET", url+"/", "")
	if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		t.Fatal(r.StatusCode, r.Header)
	}
	csp := r.Header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") {
		t.Error(csp)
	}
	for _, want := range []string{url + "/v1", "Qwen/&lt;&#34;&#39;&amp; model", "only this machine", "opencode.json", "4.2 M", "32,768 tokens"} {
		if !strings.Contains(r.body, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, bad := range []string{"<script>", "style=", "onclick", "https://cdn", `Qwen/<"`} {
		if strings.Contains(r.body, bad) {
			t.Errorf("%q in the page", bad)
		}
	}
	if r := do(t, "HEAD", url+"/", ""); r.StatusCode != 200 || r.body != "" {
		t.Error("HEAD /", r.StatusCode)
	}
	for _, name := range []string{"console.css", "console.js", "icon.svg"} {
		r := do(t, "GET", url+"/static/"+name, "")
		tag := r.Header.Get("ETag")
		if r.StatusCode != 200 || tag == "" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Error(name, r.StatusCode, r.Header)
		}
		if r := do(t, "GET", url+"/static/"+name, "", "If-None-Match", tag); r.StatusCode != 304 {
			t.Error(name, r.StatusCode)
		}
	}
	wantError(t, do(t, "GET", url+"/static/../routes.go", ""), 404, "not_found_error", "not_found", "")
}

// browser starts headless Chromium, or skips. Whatever the page logs as an error fails the test: a violated policy, a
// missing file, an exception.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH: the page is not tested in a browser")
	}
	dir := t.TempDir()
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), flags...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts it; a deadline on this context would end it
		t.Fatalf("chromium does not start: %v", err)
	}
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	t.Cleanup(func() {
		stop()
		watching.Wait()
	})
	page := chromedp.FromContext(ctx).Target
	exceptions, entries := cdp.Events(watch, page, runtime.ExceptionThrown), cdp.Events(watch, page, log.EntryAdded)
	watching.Go(func() {
		for e, err := range exceptions {
			if err == nil {
				t.Errorf("exception in the page: %s", e.ExceptionDetails.Text)
			}
		}
	})
	watching.Go(func() {
		for e, err := range entries {
			// /health is 503 while loading, and the server goes away at the end of a test.
			expected := err == nil && (strings.HasSuffix(e.Entry.URL, "/health") || strings.Contains(e.Entry.Text, "ERR_CONNECTION_REFUSED"))
			if err == nil && e.Entry.Level == log.EntryLevelError && !expected {
				t.Errorf("the page logs: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	})
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

type step = chromedp.Action[chromedp.Void]

// shot keeps a picture for people in $HEARTH_SCREENSHOTS.
func shot(name string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		dir := os.Getenv("HEARTH_SCREENSHOTS")
		if dir == "" {
			return nil
		}
		time.Sleep(150 * time.Millisecond)
		b, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+".png"), b, 0o600)
	})
}

// until waits for a JavaScript expression to become true.
func until(expression string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		for {
			met, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
			if met {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s does not come true: %w", expression, errors.Join(ctx.Err(), err))
			}
			time.Sleep(30 * time.Millisecond)
		}
	})
}

func scheme(dark bool) step {
	value := map[bool]string{true: "dark", false: "light"}[dark]
	return chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		_, err := cdp.Call(ctx, page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
		return err
	})
}

// js runs a statement in the page.
func js(statement string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(() => { "+statement+"; return true })()"))
		return err
	})
}

func TestPageInBrowser(t *testing.T) {
	ctx := browser(t)
	e := newFakeEngine()
	info := e.Status().Model
	info.Name = "hearth-demo"
	loading := engine.Status{State: engine.Loading, Stage: "reading weights", Progress: 0.42, Model: engine.ModelInfo{Name: info.Name, Architecture: info.Architecture}}
	e.setStatus(loading)
	url, _ := serve(t, e, nil)
	url = strings.Replace(url, "127.0.0.1", "localhost", 1)
	run := func(steps ...step) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatal(err)
		}
	}

	// Loading: progress, nothing to send yet; then the page completes itself.
	run(scheme(true), chromedp.EmulateViewport(1360, 860), chromedp.Navigate(url), until(`document.getElementById("badge").textContent == "Loading 42 %"`),
		until(`document.getElementById("progress").value == 42 && document.getElementById("stage").textContent == "reading weights"`),
		chromedp.SendKeys("#input", "x"), until(`document.getElementById("send").disabled`), shot("loading"), js(`document.getElementById("input").value = ""`))
	e.setStatus(engine.Status{State: engine.Ready, Model: info})
	run(until(`document.body.dataset.status == "ready" && document.querySelector("dl").textContent.includes("32,768 tokens")`),
		until(`document.getElementById("loading").hidden`), shot("ready-dark"), scheme(false), shot("ready-light"))

	// A streamed answer with reasoning, code and markup that must stay text.
	gate := make(chan struct{})
	s := script{gate: gate, result: engine.Result{Finish: engine.FinishStop, PromptTokens: 300, CachedTokens: 260,
		Timings: engine.Timings{Prefill: 40 * time.Millisecond, Decode: time.Second, PrefillTokens: 40, DecodeTokens: 57}}}
	for _, r := range []string{"The user wants a function. ", "Runes, not bytes."} {
		s.events = append(s.events, chat.Event{Kind: chat.Reasoning, Text: r})
	}
	for _, c := range []string{"Reverse the **runes**, not the bytes:\n\n```go\nfunc Reverse(s string) string {\n", "\tr := []rune(s)\n\tslices.Reverse(r)\n\treturn string(r)\n}\n```\n\n",
		"Call it with `Reverse(\"hearth\")`. ", "<img src=x onerror=alert(1)>"} {
		s.events = append(s.events, chat.Event{Kind: chat.Content, Text: c})
	}
	e.set(s)
	run(chromedp.SendKeys("#input", "Write a Go function that reverses a string."+kb.Enter), until(`!document.getElementById("stop").hidden`))
	gate <- struct{}{}
	run(until(`document.querySelector(".thought div")?.textContent == "The user wants a function."`))
	for range 3 {
		gate <- struct{}{}
	}
	run(until(`document.querySelector(".turn .text pre code")?.textContent.includes("slices.Reverse")`), shot("streaming"))
	close(gate)
	run(until(`document.querySelector(".turn .meta")?.textContent.includes("57 tokens · 57.0/s") && document.getElementById("stop").hidden`),
		until(`document.querySelector(".turn .text").textContent.includes("<img src=x") && !document.querySelector(".turn img")`), shot("answer-light"))

	// A tool call: shown, answered by hand, and the conversation goes on with it.
	e.set(script{events: slices.Concat([]chat.Event{{Kind: chat.Content, Text: "Let me look."}}, call(0, "bash", `{"command":`, `"ls -la"}`)),
		result: engine.Result{Finish: engine.FinishToolCalls, Timings: engine.Timings{DecodeTokens: 9}}})
	run(chromedp.Click("#settings summary"), chromedp.Click("#example-tool"), shot("settings"), chromedp.Click("#settings summary"),
		chromedp.SendKeys("#input", "List the files."+kb.Enter),
		until(`document.querySelector(".call b")?.textContent == "bash" && document.querySelector(".call pre").textContent.includes('"command": "ls -la"')`))
	if req := e.request(); len(req.Tools) != 1 || req.Tools[0].Name != "get_weather" {
		t.Errorf("tools %+v", req.Tools)
	}
	e.set(text("Two files: ", "`main.go` and `go.mod`."))
	run(chromedp.SendKeys(".call .result textarea", "main.go go.mod"), scheme(true), shot("call-dark"), chromedp.SendKeys(".call .result textarea", kb.Enter),
		until(`[...document.querySelectorAll(".turn .text")].pop().textContent == "Two files: main.go and go.mod."`), shot("after-call"))
	m := e.request().Messages
	if n := len(m); n != 5 || m[3].ToolCalls[0].Arguments != `{"command":"ls -la"}` || m[4].Role != "tool" || m[4].ToolCallID != m[3].ToolCalls[0].ID || m[4].Parts[0].Text != "main.go go.mod" {
		t.Errorf("%+v", m)
	}

	// Stop frees the engine; the conversation can go on.
	endless := text("and ")
	endless.queue = make(chan struct{})
	e.set(endless)
	run(chromedp.SendKeys("#input", "More"+kb.Enter), until(`!document.getElementById("stop").hidden`), chromedp.Sleep(100*time.Millisecond), chromedp.Click("#stop"),
		until(`[...document.querySelectorAll(".turn .failure")].pop()?.textContent == "Stopped."`), until(`document.getElementById("stop").hidden`))
	if !e.stream().wasClosed(time.Second) {
		t.Error("stop did not reach the engine within 1 s")
	}
	run(chromedp.Click("#new"), until(`!document.getElementById("empty").hidden && !document.querySelector(".turn")`))

	testCopying(t, ctx, url)

	// On a phone nothing is wider than the screen.
	run(chromedp.EmulateViewport(390, 844), chromedp.Reload(), until(`document.body.dataset.status == "ready"`),
		until(`document.documentElement.scrollWidth <= 390`), shot("phone"),
		js(`document.getElementById("panel-curl").scrollIntoView()`), shot("phone-clients"))
}

// testCopying checks the copy buttons, and that tabs work with the keyboard.
func testCopying(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	// The clipboard of a headless browser is not reliable; what matters is what would be written to it.
	err := chromedp.Do(ctx, js(`navigator.clipboard.writeText = async (text) => { window.copied = text }`),
		chromedp.Click(`[data-copy="base-url"]`), until(`window.copied == "`+url+`/v1"`),
		until(`document.querySelector('[data-copy="base-url"]').textContent == "Copied"`),
		chromedp.Focus("#tab-curl"), chromedp.SendKeys("#tab-curl", kb.ArrowRight),
		until(`document.activeElement.id == "tab-python" && document.getElementById("panel-curl").hidden && !document.getElementById("panel-python").hidden`),
		chromedp.Click("#tab-opencode"), chromedp.Click(`[data-copy="text-opencode"]`),
		until(`JSON.parse(window.copied).provider.hearth.options.baseURL == "`+url+`/v1"`), shot("clients"))
	if err != nil {
		t.Fatal(err)
	}
}
