package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"

	"github.com/gofiber/fiber/v2"
)

//go:embed static
var static embed.FS

// policy lets the page use its own files and API and nothing else; nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// assets are the static files and their types.
var assets = map[string]string{
	"console.css": "text/css; charset=utf-8",
	"console.js":  "text/javascript; charset=utf-8",
	"icon.svg":    "image/svg+xml",
}

// Handlers gives what answers GET, by path.
func Handlers(source Source) map[string]fiber.Handler {
	handlers := map[string]fiber.Handler{"/": page(source)}
	for name, kind := range assets {
		handlers["/static/"+name] = asset(name, kind)
	}
	return handlers
}

func page(source Source) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var b bytes.Buffer
		view := NewView(source.State(), c.Protocol()+"://"+string(c.Request().Host()))
		if err := Page(view).Render(c.Context(), &b); err != nil {
			return err
		}
		secure(c)
		c.Set(fiber.HeaderCacheControl, "no-store")
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.Send(b.Bytes())
	}
}

// asset serves a file of the binary; browsers ask again with its digest, and get it once.
func asset(name, kind string) fiber.Handler {
	b, err := static.ReadFile("static/" + name)
	if err != nil {
		panic(err) // the list above and the folder differ
	}
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(c *fiber.Ctx) error {
		secure(c)
		c.Set(fiber.HeaderCacheControl, "no-cache")
		c.Set(fiber.HeaderETag, tag)
		if c.Get(fiber.HeaderIfNoneMatch) == tag {
			return c.SendStatus(http.StatusNotModified)
		}
		c.Set(fiber.HeaderContentType, kind)
		return c.Send(b)
	}
}

func secure(c *fiber.Ctx) {
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
}
