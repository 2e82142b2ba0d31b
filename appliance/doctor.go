package appliance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"hearth/appliance/config"
	"hearth/appliance/demo"
	"hearth/appliance/library"
	"hearth/engine/checkpoint"
	"hearth/kernels"
)

// Verdict of a finding.
type Verdict string

const (
	Good    Verdict = "ok"
	Note    Verdict = "note" // works, could be better
	Problem Verdict = "PROBLEM"
)

// Finding is one line of the doctor.
type Finding struct {
	Verdict Verdict
	Subject string
	Text    string
	Advice  string // what to do, "" when nothing
}

// diskLowBytes and memoryLowBytes are where the doctor begins to worry.
const (
	diskLowBytes   = 2 << 30
	memoryLowBytes = 1 << 30
)

// Examine checks what a server needs here, changing nothing but creating the data folder as a server would.
func Examine(ctx context.Context, c config.Serve, data string) []Finding {
	var findings []Finding
	findings = append(findings, examineCPU(c)...)
	findings = append(findings, examineThreads(c), examineMemory(c, data))
	findings = append(findings, examineData(data)...)
	findings = append(findings, examinePort(c))
	return append(findings, examineModels(ctx, c, data)...)
}

// Healthy says whether no finding is a problem.
func Healthy(findings []Finding) bool {
	for _, f := range findings {
		if f.Verdict == Problem {
			return false
		}
	}
	return true
}

// PrintFindings writes one line a finding, and below it what to do.
func PrintFindings(w io.Writer, findings []Finding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%-8s %-12s %s\n", f.Verdict, f.Subject, f.Text)
		if f.Advice != "" {
			fmt.Fprintf(w, "%-8s %-12s → %s\n", "", "", f.Advice)
		}
	}
}

func examineCPU(c config.Serve) []Finding {
	level, err := kernels.ParseLevel(c.CPU)
	if err == nil {
		err = kernels.Use(level)
	}
	if err != nil {
		return []Finding{{Problem, "cpu", err.Error(), "leave --cpu at auto"}}
	}
	f := Finding{Good, "cpu", fmt.Sprintf("%s/%s, instruction level %s of %v", runtime.GOOS, runtime.GOARCH, level, kernels.Levels()), ""}
	if level == kernels.Generic {
		f.Verdict, f.Advice = Note, "the portable code is many times slower; use a CPU with AVX2 (amd64) or NEON with dot product (arm64)"
	}
	if err := kernels.SelfCheck(); err != nil {
		return []Finding{f, {Problem, "kernels", err.Error(), "results stay right, but slow; report this CPU, and try another --cpu level"}}
	}
	return []Finding{f, {Good, "kernels", "the self check agrees with the reference", ""}}
}

func examineThreads(c config.Serve) Finding {
	cores := runtime.NumCPU()
	if c.Threads > cores {
		return Finding{Note, "threads", fmt.Sprintf("%d threads on %d cores", c.Threads, cores), "more threads than cores slow every step; leave --threads at 0"}
	}
	return Finding{Good, "threads", fmt.Sprintf("%d cores usable", cores), ""}
}

func examineMemory(c config.Serve, data string) Finding {
	free := availableMemory()
	if free == 0 {
		return Finding{Note, "memory", "how much is available is not known here", ""}
	}
	f := Finding{Good, "memory", gib(free) + " available", ""}
	need := int64(memoryLowBytes)
	if c.Model != "" {
		if _, dir, err := library.Find(data, c.Model); err == nil {
			if ck, err := checkpoint.Open(dir); err == nil {
				need = ck.Bytes() + ck.Bytes()/8
				ck.Close()
			}
		}
	}
	if free < need {
		f.Verdict, f.Advice = Problem, fmt.Sprintf("about %s are needed; stop other programs or choose a smaller model", gib(need))
	}
	return f
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

func examineData(path string) []Finding {
	d, err := OpenDataDir(path)
	var start *StartError
	switch {
	case errors.As(err, &start) && start.Code == ExitLocked:
		return []Finding{{Note, "data", start.Message, ""}}
	case err != nil:
		return []Finding{{Problem, "data", err.Error(), "give the user that runs hearth write access"}}
	}
	defer d.Close()
	found := []Finding{{Good, "data", path + " is writable and not in use", ""}}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return append(found, Finding{Note, "disk", err.Error(), ""})
	}
	free := int64(fs.Bavail) * int64(fs.Bsize)
	f := Finding{Good, "disk", gib(free) + " free", ""}
	if free < diskLowBytes {
		f.Verdict, f.Advice = Note, "models and caches need room; free some, or choose another folder with --data"
	}
	return append(found, f)
}

func examinePort(c config.Serve) Finding {
	ln, err := Listen(c.Listen)
	if err != nil {
		return Finding{Problem, "port", err.Error(), ""}
	}
	defer ln.Close()
	f := Finding{Good, "port", c.Listen + " is free", ""}
	if host, _, _ := net.SplitHostPort(c.Listen); !Loopback(c.Listen) {
		f.Verdict, f.Advice = Note, fmt.Sprintf("%q is reachable from other machines and there is no login yet; use 127.0.0.1 unless the network is trusted", host)
	}
	return f
}

func examineModels(ctx context.Context, c config.Serve, data string) []Finding {
	entries, err := library.List(data)
	if err != nil {
		return []Finding{{Problem, "models", err.Error(), ""}}
	}
	var found []Finding
	for _, e := range entries {
		if ctx.Err() != nil {
			return found
		}
		if e.Err != nil {
			found = append(found, Finding{Problem, "model", e.Name + ": " + e.Err.Error(), "copy the model again into " + e.Dir + ", or remove that folder"})
			continue
		}
		found = append(found, Finding{Good, "model", fmt.Sprintf("%s: %s, %s", e.Name, e.Formats, gib(e.Bytes)), ""})
	}
	if len(entries) == 0 {
		found = append(found, Finding{Note, "models", "none in " + library.Dir(data), "the built-in demo model is served; copy a Qwen3.5 or Qwen3.6 folder to " + filepath.Join(library.Dir(data), "NAME")})
	}
	if c.Model != "" && c.Model != demo.Name {
		if _, _, err := library.Find(data, c.Model); err != nil {
			found = append(found, Finding{Problem, "model", err.Error(), "hearth models list shows the names"})
		}
	}
	return found
}
