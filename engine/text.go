package engine

import (
	"errors"
	"fmt"
	"io/fs"

	"hearth/engine/chat"
	"hearth/engine/checkpoint"
	"hearth/engine/tokenizer"
)

// text is how a checkpoint turns conversations into ids and ids into words.
type text struct {
	tok      *tokenizer.Tokenizer
	template *chat.Template
	eos      map[int32]bool // ids that end a reply
	named    []uint64       // bit t%64 of word t/64 is set where token t exists; nil where all below the tokenizer's size do
}

// readText reads tokenizer, template and end tokens.
func readText(ck *checkpoint.Checkpoint) (t text, err error) {
	file, err := ck.File("tokenizer.json")
	if errors.Is(err, fs.ErrNotExist) {
		return t, errors.New("the folder has no tokenizer.json: copy it from where the weights came from")
	}
	if err != nil {
		return t, err
	}
	config, err := ck.File("tokenizer_config.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	if t.tok, err = tokenizer.ParseWithConfig(file, config); err != nil {
		return t, fmt.Errorf("tokenizer.json: %w", err)
	}
	if n, rows := t.tok.Size(), ck.Config.VocabSize; n > rows {
		return t, fmt.Errorf("tokenizer.json has token ids up to %d, and config.json a vocab_size of %d: the files belong to different models", n-1, rows)
	}
	t.named = namedTokens(t.tok)
	source, err := ck.ChatTemplate()
	if err != nil {
		return t, err
	}
	if t.template, err = chat.ParseTemplate(source); err != nil {
		return t, fmt.Errorf("chat template: %w", err)
	}
	t.eos = map[int32]bool{}
	for _, ids := range [][]int{ck.Config.Generation.EOS, ck.Config.EOS} {
		for _, id := range ids {
			t.eos[int32(id)] = true
		}
	}
	if len(t.eos) == 0 {
		return t, errors.New("neither generation_config.json nor config.json has an eos_token_id: replies would never end")
	}
	return t, nil
}

// namedTokens is text.named. Rows of the head without a token must never be chosen; those above the tokenizer's size are left
// out by the sampler for less than a mask costs.
func namedTokens(tok *tokenizer.Tokenizer) []uint64 {
	mask, all := make([]uint64, (tok.Size()+63)/64), true
	for id := range tok.Size() {
		if _, ok := tok.Token(int32(id)); ok {
			mask[id/64] |= 1 << (id % 64)
		} else {
			all = false
		}
	}
	if all {
		return nil
	}
	return mask
}

// CheckText reads a checkpoint's tokenizer, template and end tokens as a load does, which Verify of the checkpoint leaves
// out. The error is the one a load would end with.
func CheckText(ck *checkpoint.Checkpoint) error {
	_, err := readText(ck)
	return err
}
