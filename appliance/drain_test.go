package appliance

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"hearth/appliance/config"
)

// A signal lets the engine finish what it computes: the stream that runs ends in its own good time, not in an error.
func TestSignalDrainsTheEngine(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := port.Addr().String()
	port.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Startup{Config: config.Serve{Listen: address, LogLevel: "error", CPU: "auto", KV: "auto", MaxQueue: 4}, Data: t.TempDir(),
			Version: "v1", Stderr: io.Discard, Open: OpenEngine})
	}()
	// The end tokens are forbidden, so that the answer has its full length.
	body := `{"stream":true,"max_tokens":1500,"logit_bias":{"4083":-100,"4085":-100},"messages":[{"role":"user","content":"hi"}]}`
	var res *http.Response
	for range 1000 {
		if res, err = http.Post("http://"+address+"/v1/chat/completions", "application/json", strings.NewReader(body)); err == nil && res.StatusCode == 200 {
			break
		}
		if err == nil {
			res.Body.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	cancel() // the first chunk is here, the answer is not
	answer, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(answer), `"finish_reason":"length"`) || !strings.HasSuffix(string(answer), "data: [DONE]\n\n") {
		t.Errorf("%v, the stream ends in …%s", err, answer[max(0, len(answer)-300):])
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
