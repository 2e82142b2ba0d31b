package command

import (
	"context"
	"errors"
	"os"

	"hearth/appliance"
	"hearth/appliance/config"
)

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
