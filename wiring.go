package main

import (
	"context"
	"errors"
	"log/slog"

	"hearth/appliance"
	"hearth/appliance/config"
)

type benchCmd struct{}

func (benchCmd) Run() error { return errors.New("unavailable") }

func openEngine(ctx context.Context, c config.Serve, data string, log *slog.Logger) (appliance.Engine, error) {
	return nil, errors.New("unavailable")
}
