package cpu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"hearth/engine/device"
	"hearth/kernels"
)

// eachLevel runs body with each instruction level this architecture could have; one that HEARTH_REQUIRE names must be there.
func eachLevel(t *testing.T, body func(t *testing.T)) {
	saved := kernels.Active()
	defer kernels.Use(saved)
	levels := map[string][]string{"amd64": {"generic", "avx2", "avx512"}, "arm64": {"generic", "neon"}}[runtime.GOARCH]
	for _, name := range levels {
		t.Run(name, func(t *testing.T) {
			l, err := kernels.ParseLevel(name)
			if err == nil {
				err = kernels.Use(l)
			}
			if err != nil {
				if strings.Contains(os.Getenv("HEARTH_REQUIRE"), name) {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			body(t)
		})
	}
}

// trace is the bits of everything a sequence computes: logits after the prompt and after each further token, then its state
// and pages.
func (r *rig) trace(t testing.TB, tokens []int32, chunks func(left int) int, decode int) string {
	t.Helper()
	ctx, sum := context.Background(), sha256.New()
	put := func(x []float32) {
		var b [4]byte
		for _, v := range x {
			bits := math.Float32bits(v)
			b[0], b[1], b[2], b[3] = byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24)
			sum.Write(b[:])
		}
	}
	r.ResetState(0)
	end := len(tokens) - decode
	for at := 0; at < end; {
		n := min(chunks(end-at), end-at)
		if err := r.Prefill(ctx, []device.Prefill{{Pages: r.ids, Position: at, Tokens: tokens[at : at+n]}}); err != nil {
			t.Fatal(err)
		}
		at += n
	}
	var res [1]device.RoundResult
	for at := end; at < len(tokens); at++ {
		if err := r.Round(ctx, []device.RoundPlan{{Pages: r.ids, Position: at, Root: tokens[at]}}, res[:]); err != nil {
			t.Fatal(err)
		}
		if at >= len(tokens)-5 {
			put(res[0].Logits)
		}
	}
	state := make([]byte, r.Geometry().StateBytes)
	r.ReadState(0, state)
	sum.Write(state)
	kv := r.m.cfg.KVHeads * r.m.cfg.HeadDim
	k, v := make([]float32, kv), make([]float32, kv)
	for i := range r.m.layers {
		a := r.m.layers[i].attn
		if a == nil {
			continue
		}
		for pos := range tokens {
			page := r.mem.page(r.ids[pos/kernels.PagePositions])[a.page : a.page+r.lay.kv.Bytes()]
			r.lay.kv.Load(page, pos%kernels.PagePositions, k, v, a.kScale, a.vScale)
			put(k)
			put(v)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// TestBitsDoNotDependOnChunks computes one prompt token by token, at once, and in random pieces, with one, two and three
// threads, at every level: logits, states, keys and values have the same bits.
func TestBitsDoNotDependOnChunks(t *testing.T) {
	seed := rand.Uint64()
	want := map[string]string{}
	for _, name := range []string{"tiny-a-nvfp4", "tiny-b-mixed", "tiny-b-ct", "tiny-c-ctw4a16", "tiny-c-bf16", "tiny-d-fp8"} {
		t.Run(name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				r := newRig(t, name, "activations", 512)
				tokens := loadGolden(t, name).Prompts["p300"]
				if kernels.Active() == kernels.Generic && testing.Short() {
					tokens = tokens[:100]
				}
				last := len(tokens) - 5 // the last five are always rounds, so that their logits are seen
				for _, c := range []struct {
					name   string
					chunks func(int) int
					decode int
				}{
					{"at once", func(int) int { return 512 }, 5},
					{"token by token", func(int) int { return 1 }, 5},
					{"rounds only", func(int) int { return 1 }, last},
					{"random", func(left int) int { return 1 + rng.IntN(left) }, 5},
					{"threes", func(int) int { return 3 }, 37},
				} {
					got := r.trace(t, tokens, c.chunks, max(5, c.decode))
					key := name
					if len(tokens) == 100 {
						key += " short"
					}
					if want[key] == "" {
						want[key] = got
					} else if got != want[key] {
						t.Errorf("seed %d: %s at %v: bits differ", seed, c.name, kernels.Active())
					}
				}
			})
		})
	}
}

// TestThreadsDoNotChangeBits gives the same prompt to devices with different numbers of threads.
func TestThreadsDoNotChangeBits(t *testing.T) {
	name := "tiny-b-nvfp4"
	tokens := loadGolden(t, name).Prompts["p130"]
	want := ""
	for _, threads := range []int{1, 2, 3, 5} {
		r := newRig(t, name, "activations", 64)
		r.pool.close()
		r.pool = newPool(threads)
		for len(r.w.scratch) < threads {
			r.w.scratch = append(r.w.scratch, new(kernels.Scratch))
			r.w.attention = append(r.w.attention, new(kernels.AttnScratch))
		}
		got := r.trace(t, tokens, func(int) int { return 64 }, 10)
		if want == "" {
			want = got
		} else if got != want {
			t.Errorf("%d threads: bits differ from one thread's", threads)
		}
	}
}

// TestSequencesDoNotMeet runs two sequences in the same steps: each has the bits of a run alone.
func TestSequencesDoNotMeet(t *testing.T) {
	r := newRig(t, "tiny-b-nvfp4", "activations", 512)
	g := loadGolden(t, "tiny-b-nvfp4")
	a, b := g.Prompts["p130"], g.Prompts["p65"]
	mem, err := newMemory(r.lay.pageBytes, 32, r.lay.stateFloats, 2)
	if err != nil {
		t.Fatal(err)
	}
	r.mem.close()
	r.mem = mem
	alone := func(tokens []int32, state device.StateID) []float32 {
		r.ResetState(state)
		return append([]float32{}, r.continueWith(t, [][]int32{tokens}, []device.StateID{state})[0]...)
	}
	wantA, wantB := alone(a, 0), alone(b, 1)
	r.ResetState(0)
	r.ResetState(1)
	got := r.continueWith(t, [][]int32{a, b}, []device.StateID{0, 1})
	for i := range wantA {
		if math.Float32bits(got[0][i]) != math.Float32bits(wantA[i]) || math.Float32bits(got[1][i]) != math.Float32bits(wantB[i]) {
			t.Fatalf("logit %d differs from the run alone", i)
		}
	}
}

// continueWith prefills sequences together, each with 16 pages of its own, and returns the logits after their last tokens.
func (r *rig) continueWith(t *testing.T, sequences [][]int32, states []device.StateID) [][]float32 {
	t.Helper()
	ctx := context.Background()
	var pre []device.Prefill
	var plans []device.RoundPlan
	for i, tokens := range sequences {
		pages := make([]device.PageID, 16)
		for p := range pages {
			pages[p] = device.PageID(16*int(states[i]) + p)
		}
		n := len(tokens) - 1
		pre = append(pre, device.Prefill{State: states[i], Pages: pages, Tokens: tokens[:n]})
		plans = append(plans, device.RoundPlan{State: states[i], Pages: pages, Position: n, Root: tokens[n]})
	}
	if err := r.Prefill(ctx, pre); err != nil {
		t.Fatal(err)
	}
	results := make([]device.RoundResult, len(plans))
	if err := r.Round(ctx, plans, results); err != nil {
		t.Fatal(err)
	}
	var out [][]float32
	for _, res := range results {
		out = append(out, append([]float32{}, res.Logits...))
	}
	return out
}

// TestStepAllocatesNothing measures rounds after warm-up.
func TestStepAllocatesNothing(t *testing.T) {
	r := newRig(t, "tiny-b-nvfp4", "activations", 64)
	tokens := loadGolden(t, "tiny-b-nvfp4").Prompts["p130"]
	r.trace(t, tokens, func(int) int { return 64 }, 10)
	ctx := context.Background()
	plans := []device.RoundPlan{{Pages: r.ids, Position: len(tokens), Root: 7}}
	results := make([]device.RoundResult, 1)
	prefill := []device.Prefill{{Pages: r.ids, Position: len(tokens), Tokens: tokens[:33]}}
	n := testing.AllocsPerRun(20, func() {
		if r.Round(ctx, plans, results) != nil || r.Prefill(ctx, prefill) != nil {
			t.Fatal("step failed")
		}
	})
	if n != 0 {
		t.Errorf("a round and a prefill allocate %v times", n)
	}
}

// TestCancelledStepEnds asks for a step under a context that has ended.
func TestCancelledStepEnds(t *testing.T) {
	r := newRig(t, "tiny-a-bf16", "weights", 64)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Prefill(ctx, []device.Prefill{{Pages: r.ids, Tokens: []int32{1, 2, 3}}}); err != context.Canceled {
		t.Errorf("prefill: %v", err)
	}
	if err := r.Round(ctx, []device.RoundPlan{{Pages: r.ids, Root: 1}}, make([]device.RoundResult, 1)); err != context.Canceled {
		t.Errorf("round: %v", err)
	}
}

// TestStepRefuses: what would read outside the embeddings or the step's memory is an error.
func TestStepRefuses(t *testing.T) {
	r := newRig(t, "tiny-a-bf16", "weights", 4)
	ctx, v := context.Background(), int32(r.m.cfg.VocabSize)
	for name, tokens := range map[string][]int32{"none": {}, "five": {1, 2, 3, 4, 5}, "negative": {-1}, "past the vocabulary": {1, v}} {
		if err := r.Prefill(ctx, []device.Prefill{{Pages: r.ids, Tokens: tokens}}); err == nil {
			t.Errorf("prefill of %s: no error", name)
		}
	}
	if err := r.Round(ctx, []device.RoundPlan{{Pages: r.ids, Root: v}}, make([]device.RoundResult, 1)); err == nil {
		t.Error("round with a root past the vocabulary: no error")
	}
	if err := r.Round(ctx, make([]device.RoundPlan, 5), make([]device.RoundResult, 5)); err == nil {
		t.Error("round of five sequences in four rows: no error")
	}
}

// TestCopies continues a sequence from a copied state and a copied partial page.
func TestCopies(t *testing.T) {
	r := newRig(t, "tiny-b-mixed", "activations_kvfp8", 64)
	tokens := loadGolden(t, "tiny-b-mixed").Prompts["p65"]
	ctx := context.Background()
	round := func(pages []device.PageID, state device.StateID) []float32 {
		var res [1]device.RoundResult
		if err := r.Round(ctx, []device.RoundPlan{{State: state, Pages: pages, Position: 40, Root: tokens[40]}}, res[:]); err != nil {
			t.Fatal(err)
		}
		return append([]float32{}, res[0].Logits...)
	}
	r.ResetState(0)
	if err := r.Prefill(ctx, []device.Prefill{{Pages: r.ids, Tokens: tokens[:40]}}); err != nil {
		t.Fatal(err)
	}
	state := make([]byte, r.Geometry().StateBytes)
	r.ReadState(0, state)
	r.CopyPage(9, 1, 8)
	whole := make([]byte, r.Geometry().PageBytes)
	r.ReadPage(0, whole)
	r.CopyState(1, 0)
	want := round(r.ids, 0)
	r.WriteState(0, state)
	r.WritePage(10, whole)
	same := func(what string, got []float32) {
		t.Helper()
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("%s: logit %d is %v, was %v", what, i, got[i], want[i])
			}
		}
	}
	same("from written bytes", round([]device.PageID{10, 9}, 0))
	r.CopyPage(11, 1, 8)
	same("from a copied state", round([]device.PageID{0, 11}, 1))
}
