package console

import (
	"fmt"
	"strconv"
	"strings"
)

// Source is what the page wants of the appliance.
type Source interface {
	State() State
}

// State is the appliance at one moment.
type State struct {
	Status   string // starting, loading, ready, failed, draining
	Stage    string // what a loading model does now
	Progress float64
	Error    string // why it failed
	Version  string
	Loopback bool // reachable from this machine only
	Model    Model
}

// Model is the model being served or loaded. Zero values are not known yet.
type Model struct {
	Name          string
	Architecture  string
	Parameters    int64
	WeightBytes   int64
	Formats       string
	KVFormat      string
	ContextLength int
	VocabSize     int
	MTP           bool
	Level         string
	Threads       int
	Fingerprint   string
}

// View is the page's data, ready to be shown.
type View struct {
	Status  string
	Label   string // of the status
	Stage   string
	Percent int
	Error   string
	Version string
	Reach   string // who can reach this page
	Open    bool   // others than this machine can
	Model   string
	Facts   []Fact
	BaseURL string
	Clients []Client
}

// Fact is a line of the model card. Title is the full text of a value that is cut.
type Fact struct{ Label, Value, Title string }

// Client is a program and the text that makes it use this server.
type Client struct {
	ID, Name string
	Hint     string // where the text goes
	Text     string
}

// NewView prepares the page for a browser that reached it as origin, such as http://localhost:8080.
func NewView(s State, origin string) View {
	v := View{
		Status: s.Status, Label: label(s.Status), Stage: s.Stage, Percent: int(s.Progress * 100), Error: s.Error, Version: s.Version,
		Model: s.Model.Name, Facts: facts(s.Model), BaseURL: origin + "/v1",
		Reach: "This page listens on loopback: only this machine reaches it, and there is no login.",
	}
	if !s.Loopback {
		v.Open = true
		v.Reach = "This server listens beyond this machine and has no login yet: anyone who reaches this address can use the model."
	}
	v.Clients = clients(v.BaseURL, s.Model.Name)
	return v
}

func label(status string) string {
	switch status {
	case "starting":
		return "Starting"
	case "loading":
		return "Loading"
	case "ready":
		return "Ready"
	case "failed":
		return "Failed"
	case "draining":
		return "Shutting down"
	}
	return status
}

func facts(m Model) []Fact {
	var list []Fact
	add := func(label, value string) {
		if value != "" {
			list = append(list, Fact{Label: label, Value: value})
		}
	}
	add("Architecture", m.Architecture)
	if m.Parameters > 0 {
		add("Parameters", count(m.Parameters))
	}
	if m.WeightBytes > 0 {
		add("Weights", strings.TrimSuffix(size(m.WeightBytes)+", "+m.Formats, ", "))
	}
	add("KV cache", strings.ToUpper(m.KVFormat))
	if m.ContextLength > 0 {
		add("Context", group(m.ContextLength)+" tokens")
	}
	if m.VocabSize > 0 {
		add("Vocabulary", group(m.VocabSize))
		add("MTP head", map[bool]string{true: "present", false: "none"}[m.MTP])
	}
	if m.Level != "" {
		add("Computes on", fmt.Sprintf("%d threads, %s", m.Threads, m.Level))
	}
	if m.Fingerprint != "" {
		list = append(list, Fact{"Fingerprint", m.Fingerprint[:min(12, len(m.Fingerprint))], m.Fingerprint})
	}
	return list
}

// count says a number the way model names do: 752 M, 27.3 B.
func count(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f B", float64(n)/1e9)
	case n >= 1e7:
		return fmt.Sprintf("%.0f M", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f M", float64(n)/1e6)
}

func size(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// group separates thousands: 262,144.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Title of the browser's tab.
func (v View) Title() string {
	if v.Model == "" {
		return "hearth"
	}
	return v.Model + " · hearth"
}

// Progress is what a loading model does, in words.
func (v View) Progress() string {
	switch {
	case v.Status == "failed":
		return "The model could not be loaded."
	case v.Stage != "":
		return v.Stage
	}
	return v.Label
}

// Value of the progress bar.
func (v View) Value() string { return strconv.Itoa(v.Percent) }
