// Package demo embeds the demo checkpoint, so that the binary answers with nothing installed. checkpoint/README.md is its
// model card.
package demo

import (
	"embed"
	"io/fs"
)

// Name under which the demo checkpoint is served.
const Name = "hearth-demo"

//go:embed checkpoint
var files embed.FS

// FS holds the checkpoint in Hugging Face layout at its root.
func FS() fs.FS {
	sub, err := fs.Sub(files, "checkpoint")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	return sub
}
