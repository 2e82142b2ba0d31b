package appliance

import (
	"context"
	"log/slog"
	"runtime"

	"hearth/appliance/config"
	"hearth/appliance/demo"
	"hearth/appliance/library"
	"hearth/engine"
	"hearth/kernels"
)

// spareProcs let connections be served while all compute threads spin: Go would preempt a spinning thread only after 10 ms.
const spareProcs = 2

// served is an engine as the endpoint wants it.
type served struct{ *engine.Engine }

// Chat implements Engine.
func (s served) Chat(ctx context.Context, req *engine.Request) (Stream, error) {
	stream, err := s.Engine.Chat(ctx, req)
	if err != nil {
		return nil, err // not a nil *engine.Stream in an interface
	}
	return stream, nil
}

// OpenEngine chooses the instruction level, checks the kernels, and starts loading the configured model: the embedded demo
// when none is named.
func OpenEngine(ctx context.Context, c config.Serve, data string, log *slog.Logger) (Engine, error) {
	if err := UseLevel(c.CPU, log); err != nil {
		return nil, err
	}
	threads := c.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	runtime.GOMAXPROCS(threads + spareProcs)
	o := engine.Options{
		Threads: threads, KV: c.KV, F32Activations: c.Activations == "f32", Context: c.Context, MaxQueue: c.MaxQueue,
		PageBudget: memoryLimit() / pageShare, Log: log,
	}
	if c.Model == "" || c.Model == demo.Name {
		o.Name, o.FS = demo.Name, demo.FS()
	} else {
		name, dir, err := library.Find(data, c.Model)
		if err != nil {
			return nil, &StartError{Code: ExitModel, Message: err.Error()}
		}
		o.Name, o.Dir = name, dir
	}
	return served{engine.Open(ctx, o)}, nil
}

// UseLevel forces an instruction level and compares its kernels with the reference.
func UseLevel(name string, log *slog.Logger) error {
	level, err := kernels.ParseLevel(name)
	if err == nil {
		err = kernels.Use(level)
	}
	if err != nil {
		return &StartError{Code: ExitConfig, Message: "cpu: " + err.Error()}
	}
	if err := kernels.SelfCheck(); err != nil {
		log.Error("a kernel is wrong on this machine; computing with the slow reference instead", "error", err)
	}
	return nil
}
