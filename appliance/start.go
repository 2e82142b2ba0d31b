package appliance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"hearth/appliance/config"
	"hearth/engine"
)

// Exit codes of the process. 1 is any other failure, 80 a wrong command line.
const (
	ExitConfig  = 2
	ExitDataDir = 3
	ExitPort    = 4
	ExitLocked  = 5
	ExitModel   = 6
)

// StartError is why a command cannot begin: one line that says what to do.
type StartError struct {
	Code    int
	Message string
}

func (e *StartError) Error() string { return e.Message }

// ExitCode is what the process ends with.
func (e *StartError) ExitCode() int { return e.Code }

// Startup is what Run needs besides settings.
type Startup struct {
	Config  config.Serve
	Data    string
	Version string
	Stderr  io.Writer
	// Open starts loading the model that Config names and returns at once.
	Open func(ctx context.Context, c config.Serve, data string, log *slog.Logger) (Engine, error)
}

// Run serves until ctx ends, or the first SIGINT or SIGTERM, then drains. A second signal ends the process at once.
func Run(ctx context.Context, st Startup) error {
	log := NewLogger(st.Stderr, st.Config)
	data, err := OpenDataDir(st.Data)
	if err != nil {
		return err
	}
	defer data.Close()
	ln, err := Listen(st.Config.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	if !Loopback(ln.Addr().String()) {
		log.Warn("listening beyond this machine, and there is no login yet: anyone who reaches this address can use the model", "listen", ln.Addr())
	}
	ctx, unregister := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer unregister()
	// The engine outlives ctx: answers that are under way may finish. Close ends it.
	eng, err := st.Open(context.WithoutCancel(ctx), st.Config, data.Path, log)
	if err != nil {
		return err
	}
	defer func() {
		if err := eng.Close(); err != nil {
			log.Warn("closing the engine", "error", err)
		}
	}()
	server := New(Options{Engine: eng, Version: st.Version, Log: log, Listen: ln.Addr().String(), Aliases: st.Config.Alias,
		AnyModel: st.Config.AnyModel, AllowHosts: st.Config.AllowHost, AllowOrigins: st.Config.AllowOrigin})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	log.Info("listening", "url", "http://"+ln.Addr().String(), "data", data.Path, "version", st.Version)
	notify(daemon.SdNotifyReady)
	go followLoading(ctx, eng)

	select {
	case err := <-failed:
		return fmt.Errorf("the server stopped: %w", err)
	case <-ctx.Done():
	}
	unregister() // the next signal has its default effect
	log.Info("shutting down; once more to stop at once", "drain", drainTimeout)
	notify(daemon.SdNotifyStopping)
	if err := server.Shutdown(context.Background()); err != nil {
		log.Warn("some connections did not end in time", "error", err)
	}
	return nil
}

// Listen opens the port.
func Listen(address string) (net.Listener, error) {
	network := "tcp"
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Is4() {
		network = "tcp4" // 0.0.0.0 would also listen on all IPv6 addresses
	}
	ln, err := net.Listen(network, address)
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &StartError{Code: ExitPort, Message: fmt.Sprintf("%s is in use; stop it, or choose another port with --listen", address)}
	case errors.Is(err, syscall.EACCES):
		return nil, &StartError{Code: ExitPort, Message: fmt.Sprintf("no permission to listen on %s; choose a port above 1023 with --listen", address)}
	}
	return nil, &StartError{Code: ExitPort, Message: fmt.Sprintf("cannot listen on %s: %v; choose another address with --listen", address, err)}
}

// NewLogger logs as configured.
func NewLogger(w io.Writer, c config.Serve) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(c.LogLevel)) != nil {
		level = slog.LevelInfo
	}
	opt := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// notify tells systemd, where it listens; that it may not is no failure.
func notify(state string) { daemon.SdNotify(false, state) }

// followLoading keeps the unit's status line up to date until the model is ready or failed.
func followLoading(ctx context.Context, eng Engine) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		st := eng.Status()
		notify("STATUS=" + statusLine(st))
		if st.State == engine.Ready || st.State == engine.Failed {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func statusLine(st engine.Status) string {
	switch st.State {
	case engine.Ready:
		return "serving " + st.Model.Name
	case engine.Failed:
		return fmt.Sprintf("%s failed: %v", st.Model.Name, st.Err)
	case engine.Loading:
		return fmt.Sprintf("loading %s: %s, %.0f %%", st.Model.Name, st.Stage, st.Progress*100)
	}
	return string(st.State)
}
