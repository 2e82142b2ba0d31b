package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"hearth/appliance"
	"hearth/appliance/config"
	"hearth/appliance/library"
	"hearth/appliance/terminal"
	"hearth/engine/checkpoint"
)

type serveCmd struct {
	config.Serve
	PrintConfig bool `help:"Print every setting and where it comes from, and exit." env:"-"`
}

func (c *serveCmd) Run(ctx *kong.Context, g config.Global, r *config.Resolver) error {
	if err := c.Check(); err != nil {
		return &appliance.StartError{Code: appliance.ExitConfig, Message: err.Error()}
	}
	if c.PrintConfig {
		r.Print(os.Stdout, ctx)
		return nil
	}
	return appliance.Run(context.Background(), appliance.Startup{
		Config: c.Serve, Data: g.Data, Version: version, Stderr: os.Stderr, Open: openEngine,
	})
}

type chatCmd struct {
	Prompt  []string `arg:"" optional:"" help:"First message; --once makes it the only one."`
	URL     string   `name:"url" help:"The server." default:"http://127.0.0.1:8080"`
	Model   string   `help:"Model name to ask for." env:"-"`
	Key     string   `help:"API key, for a server that wants one."`
	System  string   `help:"System message." env:"-"`
	Tools   string   `help:"File with a JSON list of tools; results of calls are asked of you." type:"existingfile" env:"-"`
	NoThink bool     `help:"Ask for an answer without reasoning." env:"-"`
	Once    bool     `help:"Leave after the answer to the first message." env:"-"`
}

func (c *chatCmd) Run() error {
	session := terminal.Session{
		Client: &terminal.Client{URL: c.URL, Key: c.Key}, Model: c.Model, NoThink: c.NoThink,
		In: os.Stdin, Out: os.Stdout, Color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "", Interrupt: interrupts(),
	}
	if c.Tools != "" {
		b, err := os.ReadFile(c.Tools)
		if err != nil {
			return err
		}
		if session.Tools = b; !json.Valid(b) {
			return fmt.Errorf("%s is not JSON", c.Tools)
		}
	}
	ctx := context.Background()
	model, err := session.Client.WaitReady(ctx, func(stage string, part float64) {
		fmt.Fprintf(os.Stderr, "\rloading: %s %3.0f %% ", stage, part*100)
	})
	if err != nil {
		return err
	}
	if session.Model == "" {
		session.Model = model
	}
	return session.Run(ctx, c.System, strings.Join(c.Prompt, " "), c.Once)
}

// interrupts delivers each ^C once, to whoever waits; with nobody waiting it is dropped.
func interrupts() <-chan struct{} {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	c := make(chan struct{})
	go func() {
		for range signals {
			select {
			case c <- struct{}{}:
			case <-time.After(time.Second):
			}
		}
	}()
	return c
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

type modelsCmd struct {
	List   modelsListCmd   `cmd:"" help:"List them."`
	Show   modelsShowCmd   `cmd:"" help:"Show one: configuration, formats, files."`
	Verify modelsVerifyCmd `cmd:"" help:"Read all of one and check tensors, files and digests."`
}

type modelsListCmd struct{}

func (modelsListCmd) Run(g config.Global) error {
	entries, err := library.List(g.Data)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		fmt.Printf("No models in %s. Copy a model folder there; the built-in demo model needs none.\n", library.Dir(g.Data))
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPARAMETERS\tSIZE\tFORMATS\tCONTEXT\tMTP")
	for _, e := range entries {
		if e.Err != nil {
			fmt.Fprintf(w, "%s\tcannot be opened: %v\n", e.Name, e.Err)
			continue
		}
		fmt.Fprintf(w, "%s\t%.2f B\t%.2f GiB\t%s\t%d\t%v\n", e.Name, float64(e.Parameters)/1e9, float64(e.Bytes)/(1<<30), e.Formats, e.Context, e.MTP)
	}
	return w.Flush()
}

type modelsShowCmd struct {
	Model string `arg:"" help:"Name in the library, or a folder."`
}

func (c modelsShowCmd) Run(g config.Global) error {
	ck, err := openModel(g.Data, c.Model)
	if err != nil {
		return err
	}
	defer ck.Close()
	cfg := ck.Config
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "architecture\t%s (%s)\n", cfg.Architecture, cfg.ModelType)
	fmt.Fprintf(w, "parameters\t%d\n", ck.Params())
	fmt.Fprintf(w, "weights\t%d bytes, %s\n", ck.Bytes(), ck.Formats())
	fmt.Fprintf(w, "layers\t%d, hidden size %d, MLP %d\n", cfg.Layers, cfg.HiddenSize, cfg.IntermediateSize)
	fmt.Fprintf(w, "attention\t%d heads, %d for keys and values, dimension %d\n", cfg.Heads, cfg.KVHeads, cfg.HeadDim)
	fmt.Fprintf(w, "delta rule\t%d key heads, %d value heads\n", cfg.LinearKeyHeads, cfg.LinearValueHeads)
	fmt.Fprintf(w, "vocabulary\t%d, context %d, MTP head %v\n", cfg.VocabSize, cfg.MaxPositions, ck.HasMTP())
	for _, f := range ck.Files() {
		fmt.Fprintf(w, "file\t%s, %d bytes\n", f.Path, f.Size)
	}
	return w.Flush()
}

