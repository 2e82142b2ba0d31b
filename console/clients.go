package console

import (
	"encoding/json"
	"strings"
)

// clients are the texts to copy. A name is quoted for the place where it stands.
func clients(baseURL, model string) []Client {
	if model == "" {
		model = "MODEL"
	}
	fill := strings.NewReplacer(
		"{url}", baseURL,
		"{origin}", strings.TrimSuffix(baseURL, "/v1"),
		"{json url}", quote(baseURL),
		"{json model}", quote(model),
		"{shell model}", shellQuote(model),
		"{curl body}", shellQuote(`{"model": `+quote(model)+`, "stream": true, "messages": [{"role": "user", "content": "Hello"}]}`),
	)
	var list []Client
	for _, c := range templates {
		c.Text = fill.Replace(strings.TrimPrefix(c.Text, "\n"))
		list = append(list, c)
	}
	return list
}

// quote is a string literal of JSON, and of the programming languages below.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// templates: any text does as a key, but clients want one.
var templates = []Client{
	{"curl", "curl", "In a shell.", `
curl -N {url}/chat/completions \
  -H 'Content-Type: application/json' \
  -d {curl body}`},
	{"python", "Python", "With the openai package.", `
from openai import OpenAI

client = OpenAI(base_url={json url}, api_key="none")
stream = client.chat.completions.create(
    model={json model},
    messages=[{"role": "user", "content": "Hello"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`},
	{"go", "Go", "With github.com/openai/openai-go/v3.", `
client := openai.NewClient(
	option.WithBaseURL({json url}),
	option.WithAPIKey("none"),
)
answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
	Model:    {json model},
	Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")},
})`},
	{"typescript", "TypeScript", "With the openai package.", `
import OpenAI from "openai";

const client = new OpenAI({ baseURL: {json url}, apiKey: "none" });
const stream = await client.chat.completions.create({
  model: {json model},
  messages: [{ role: "user", content: "Hello" }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");`},
	{"opencode", "opencode", "In opencode.json; then choose the model with /models.", `
{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "hearth": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "hearth",
      "options": { "baseURL": {json url}, "apiKey": "none" },
      "models": { {json model}: { "name": {json model} } }
    }
  }
}`},
	{"qwen-code", "Qwen Code", "In a shell.", `
export OPENAI_BASE_URL={url}
export OPENAI_API_KEY=none
export OPENAI_MODEL={shell model}
qwen`},
	{"aider", "aider", "In a shell.", `
export OPENAI_API_BASE={url}
export OPENAI_API_KEY=none
aider --model openai/{shell model}`},
	{"terminal", "Terminal", "The chat that comes with hearth.", `
hearth chat --url {origin}`},
	{"other", "Others", "What any client of the chat completions API asks for.", `
Base URL   {url}
API key    none (any text)
Model      {json model}`},
}
