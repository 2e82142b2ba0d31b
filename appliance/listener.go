package appliance

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// boundedListener gives accepted TCP connections write deadlines, a bounded send buffer and an orderly end.
type boundedListener struct{ net.Listener }

func (l boundedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c, nil
	}
	tcp.SetNoDelay(true)
	tcp.SetWriteBuffer(socketBufferBytes)
	return &clientConn{TCPConn: tcp}, nil
}

// clientConn is a connection to one client.
type clientConn struct {
	*net.TCPConn
	lingering atomic.Bool // Close waits for the client to stop sending
}

// Write fails when the client takes nothing for writeStall.
func (c *clientConn) Write(b []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(writeStall))
	return c.TCPConn.Write(b)
}

// ReadFrom goes through Write, so that the deadline holds.
func (c *clientConn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}

// linger is called when a request is refused before all of it was read. Closing with unread input resets the
// connection, and the client might never see the refusal; so Close first reads and drops what still comes, for a while.
func (c *clientConn) linger() { c.lingering.Store(true) }

func (c *clientConn) Close() error {
	if c.lingering.Swap(false) && c.CloseWrite() == nil {
		c.SetReadDeadline(time.Now().Add(lingerTimeout))
		io.CopyN(io.Discard, c.TCPConn, lingerBytes)
	}
	return c.TCPConn.Close()
}

// abort drops the connection with what was not sent yet.
func (c *clientConn) abort() {
	c.SetLinger(0)
	c.TCPConn.Close()
}
