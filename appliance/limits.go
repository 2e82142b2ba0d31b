package appliance

import "time"

const (
	// maxHeaderBytes bounds the request line and headers.
	maxHeaderBytes = 32 << 10
	// maxConnections bounds open connections; an agent keeps one or two. Each may hold a body of the largest size.
	maxConnections = 256
	// maxRequestIDBytes bounds an x-request-id that a client chose.
	maxRequestIDBytes = 128
	// maxUnknownNames bounds how many unknown field names are counted apart; the rest share one counter.
	maxUnknownNames = 256

	// streamBufferBytes bounds what a stream holds for a reader that is slow; past it the request is cancelled. An answer
	// of 32,000 tokens fits, with its framing.
	streamBufferBytes = 256 << 10
	// socketBufferBytes is asked of the kernel for what is written to a client. Left alone it grows to megabytes, and a
	// slow reader would be noticed that much later.
	socketBufferBytes = 128 << 10
	// coalesceEvents is how many events may wait before neighbours of one kind are joined: the reader is then slow.
	coalesceEvents = 32

	// keepAliveInterval is the longest silence on a stream; clients give up after 300 s, proxies after 30 to 60.
	keepAliveInterval = 10 * time.Second
	// peerPollInterval bounds how long a request outlives its client.
	peerPollInterval = 250 * time.Millisecond

	// readTimeout bounds the arrival of one request, body included: 32 MiB at 0.5 MiB/s.
	readTimeout = 64 * time.Second
	// idleTimeout bounds an idle connection. Agents pause for minutes while tools run.
	idleTimeout = 15 * time.Minute
	// writeStall bounds one write to a client that does not read.
	writeStall = 30 * time.Second
	// lingerTimeout and lingerBytes bound what is read and dropped after a refusal, so that the client sees the refusal
	// and not a reset of the connection.
	lingerTimeout = 2 * time.Second
	lingerBytes   = 64 << 20

	// drainTimeout is how long running requests may go on after the server was told to stop.
	drainTimeout = 20 * time.Second
	// closeTimeout bounds the end of connections after the drain.
	closeTimeout = 3 * time.Second

	// maxPreparations of bodies above largeBodyBytes run at once: a body of the largest size becomes half a gigabyte of
	// decoded, rendered and tokenised text. Recorded agent requests are below half of largeBodyBytes.
	maxPreparations = 2
	largeBodyBytes  = 1 << 20
	// preparationWait bounds the wait for one of them.
	preparationWait = 30 * time.Second

	// zstdWindowBytes bounds the memory of one decoder.
	zstdWindowBytes = 8 << 20
)
