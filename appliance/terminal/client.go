// Package terminal is the chat in a terminal: a client of a running server that knows nothing of it but its HTTP API.
package terminal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// maxLineBytes bounds one line of a stream; a delta is a few hundred bytes.
	maxLineBytes = 8 << 20
	// maxErrorBytes bounds what is read of an error body.
	maxErrorBytes = 64 << 10
	// connectTimeout bounds questions that are answered at once.
	connectTimeout = 10 * time.Second
	// loadingPoll is how often a loading server is asked again.
	loadingPoll = 500 * time.Millisecond
)

// Message is one turn, as sent.
type Message struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

// ToolCall of an assistant message. Index is the place in a stream.
type ToolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Client talks to one server.
type Client struct {
	URL string // without /v1
	Key string // sent as a bearer token unless empty
}

// request is a chat completion in the making.
type request struct {
	Model    string          `json:"model,omitempty"`
	Messages []Message       `json:"messages"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	Stream   bool            `json:"stream"`
	Kwargs   map[string]bool `json:"chat_template_kwargs,omitempty"`
}

// timings is the part of the server's timings that is shown.
type timings struct {
	CachedTokens          int     `json:"cached_tokens"`
	PrefillTokens         int     `json:"prefill_tokens"`
	DecodeTokens          int     `json:"decode_tokens"`
	DecodeTokensPerSecond float64 `json:"decode_tokens_per_second"`
}

// chunk is one event of a stream.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content          string     `json:"content"`
			ReasoningContent string     `json:"reasoning_content"`
			ToolCalls        []ToolCall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Timings *timings `json:"timings"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	return http.DefaultClient.Do(req)
}

// health is what the server says of itself.
type health struct {
	Status   string  `json:"status"`
	Stage    string  `json:"stage"`
	Progress float64 `json:"progress"`
	Error    string  `json:"error"`
	Model    string  `json:"model"`
}

func (c *Client) health(ctx context.Context) (h health, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	res, err := c.do(ctx, http.MethodGet, "/health", nil)
	if err != nil {
		return h, fmt.Errorf("no server answers at %s: %w; start one with hearth serve, or name another with --url", c.URL, err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxErrorBytes)).Decode(&h); err != nil {
		return h, fmt.Errorf("%s does not answer like hearth (%s)", c.URL, res.Status)
	}
	return h, nil
}

// WaitReady waits for a loading model and reports on the way. It returns the model's name.
func (c *Client) WaitReady(ctx context.Context, progress func(stage string, part float64)) (model string, err error) {
	for {
		h, err := c.health(ctx)
		switch {
		case err != nil:
			return "", err
		case h.Status == "ready":
			return h.Model, nil
		case h.Status == "failed":
			return "", fmt.Errorf("the server could not load its model: %s", h.Error)
		}
		progress(h.Stage, h.Progress)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(loadingPoll):
		}
	}
}

// stream sends a request and hands every chunk to visit.
func (c *Client) stream(ctx context.Context, r request, visit func(chunk)) error {
	r.Stream = true
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err
	}
	res, err := c.do(ctx, http.MethodPost, "/v1/chat/completions", &body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return refusal(res)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			return nil
		}
		var k chunk
		if err := json.Unmarshal(data, &k); err != nil {
			return fmt.Errorf("the server sent an event that is not JSON: %w", err)
		}
		if k.Error != nil {
			return errors.New(k.Error.Message)
		}
		visit(k)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the answer broke off")
}

// refusal reads an error body.
func refusal(res *http.Response) error {
	var k chunk
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	if json.Unmarshal(b, &k) == nil && k.Error != nil {
		return fmt.Errorf("%s (%s)", k.Error.Message, res.Status)
	}
	return errors.New(res.Status)
}
