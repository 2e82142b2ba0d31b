package appliance

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/gofiber/fiber/v2"

	"hearth/appliance/openai"
)

// A web page on another site can make a browser send requests to this server, and with a DNS name that it points at our
// address ("rebinding") also read the answers. Two checks stop that: the Host must be an address or one of our names,
// and an Origin, which browsers always add to such requests, must be this server itself or a configured one.

// guardHost refuses foreign Host names. An address in Host is fine: rebinding needs a name.
func (s *Server) guardHost(c *fiber.Ctx) error {
	host := hostname(c.Get(fiber.HeaderHost))
	if host == "" || s.ownName(host) { // browsers always send Host; old probes may not
		return c.Next()
	}
	return &openai.Error{Status: http.StatusForbidden, Type: openai.TypePermission, Code: "host_not_allowed",
		Message: "this server does not answer to the name in the Host header; add it with --allow-host if it is yours"}
}

// hostname strips the port from a Host header.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func (s *Server) ownName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	for _, name := range s.opt.AllowHosts {
		if strings.EqualFold(host, name) {
			return true
		}
	}
	if Loopback(s.opt.Listen) {
		return false
	}
	self, err := os.Hostname()
	return err == nil && (strings.EqualFold(host, self) || strings.EqualFold(host, self+".local"))
}

// Loopback says whether a listen address is reachable from this machine only.
func Loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// guardOrigin refuses foreign origins and answers preflights of allowed ones.
func (s *Server) guardOrigin(c *fiber.Ctx) error {
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return c.Next()
	}
	if sameOrigin(origin, c.Get(fiber.HeaderHost)) {
		return c.Next()
	}
	c.Vary(fiber.HeaderOrigin)
	if !s.allowedOrigin(origin) {
		return &openai.Error{Status: http.StatusForbidden, Type: openai.TypePermission, Code: "origin_not_allowed",
			Message: "web pages of this origin may not call this server; add it with --allow-origin if it is yours"}
	}
	c.Set(fiber.HeaderAccessControlAllowOrigin, origin)
	c.Set(fiber.HeaderAccessControlExposeHeaders, "x-request-id, retry-after")
	if c.Method() == fiber.MethodOptions {
		c.Set(fiber.HeaderAccessControlAllowMethods, "GET, HEAD, POST, OPTIONS")
		c.Set(fiber.HeaderAccessControlAllowHeaders, "authorization, content-type, x-request-id, x-session-id")
		c.Set(fiber.HeaderAccessControlMaxAge, "600")
	}
	return c.Next()
}

// sameOrigin: the page came from this server, over plain HTTP or through a proxy that adds TLS.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host)
}

func (s *Server) allowedOrigin(origin string) bool {
	for _, o := range s.opt.AllowOrigins {
		if o == "*" || strings.EqualFold(strings.TrimSuffix(o, "/"), origin) {
			return true
		}
	}
	return false
}