type modelsVerifyCmd struct {
	Model string `arg:"" help:"Name in the library, or a folder."`
}

func (c modelsVerifyCmd) Run(g config.Global) error {
	ck, err := openModel(g.Data, c.Model)
	if err != nil {
		return err
	}
	defer ck.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	last := time.Now()
	report, err := ck.Verify(ctx, func(done, total int64) {
		if isTerminal(os.Stderr) && time.Since(last) > 200*time.Millisecond {
			last = time.Now()
			fmt.Fprintf(os.Stderr, "\rreading %3d %% ", done*100/max(total, 1))
		}
	})
	if err != nil {
		return err
	}
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s\n", f.Severity, f.Subject, f.Message)
	}
	if !report.Sound() {
		return &appliance.StartError{Code: appliance.ExitModel, Message: "the model is broken; copy it again"}
	}
	fmt.Println("sound, fingerprint", report.Digests.Fingerprint)
	return nil
}

// openModel opens a checkpoint by name or folder.
func openModel(data, model string) (*checkpoint.Checkpoint, error) {
	_, dir, err := library.Find(data, model)
	if err == nil {
		var ck *checkpoint.Checkpoint
		if ck, err = checkpoint.Open(dir); err == nil {
			return ck, nil
		}
	}
	return nil, &appliance.StartError{Code: appliance.ExitModel, Message: err.Error()}
}

type tokenizeCmd struct {
	Text    string `arg:"" help:"The text; - reads it from the input."`
	URL     string `name:"url" help:"The server." default:"http://127.0.0.1:8080"`
	Special bool   `help:"Strings of added tokens become their ids." env:"-"`
}

func (c tokenizeCmd) Run() error {
	if c.Text == "-" {
		b, err := io.ReadAll(io.LimitReader(os.Stdin, 32<<20))
		if err != nil {
			return err
		}
		c.Text = string(b)
	}
	body, err := json.Marshal(map[string]any{"prompt": c.Text, "special": c.Special})
	if err != nil {
		return err
	}
	client := http.Client{Timeout: time.Minute}
	res, err := client.Post(strings.TrimSuffix(c.URL, "/")+"/tokenize", "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w; start one with hearth serve", c.URL, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 256<<20))
	if err != nil {
		return err
	}
	var tokens struct {
		Tokens []int32
		Error  struct{ Message string }
	}
	if err := json.Unmarshal(answer, &tokens); err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(errors.New(res.Status), errors.New(tokens.Error.Message))
	}
	fmt.Println(len(tokens.Tokens), "tokens:", strings.Trim(fmt.Sprint(tokens.Tokens), "[]"))
	return nil
}

type doctorCmd struct {
	config.Serve
}

func (c doctorCmd) Run(g config.Global) error {
	findings := appliance.Examine(context.Background(), c.Serve, g.Data)
	appliance.PrintFindings(os.Stdout, findings)
	if !appliance.Healthy(findings) {
		return errors.New("there are problems")
	}
	return nil
}
