package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"hearth/appliance/terminal"
)

type chatCmd struct {
	Prompt  []string `arg:"" optional:"" help:"First message; --once makes it the only one."`
	URL     string   `name:"url" help:"The server." default:"http://127.0.0.1:8080"`
	Model   string   `help:"Model name to ask for. Default: the served model." env:"-"`
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
