// Package command is the command line: flags, subcommands and exit codes.
package command

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/alecthomas/kong"

	"hearth/appliance"
	"hearth/appliance/config"
)

type cli struct {
	config.Global

	Serve    serveCmd    `cmd:"" help:"Serve a model over HTTP."`
	Chat     chatCmd     `cmd:"" help:"Talk to a running server in the terminal."`
	Models   modelsCmd   `cmd:"" help:"The models in the data folder."`
	Tokenize tokenizeCmd `cmd:"" help:"Print the token ids of a text, asked of a running server."`
	Bench    benchCmd    `cmd:"" help:"Measure speed, beside a yardstick of the same machine."`
	Doctor   doctorCmd   `cmd:"" help:"Check this machine and say what to do."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

// version of the binary, as bound to the commands.
type version string

type versionCmd struct{}

func (versionCmd) Run(version version) error {
	fmt.Printf("hearth %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// Main runs the command line and ends the process with its exit code.
func Main(v string) {
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
	if err != nil {
		if blamed := resolver.Blame(err); blamed != nil {
			parser.FatalIfErrorf(&appliance.StartError{Code: appliance.ExitConfig, Message: blamed.Error()})
		}
	}
	parser.FatalIfErrorf(err)
	if err := resolver.Err(); err != nil {
		parser.FatalIfErrorf(&appliance.StartError{Code: appliance.ExitConfig, Message: err.Error()})
	}
	if c.Data, err = filepath.Abs(c.Data); err != nil {
		parser.FatalIfErrorf(&appliance.StartError{Code: appliance.ExitDataDir, Message: "the data folder: " + err.Error()})
	}
	ctx.Bind(c.Global, resolver, version(v))
	parser.FatalIfErrorf(ctx.Run())
}
