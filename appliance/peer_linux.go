package appliance

import "golang.org/x/sys/unix"

// peerClosed asks poll(2) whether the client closed its side. Unlike a peek this also sees it behind unread bytes of a
// pipelined request.
func peerClosed(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}
