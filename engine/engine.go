package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hearth/engine/checkpoint"
	"hearth/engine/cpu"
	"hearth/engine/device"
	"hearth/engine/tokenizer"
	"hearth/kernels"
)

// Options of an engine. The zero value of a field takes its default.
type Options struct {
	Name           string // under which the model is served
	Dir            string // checkpoint folder, or
	FS             fs.FS  // a file system whose root is one, such as one in the binary
	Threads        int    // 0: one a core
	KV             string // "auto", "f32", "bf16", "fp8"
	F32Activations bool
	Context        int   // positions of a sequence; 0: what the model and PageBudget allow
	PageBudget     int64 // bytes for keys and values; 0: as much as Context needs
	MaxQueue       int   // waiting requests
	Log            *slog.Logger
}

// Engine serves one checkpoint. Its methods are safe for concurrent use.
type Engine struct {
	o      Options
	log    *slog.Logger
	status atomic.Pointer[Status]
	queue  *queue
	stop   context.CancelFunc
	ctx    context.Context
	loaded chan struct{} // closed when ready or failed
	done   sync.WaitGroup

	// Set before loaded is closed, read-only afterwards.
	ck *checkpoint.Checkpoint
	text
	memo    *tokenizer.Memo
	dev     device.Device
	context int // positions of a sequence

	running atomic.Int32
}

