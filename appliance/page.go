package appliance

import "hearth/console"

// consoleSource shows the server to the page.
type consoleSource struct{ s *Server }

func (c consoleSource) State() console.State {
	h := c.s.currentHealth()
	m := c.s.opt.Engine.Status().Model
	return console.State{
		Status: h.Status, Stage: h.Stage, Progress: h.Progress, Error: h.Error, Version: h.Version,
		Loopback: Loopback(c.s.opt.Listen),
		Model: console.Model{
			Name: m.Name, Architecture: m.Architecture, Parameters: m.Parameters, WeightBytes: m.WeightBytes, Formats: m.Formats,
			KVFormat: m.KVFormat, ContextLength: m.ContextLength, VocabSize: m.VocabSize, MTP: m.MTP, Level: m.Level,
			Threads: m.Threads, Fingerprint: m.Fingerprint,
		},
	}
}
