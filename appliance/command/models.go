package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"hearth/appliance"
	"hearth/appliance/config"
	"hearth/appliance/demo"
	"hearth/appliance/library"
	"hearth/engine"
	"hearth/engine/checkpoint"
)

type modelsCmd struct {
	List   modelsListCmd   `cmd:"" help:"List the models in the data folder."`
	Show   modelsShowCmd   `cmd:"" help:"Show a model: configuration, formats, files."`
	Verify modelsVerifyCmd `cmd:"" help:"Read all of a model and check tensors, files, tokenizer, template and digests."`
}

type modelsListCmd struct{}

func (modelsListCmd) Run(g config.Global) error {
	entries, err := library.List(g.Data)
	if err != nil {
		return err
	}
	built, err := openModel(g.Data, demo.Name)
	if err != nil {
		return err
	}
	entries = append(entries, library.Entry{Name: demo.Name, Parameters: built.Params(), Bytes: built.Bytes(), Formats: built.Formats(),
		Context: built.Config.MaxPositions, MTP: built.HasMTP()})
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPARAMETERS\tSIZE\tFORMATS\tCONTEXT\tMTP")
	for _, e := range entries {
		if e.Err != nil {
			fmt.Fprintf(w, "%s\tcannot be opened: %v\n", e.Name, e.Err)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%sB\t%s\t%d\t%v\n", e.Name, short(e.Parameters), short(e.Bytes), e.Formats, e.Context, e.MTP)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%s is built in. Copy model folders to %s to add more.\n", demo.Name, library.Dir(g.Data))
	return nil
}

type modelsShowCmd struct {
	Model string `arg:"" help:"A name under models/ in the data folder, hearth-demo, or a folder."`
}

func (c modelsShowCmd) Run(g config.Global) error {
	ck, err := openModel(g.Data, c.Model)
	if err != nil {
		return err
	}
	defer ck.Close()
	cfg := ck.Config
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "architecture\t%s (%s)\n", cfg.Architecture, cfg.ModelType)
	fmt.Fprintf(w, "parameters\t%d\n", ck.Params())
	fmt.Fprintf(w, "weights\t%d bytes, %s\n", ck.Bytes(), ck.Formats())
	fmt.Fprintf(w, "layers\t%d, hidden size %d, MLP %d\n", cfg.Layers, cfg.HiddenSize, cfg.IntermediateSize)
	fmt.Fprintf(w, "attention\t%d heads, %d for keys and values, dimension %d\n", cfg.Heads, cfg.KVHeads, cfg.HeadDim)
	fmt.Fprintf(w, "delta rule\t%d key heads, %d value heads\n", cfg.LinearKeyHeads, cfg.LinearValueHeads)
	fmt.Fprintf(w, "vocabulary\t%d, context %d, MTP head %v\n", cfg.VocabSize, cfg.MaxPositions, ck.HasMTP())
	for _, f := range ck.Files() {
		fmt.Fprintf(w, "file\t%s, %d bytes\n", f.Path, f.Size)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if card, err := ck.File("README.md"); err == nil && c.Model == demo.Name {
		fmt.Printf("\n%s", card)
	}
	return nil
}

type modelsVerifyCmd struct {
	Model string `arg:"" help:"A name under models/ in the data folder, hearth-demo, or a folder."`
}

func (c modelsVerifyCmd) Run(g config.Global) error {
	ck, err := openModel(g.Data, c.Model)
	if err != nil {
		return err
	}
	defer ck.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	last := time.Now()
	report, err := ck.Verify(ctx, func(done, total int64) {
		if isTerminal(os.Stderr) && time.Since(last) > 200*time.Millisecond {
			last = time.Now()
			fmt.Fprintf(os.Stderr, "\rreading %3d %% ", done*100/max(total, 1))
		}
	})
	if err != nil {
		return err
	}
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s\n", f.Severity, f.Subject, f.Message)
	}
	text := engine.CheckText(ck)
	if text != nil {
		fmt.Printf("%s: %v\n", checkpoint.Broken, text)
	}
	if !report.Sound() || text != nil {
		return &appliance.StartError{Code: appliance.ExitModel, Message: "the model is broken; copy it again"}
	}
	fmt.Println("sound, fingerprint", report.Digests.Fingerprint)
	return nil
}

// openModel opens a checkpoint by name or folder.
func openModel(data, model string) (*checkpoint.Checkpoint, error) {
	if model == demo.Name {
		return checkpoint.OpenFS(demo.FS(), ".")
	}
	_, dir, err := library.Find(data, model)
	if err == nil {
		var ck *checkpoint.Checkpoint
		if ck, err = checkpoint.Open(dir); err == nil {
			return ck, nil
		}
	}
	return nil, &appliance.StartError{Code: appliance.ExitModel, Message: err.Error()}
}

// short writes a number with three digits and a decimal unit.
func short(n int64) string {
	units, v := []string{"", " k", " M", " G", " T"}, float64(n)
	for len(units) > 1 && v >= 1000 {
		units, v = units[1:], v/1000
	}
	return fmt.Sprintf("%.3g%s", v, units[0])
}