// Open starts loading a checkpoint and returns at once; Status tells how far it is, Wait waits.
func Open(ctx context.Context, o Options) *Engine {
	if o.MaxQueue <= 0 {
		o.MaxQueue = defaultMaxQueue
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{o: o, log: o.Log, queue: newQueue(o.MaxQueue), loaded: make(chan struct{})}
	e.ctx, e.stop = context.WithCancel(ctx)
	e.status.Store(&Status{State: Starting, Model: ModelInfo{Name: o.Name}})
	e.done.Go(func() {
		start := time.Now()
		if err := e.load(); err != nil {
			e.fail(err)
			close(e.loaded)
			return
		}
		e.log.Info("model ready", "model", o.Name, "took", time.Since(start).Round(time.Millisecond))
		close(e.loaded)
		e.serve()
	})
	return e
}

func (e *Engine) fail(err error) {
	s := *e.status.Load()
	s.State, s.Err = Failed, err
	e.status.Store(&s)
	if !errors.Is(err, context.Canceled) {
		e.log.Error("model failed", "model", e.o.Name, "error", err)
	}
	for _, q := range e.queue.close() {
		q.fail(failedModel(err))
	}
}

// Status is a snapshot.
func (e *Engine) Status() Status {
	s := *e.status.Load()
	s.Running, s.Waiting = int(e.running.Load()), e.queue.len()
	return s
}

// Wait returns when the model is ready, or the error why it is not.
func (e *Engine) Wait(ctx context.Context) error {
	select {
	case <-e.loaded:
		return e.status.Load().Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends running and waiting requests with an error of kind Cancelled, and frees the model.
func (e *Engine) Close() error {
	e.stop()
	ended := make(chan struct{})
	go func() { e.done.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(closeTimeout):
		return fmt.Errorf("the running step did not end within %v", closeTimeout)
	}
	var err error
	if e.dev != nil {
		err = e.dev.Close()
	}
	if e.ck != nil {
		err = errors.Join(err, e.ck.Close())
	}
	return err
}

// Tokenize encodes a text; special says whether added tokens in it are recognised.
func (e *Engine) Tokenize(text string, special bool) ([]int32, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	if special {
		return e.tok.Encode(nil, text), nil
	}
	return e.tok.EncodePlain(nil, text), nil
}

// Detokenize decodes ids. Ids that name no token are refused.
func (e *Engine) Detokenize(ids []int32) (string, error) {
	if err := e.ready(); err != nil {
		return "", err
	}
	for i, id := range ids {
		if _, ok := e.tok.Token(id); !ok {
			return "", invalidf(fmt.Sprintf("tokens[%d]", i), "%d names no token", id)
		}
	}
	return e.tok.Decode(ids, false), nil
}

// ready is nil when requests can be served.
func (e *Engine) ready() error {
	switch s := e.status.Load(); s.State {
	case Ready:
		return nil
	case Failed:
		return failedModel(s.Err)
	default:
		return &RequestError{Kind: NotReady, Message: fmt.Sprintf("the model is loading (%.0f %%)", 100*s.Progress)}
	}
}

// load fills the engine from its checkpoint, with progress in Status.
func (e *Engine) load() error {
	ck, err := e.open()
	if err != nil {
		return err
	}
	e.ck = ck
	if e.text, err = readText(ck); err != nil {
		return err
	}
	e.memo = tokenizer.NewMemo(memoBytes)
	info := e.describe()
	total := ck.Bytes()
	e.status.Store(&Status{State: Loading, Stage: "reading weights", Model: info})
	last := time.Now()
	var mu sync.Mutex
	progress := func(done int64) {
		mu.Lock()
		defer mu.Unlock()
		p := min(1, float64(done)/float64(max(total, 1)))
		e.status.Store(&Status{State: Loading, Stage: "reading weights", Progress: p, Model: info})
		if time.Since(last) > logProgressEvery {
			last = time.Now()
			e.log.Info("loading", "model", info.Name, "percent", int(100*p))
		}
	}
	e.context = ck.Config.MaxPositions
	if e.o.Context > 0 {
		e.context = min(e.context, e.o.Context)
	}
	dev, err := cpu.Load(e.ctx, ck, cpu.Options{
		Threads: e.o.Threads, F32Activations: e.o.F32Activations, KV: e.o.KV, States: 1, Pages: e.pageCount, Progress: progress,
	})
	if err != nil {
		return err
	}
	e.dev = dev
	if left := ck.Unused(); len(left) > 0 {
		e.log.Warn("tensors nothing uses", "count", len(left), "first", left[0])
	}
	g := dev.Geometry()
	info.KVFormat, info.ContextLength, info.Threads = g.KV.String(), e.context, g.Threads
	info.Level = kernels.Active().String()
	e.status.Store(&Status{State: Ready, Progress: 1, Model: info})
	e.done.Go(func() { e.digest(info) })
	return nil
}

func (e *Engine) open() (*checkpoint.Checkpoint, error) {
	if e.o.FS != nil {
		return checkpoint.OpenFS(e.o.FS, ".")
	}
	return checkpoint.Open(e.o.Dir)
}

// pageCount shortens the context to what the budget holds.
func (e *Engine) pageCount(pageBytes int) int {
	pages := (e.context + kernels.PagePositions - 1) / kernels.PagePositions
	if e.o.PageBudget > 0 && pageBytes > 0 {
		if fit := int(e.o.PageBudget / int64(pageBytes)); fit < pages {
			e.log.Warn("context shortened to what the memory budget holds", "positions", fit*kernels.PagePositions,
				"wanted", e.context, "budget_bytes", e.o.PageBudget)
			pages = max(fit, 1)
			e.context = pages * kernels.PagePositions
		}
	}
	return pages
}

func (e *Engine) describe() ModelInfo {
	cfg := e.ck.Config
	info := ModelInfo{
		Name: e.o.Name, Architecture: cfg.Architecture, Parameters: e.ck.Params(), WeightBytes: e.ck.Bytes(),
		Formats: e.ck.Formats(), ContextLength: cfg.MaxPositions, VocabSize: cfg.VocabSize, MTP: e.ck.HasMTP(),
	}
	for _, f := range e.ck.Files() {
		info.Created = max(info.Created, f.ModTime.Unix())
	}
	return info
}

// digest fills in the fingerprint once the weight files are hashed, in the background.
func (e *Engine) digest(info ModelInfo) {
	d, err := e.ck.Digest(e.ctx, nil)
	if err != nil {
		if e.ctx.Err() == nil {
			e.log.Warn("weights not hashed, so the model has no fingerprint", "error", err)
		}
		return
	}
	info.Fingerprint = d.Fingerprint
	if s := e.status.Load(); s.State == Ready { // it may have failed meanwhile
		e.status.CompareAndSwap(s, &Status{State: Ready, Progress: 1, Model: info})
	}
}
