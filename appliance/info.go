package appliance

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"hearth/appliance/openai"
	"hearth/engine"
)

// Health is the answer to GET /health.
type Health struct {
	Status        string  `json:"status"` // starting, loading, ready, failed; draining on the way out
	Stage         string  `json:"stage,omitempty"`
	Progress      float64 `json:"progress"` // 0 to 1
	Error         string  `json:"error,omitempty"`
	Model         string  `json:"model,omitempty"`
	Running       int     `json:"running"`
	Waiting       int     `json:"waiting"`
	UptimeSeconds int     `json:"uptime_seconds"`
	Version       string  `json:"version"`
}

// currentHealth is what /health and the page report.
func (s *Server) currentHealth() Health {
	st := s.opt.Engine.Status()
	h := Health{Status: string(st.State), Stage: st.Stage, Progress: st.Progress, Model: st.Model.Name,
		Running: st.Running, Waiting: st.Waiting, Version: s.opt.Version, UptimeSeconds: int(time.Since(s.started).Seconds())}
	if st.State == engine.Ready {
		h.Progress = 1
	}
	if st.Err != nil {
		h.Error = st.Err.Error()
	}
	if s.draining.Load() {
		h.Status = "draining"
	}
	return h
}

// health is 200 only when a request would be taken.
func (s *Server) health(c *fiber.Ctx) error {
	h := s.currentHealth()
	c.Set(fiber.HeaderCacheControl, "no-store")
	if h.Status == string(engine.Ready) {
		return sendJSON(c, http.StatusOK, h)
	}
	if h.Status != string(engine.Failed) {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(2))
	}
	return sendJSON(c, http.StatusServiceUnavailable, h)
}

func (s *Server) listModels(c *fiber.Ctx) error {
	info := s.opt.Engine.Status().Model
	list := openai.ModelList{Object: "list", Data: []openai.Model{}}
	for _, name := range s.modelNames() {
		list.Data = append(list.Data, openai.NewModel(name, info))
	}
	return sendJSON(c, http.StatusOK, list)
}

// showModel takes names with slashes, escaped or not.
func (s *Server) showModel(c *fiber.Ctx) error {
	name := strings.TrimSuffix(c.Params("+"), "/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if !slices.Contains(s.modelNames(), name) {
		return s.unknownModel(name)
	}
	return sendJSON(c, http.StatusOK, openai.NewModel(name, s.opt.Engine.Status().Model))
}

func (s *Server) tokenize(c *fiber.Ctx) error {
	leave, err := s.enter(c)
	if err != nil {
		return err
	}
	defer leave()
	body, err := requestBody(c)
	if err != nil {
		return err
	}
	req, err := openai.DecodeTokenize(body, s.unknown.note)
	if err != nil {
		return err
	}
	status, err := s.ready()
	if err != nil {
		return err
	}
	ids, err := s.opt.Engine.Tokenize(req.Text, req.Special)
	if err != nil {
		return err
	}
	if ids == nil {
		ids = []int32{}
	}
	return sendJSON(c, http.StatusOK, openai.Tokens{Count: len(ids), MaxModelLen: status.Model.ContextLength, Tokens: ids})
}

func (s *Server) detokenize(c *fiber.Ctx) error {
	leave, err := s.enter(c)
	if err != nil {
		return err
	}
	defer leave()
	body, err := requestBody(c)
	if err != nil {
		return err
	}
	ids, err := openai.DecodeDetokenize(body, s.unknown.note)
	if err != nil {
		return err
	}
	if _, err := s.ready(); err != nil {
		return err
	}
	text, err := s.opt.Engine.Detokenize(ids)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, openai.Text{Prompt: text})
}
