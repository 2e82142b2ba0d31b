package command

import (
	"context"
	"os"

	"github.com/alecthomas/kong"

	"hearth/appliance"
	"hearth/appliance/config"
)

type serveCmd struct {
	config.Serve
	PrintConfig bool `help:"Print every setting and where it comes from, and exit." env:"-"`
}

func (c *serveCmd) Run(ctx *kong.Context, g config.Global, r *config.Resolver, v version) error {
	if err := c.Check(); err != nil {
		return &appliance.StartError{Code: appliance.ExitConfig, Message: err.Error()}
	}
	if c.PrintConfig {
		r.Print(os.Stdout, ctx)
		return nil
	}
	return appliance.Run(context.Background(), appliance.Startup{
		Config: c.Serve, Data: g.Data, Version: string(v), Stderr: os.Stderr, Open: appliance.OpenEngine,
	})
}
