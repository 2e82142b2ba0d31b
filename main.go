// Command hearth serves Qwen3.5 and Qwen3.6 models to coding agents over an OpenAI-compatible endpoint.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/alecthomas/kong"

	"hearth/appliance"
	"hearth/appliance/config"
)

// version is set by the linker.
var version = "dev"

type cli struct {
	config.Global

	Serve    serveCmd    `cmd:"" help:"Serve a model over HTTP."`
	Chat     chatCmd     `cmd:"" help:"Talk to a running server in the terminal."`
	Models   modelsCmd   `cmd:"" help:"The models in the data folder."`
	Tokenize tokenizeCmd `cmd:"" help:"Show the tokens of a text, asked of a running server."`
	Bench    benchCmd    `cmd:"" help:"Measure speed, beside a yardstick of the same machine."`
	Doctor   doctorCmd   `cmd:"" help:"Check this machine and say what to do."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Printf("hearth %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

func main() {
	var c cli
	resolver := config.NewResolver(os.LookupEnv)
	parser := kong.Must(&c,
		kong.Name("hearth"),
		kong.Description("Serves Qwen3.5 and Qwen3.6 models to coding agents over an OpenAI-compatible endpoint. "+
			"hearth serve without any flag starts the built-in demo model on http://127.0.0.1:8080."),
		kong.Vars{"data": config.DefaultData(), "shapes": shapeNames()},
		kong.DefaultEnvars("HEARTH"),
		kong.Resolvers(resolver),
		kong.ShortUsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	ctx, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	if err := resolver.Err(); err != nil {
		parser.FatalIfErrorf(&appliance.StartError{Code: appliance.ExitConfig, Message: err.Error()})
	}
	if c.Data, err = filepath.Abs(c.Data); err != nil {
		parser.FatalIfErrorf(&appliance.StartError{Code: appliance.ExitDataDir, Message: "the data folder: " + err.Error()})
	}
	ctx.Bind(c.Global, resolver)
	parser.FatalIfErrorf(ctx.Run())
}
