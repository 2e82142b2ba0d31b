package appliance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"hearth/appliance/openai"
)

// requestBody is the body with its Content-Encoding undone, within the limit on the decoded size. The bytes belong to
// the handler.
func requestBody(c *fiber.Ctx) ([]byte, error) {
	raw := c.Request().Body() // c.Body would undo encodings without a limit
	encoding := strings.ToLower(strings.TrimSpace(c.Get(fiber.HeaderContentEncoding)))
	var r io.Reader
	switch encoding {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
		zr, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, openai.Invalidf("", "the body is not valid gzip")
		}
		r = zr
	case "zstd":
		zr, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowBytes))
		if err != nil {
			return nil, openai.Invalidf("", "the body is not valid zstd")
		}
		defer zr.Close()
		r = zr
	default:
		c.Set(fiber.HeaderAcceptEncoding, "gzip, zstd, identity")
		return nil, &openai.Error{Status: http.StatusUnsupportedMediaType, Type: openai.TypeInvalidRequest,
			Message: fmt.Sprintf("Content-Encoding %.32q is not supported; use gzip, zstd or none", encoding)}
	}
	body, err := io.ReadAll(io.LimitReader(r, openai.MaxBodyBytes+1))
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, openai.Invalidf("", "the zstd window is larger than %d bytes", zstdWindowBytes)
	case err != nil:
		return nil, openai.Invalidf("", "the body is not valid %s", encoding)
	case len(body) > openai.MaxBodyBytes:
		return nil, bodyTooLarge()
	}
	return body, nil
}

func bodyTooLarge() *openai.Error {
	return &openai.Error{Status: http.StatusRequestEntityTooLarge, Type: openai.TypeInvalidRequest, Code: "request_too_large",
		Message: fmt.Sprintf("the body is larger than %d bytes (after decompression)", openai.MaxBodyBytes)}
}
