//go:build unix && !linux

package appliance

import "golang.org/x/sys/unix"

// peerClosed peeks at the connection without taking anything from it.
func peerClosed(fd int) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err == unix.EAGAIN || err == unix.EINTR {
		return false
	}
	return err != nil || n == 0
}
