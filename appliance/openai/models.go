package openai

import "hearth/engine"

// Model is an entry of GET /v1/models.
type Model struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len,omitempty"`
}

// ModelList is the answer to GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// NewModel describes a loaded model under the given name, its own or an alias.
func NewModel(name string, info engine.ModelInfo) Model {
	return Model{ID: name, Object: "model", Created: info.Created, OwnedBy: "hearth", MaxModelLen: info.ContextLength}
}
