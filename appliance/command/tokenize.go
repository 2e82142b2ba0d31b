package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

type tokenizeCmd struct {
	Text    string `arg:"" help:"The text; - reads it from the input."`
	URL     string `name:"url" help:"The server." default:"http://127.0.0.1:8080"`
	Special bool   `help:"Strings of added tokens, such as <|im_end|>, become their one id." env:"-"`
}

func (c tokenizeCmd) Run() error {
	if c.Text == "-" {
		b, err := io.ReadAll(io.LimitReader(os.Stdin, 32<<20))
		if err != nil {
			return err
		}
		c.Text = string(b)
	}
	body, err := json.Marshal(map[string]any{"prompt": c.Text, "special": c.Special})
	if err != nil {
		return err
	}
	client := http.Client{Timeout: time.Minute}
	res, err := client.Post(strings.TrimSuffix(c.URL, "/")+"/tokenize", "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w; start one with hearth serve, or name another with --url", c.URL, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 256<<20))
	if err != nil {
		return err
	}
	var tokens struct {
		Tokens []int32
		Error  struct{ Message string }
	}
	if err := json.Unmarshal(answer, &tokens); err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(errors.New(res.Status), errors.New(tokens.Error.Message))
	}
	fmt.Println(len(tokens.Tokens), "tokens:", strings.Trim(fmt.Sprint(tokens.Tokens), "[]"))
	return nil
}
