//go:build unix

package appliance

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// errClientGone is why a request ends whose client closed the connection.
var errClientGone = errors.New("the client closed the connection")

// watchPeer looks at the connection every interval and cancels with errClientGone once the client has closed it. It
// returns when ctx ends. fasthttp itself notices a closed client only when a second write fails, and never while a
// request waits or is prefilled.
func watchPeer(ctx context.Context, conn net.Conn, interval time.Duration, cancel context.CancelCauseFunc) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		cancel(errClientGone)
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		gone := false
		if err := raw.Control(func(fd uintptr) { gone = peerClosed(int(fd)) }); err != nil || gone {
			cancel(errClientGone)
			return
		}
	}
}
