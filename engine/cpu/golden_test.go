package cpu

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"hearth/engine/checkpoint"
	"hearth/engine/device"
	"hearth/kernels"
)

const goldenDir = "../testdata/golden"

// golden is an expected/NAME pair: what two independent implementations agree on.
type golden struct {
	name    string
	Prompts map[string][]int32            `json:"prompts"`
	Modes   []string                      `json:"modes"`
	First   map[string]int32              `json:"mtp_first_token"`
	Diff    map[string]map[string]float64 `json:"prompt_diff"`

	floats map[string][]float32
	ints   map[string][]int32
	read   map[string]bool
}

func loadGolden(t *testing.T, name string) *golden {
	t.Helper()
	g := &golden{name: name, floats: map[string][]float32{}, ints: map[string][]int32{}, read: map[string]bool{}}
	text, err := os.ReadFile(filepath.Join(goldenDir, "expected", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, g); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(goldenDir, "expected", name+".safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		DType   string `json:"dtype"`
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	for key, h := range header {
		raw := data[8+n:][h.Offsets[0]:h.Offsets[1]]
		switch h.DType {
		case "F32":
			v := make([]float32, len(raw)/4)
			for i := range v {
				v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
			}
			g.floats[key] = v
		case "I32":
			v := make([]int32, len(raw)/4)
			for i := range v {
				v[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
			}
			g.ints[key] = v
		}
	}
	return g
}

func (g *golden) f(key string) []float32 { g.read[key] = true; return g.floats[key] }
func (g *golden) i(key string) []int32   { g.read[key] = true; return g.ints[key] }

// counter says how much was compared of what margins and prompt_diff allow.
type counter struct {
	compared, allowed, excluded int
	flips                       bool // activations are quantised: an input's last bit may flip a code
	flipped                     int  // values that a flip moved, by no more than flipTolerance
	parted                      int  // long prompts that part from the oracle at one position, and stay apart
}

func (c *counter) close(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	worst, at := -1.0, 0
	for i := range want {
		c.allowed++
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if c.flips && d > tol && d <= flipTolerance {
			c.flipped++
			continue
		}
		if !(d <= tol) && !(worst >= d) {
			worst, at = d, i
		}
		if d <= tol {
			c.compared++
		}
	}
	if worst >= 0 || math.IsNaN(worst) {
		t.Errorf("%s: value %d differs by %g: got %v, want %v (tolerance %g)", what, at, worst, got[at], want[at], tol)
	}
}

// rig is a device with one sequence on it.
type rig struct {
	*Device
	ids []device.PageID
}

func newRig(t testing.TB, name, mode string, maxRows int) *rig {
	t.Helper()
	ck, err := checkpoint.Open(filepath.Join(goldenDir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ck.Close() })
	kv := "f32"
	if strings.HasSuffix(mode, "kvfp8") {
		kv = "fp8"
	}
	return rigOf(t, ck, kv, mode == "weights", maxRows)
}

// rigOf loads a checkpoint that stays open.
func rigOf(t testing.TB, ck *checkpoint.Checkpoint, kv string, f32 bool, maxRows int) *rig {
	t.Helper()
	const pages = 16
	d, err := Load(context.Background(), ck, Options{
		Threads: 2, F32Activations: f32, KV: kv, States: 2, MTP: true, MaxRows: maxRows,
		Pages: func(int) int { return pages },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	r := &rig{Device: d}
	for i := range pages {
		r.ids = append(r.ids, device.PageID(i))
	}
	return r
}

// run feeds tokens at position in one step and returns the final hidden rows [n, H] and all logits [n, V].
func (r *rig) run(t testing.TB, tokens []int32, position int) (final, logits []float32) {
	t.Helper()
	for i, tok := range tokens {
		if err := r.embed(i, tok); err != nil {
			t.Fatal(err)
		}
	}
	spans := []span{r.newSpan(0, len(tokens), position, 0, r.ids)}
	if err := r.forward(context.Background(), len(tokens), spans); err != nil {
		t.Fatal(err)
	}
	h := r.m.cfg.HiddenSize
	for i := range tokens {
		kernels.RMSNorm(r.w.final[i*h:(i+1)*h], r.w.h[i*h:(i+1)*h], r.m.norm, r.m.cfg.RMSNormEps)
	}
	final = append(final, r.w.final[:len(tokens)*h]...)
	return final, append(logits, r.logitsOf(len(tokens))...)
}

func argmax(x []float32) int32 { return int32(kernels.ArgMax(x)) }

func logSumExp(x []float32) float32 {
	m := x[argmax(x)]
	s := 0.0
	for _, v := range x {
		s += math.Exp(float64(v - m))
	}
	return float32(float64(m) + math.Log(s))
}

// tolerance on logits, hidden states and states against the oracle; see the golden data's README.
const tolerance = 1e-3

// flipTolerance bounds what one flipped activation code moves in the short prompts; at most one value in maxFlipped may be so
// far off. It is needed once: a log-sum-exp of tiny-b-fp8's p3 is off by 1.3e-3, the logits of its other positions are not.
const (
	flipTolerance = 2e-3
	maxFlipped    = 5000
)

// TestGolden compares every tensor of every checkpoint and mode with the oracle.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldenDir, "expected", "*.json"))
	if err != nil || len(files) != 17 {
		t.Fatalf("found %d expected files, want 17 (%v)", len(files), err)
	}
	var compared, allowed int
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			for _, mode := range g.Modes {
				t.Run(mode, func(t *testing.T) {
					c := goldenMode(t, g, mode)
					compared, allowed = compared+c.compared, allowed+c.allowed
				})
			}
			var unread []string
			for key := range g.floats {
				if !g.read[key] {
					unread = append(unread, key)
				}
			}
			for key := range g.ints {
				if !g.read[key] {
					unread = append(unread, key)
				}
			}
			sort.Strings(unread)
			if len(unread) > 0 {
				t.Errorf("expected values that nothing read: %v", unread)
			}
		})
	}
	if compared*100 < allowed*95 {
		t.Errorf("compared %d of %d values that margins and prompt_diff allow: want 95 %%", compared, allowed)
	}
}

// stable tells whether the oracle's own implementations agree on a prompt: where a last bit flips an activation's code,
// several values are right.
func (g *golden) stable(mode, prompt string) bool {
	diff, known := g.Diff[mode][prompt]
	return mode == "weights" || len(g.Prompts[prompt]) <= 5 || known && diff < 1e-4
}

func goldenMode(t *testing.T, g *golden, mode string) *counter {
	r := newRig(t, g.name, mode, 512)
	c := &counter{flips: mode != "weights"}
	prompts := make([]string, 0, len(g.Prompts))
	for p := range g.Prompts {
		prompts = append(prompts, p)
	}
	sort.Strings(prompts)
	for _, p := range prompts {
		goldenPrompt(t, r, g, mode, p, c)
	}
	goldenHidden(t, r, g, mode, c)
	goldenGreedy(t, r, g, mode, c)
	if r.m.mtp != nil {
		goldenMTP(t, r, g, mode, c)
	}
	if c.compared*100 < c.allowed*85 || c.parted > 1 {
		t.Errorf("compared %d of %d allowed values; %d prompts part from the oracle", c.compared, c.allowed, c.parted)
	}
	if c.flipped*maxFlipped > c.allowed {
		t.Errorf("%d of %d values are off by a flipped code: too many", c.flipped, c.allowed)
	}
	t.Logf("compared %d of %d values, %d moved by a flipped code, %d prompts parted; %d excluded where the oracle's implementations differ",
		c.compared, c.allowed, c.flipped, c.parted, c.excluded)
	return c
}

func goldenPrompt(t *testing.T, r *rig, g *golden, mode, p string, c *counter) {
	key := mode + "/" + p + "/"
	last, lse, margin, top := g.f(key+"logits_last"), g.f(key+"logsumexp"), g.f(key+"margin"), g.i(key+"argmax")
	if last == nil {
		return
	}
	if !g.stable(mode, p) {
		c.excluded += len(last) + len(lse) + len(top)
		return
	}
	tokens, v := g.Prompts[p], r.m.cfg.VocabSize
	r.ResetState(0)
	_, logits := r.run(t, tokens, 0)
	sums := make([]float32, len(tokens))
	for i := range tokens {
		sums[i] = logSumExp(logits[i*v : (i+1)*v])
	}
	n := len(tokens)
	if c.flips && n > 5 {
		n = agreement(sums, lse)
	}
	if n < len(tokens) {
		c.parted++
		c.allowed += len(last) + 2*(len(tokens)-n) // not compared: it counts against the test
	} else {
		c.close(t, key+"logits_last", logits[(len(tokens)-1)*v:], last, tolerance)
	}
	for i := range n {
		if margin[i] < tolerance {
			continue
		}
		c.allowed++
		if got := argmax(logits[i*v : (i+1)*v]); got != top[i] {
			t.Errorf("%sargmax: position %d: got %d, want %d (margin %g)", key, i, got, top[i], margin[i])
		} else {
			c.compared++
		}
	}
	c.close(t, key+"logsumexp", sums[:n], lse[:n], tolerance)
}

// agreement is how many positions two runs have in common before an activation's code flips in one of them.
func agreement(got, want []float32) int {
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= tolerance) {
			return i
		}
	}
	return len(want)
}

// goldenHidden compares the stream between layers for p5 and p65, and the state after p65.
func goldenHidden(t *testing.T, r *rig, g *golden, mode string, c *counter) {
	cfg := r.m.cfg
	h := cfg.HiddenSize
	layers := cfg.Layers + 1
	for _, prompt := range []string{"p5", "p65"} {
		tokens := g.Prompts[prompt]
		got := make([]float32, 0, layers*len(tokens)*h)
		r.tap = func(_ int, x []float32) { got = append(got, x...) }
		r.ResetState(0)
		final, _ := r.run(t, tokens, 0)
		r.tap = nil
		if prompt == "p5" {
			c.close(t, mode+"/hidden5/layers", got, g.f(mode+"/hidden5/layers"), tolerance)
			c.close(t, mode+"/hidden5/final_norm", final, g.f(mode+"/hidden5/final_norm"), tolerance)
			continue
		}
		if g.floats[mode+"/hidden/0"] == nil {
			continue
		}
		n := len(tokens) * h
		for i := range layers {
			key := fmt.Sprintf("%s/hidden/%d", mode, i)
			goldenStream(t, g, mode, key, got[i*n:(i+1)*n], c)
		}
		goldenStream(t, g, mode, mode+"/hidden/final_norm", final, c)
		goldenState(t, r, g, mode, len(tokens), c)
	}
}

// goldenStream compares p65's values in full where the oracle is stable, else their first five positions, which are.
func goldenStream(t *testing.T, g *golden, mode, key string, got []float32, c *counter) {
	want := g.f(key)
	if !g.stable(mode, "p65") {
		n := len(want) / 65 * 5
		c.excluded += len(want) - n
		got, want = got[:n], want[:n]
	}
	c.close(t, key, got, want, tolerance)
}

func goldenState(t *testing.T, r *rig, g *golden, mode string, n int, c *counter) {
	cfg := r.m.cfg
	kv := cfg.KVHeads * cfg.HeadDim
	state := r.mem.state(0)
	for i := range r.m.layers {
		key := fmt.Sprintf("%s/state/%d/", mode, i)
		if a := r.m.layers[i].attn; a != nil {
			k, v := make([]float32, n*kv), make([]float32, n*kv)
			for pos := range n {
				page := r.mem.page(r.ids[pos/kernels.PagePositions])[a.page : a.page+r.lay.kv.Bytes()]
				r.lay.kv.Load(page, pos%kernels.PagePositions, k[pos*kv:(pos+1)*kv], v[pos*kv:(pos+1)*kv], a.kScale, a.vScale)
			}
			goldenStream(t, g, mode, key+"k", k, c)
			goldenStream(t, g, mode, key+"v", v, c)
			continue
		}
		gd := r.m.layers[i].gdn
		conv, rec := g.f(key+"conv"), g.f(key+"recurrent")
		if !g.stable(mode, "p65") && i > 0 {
			c.excluded += len(conv) + len(rec)
			continue
		}
		c.close(t, key+"conv", state[gd.window:gd.window+len(conv)], conv, tolerance)
		c.close(t, key+"recurrent", state[gd.state:gd.state+len(rec)], rec, tolerance)
	}
}

// goldenGreedy continues p5 and p65 until a margin is too small to call.
func goldenGreedy(t *testing.T, r *rig, g *golden, mode string, c *counter) {
	for _, prompt := range []string{"p5", "p65"} {
		key := mode + "/greedy" + prompt[1:] + "/"
		want, margin, final := g.i(key+"tokens"), g.f(key+"margin"), g.f(key+"logits_final")
		if want == nil {
			continue
		}
		stable := mode == "weights"
		if !stable {
			stable = true
			for p := range g.Prompts {
				stable = stable && g.stable(mode, p)
			}
		}
		tokens := g.Prompts[prompt]
		v := r.m.cfg.VocabSize
		r.ResetState(0)
		_, logits := r.run(t, tokens, 0)
		row := logits[(len(tokens)-1)*v:]
		done := true
		for i := range want {
			if margin[i] < tolerance || !stable && i > 0 {
				c.excluded += len(want) - i + len(final)
				done = false
				break
			}
			if !stable && !g.stable(mode, prompt) {
				c.excluded += len(want) + len(final)
				done = false
				break
			}
			c.allowed++
			if got := argmax(row); got != want[i] {
				t.Errorf("%stokens: step %d: got %d, want %d (margin %g)", key, i, got, want[i], margin[i])
				done = false
				break
			}
			c.compared++
			if i+1 < len(want) {
				_, row = r.run(t, want[i:i+1], len(tokens)+i)
			}
		}
		if done {
			c.close(t, key+"logits_final", row, final, tolerance)
		}
	}
}

// goldenMTP runs the pairs (f_t, token t+1) over p65 and then four chained drafts.
func goldenMTP(t *testing.T, r *rig, g *golden, mode string, c *counter) {
	key := mode + "/mtp/"
	top, lse := g.i(key+"argmax"), g.f(key+"logsumexp")
	chainLogits, chainHidden := g.f(key+"chain_logits"), g.f(key+"chain_hidden")
	chainTokens, chainMargin := g.i(key+"chain_tokens"), g.f(key+"chain_margin")
	if lse == nil {
		return
	}
	if !g.stable(mode, "p65") {
		c.excluded += len(top) + len(lse) + len(chainLogits) + len(chainHidden) + len(chainTokens)
		return
	}
	tokens, v, h := g.Prompts["p65"], r.m.cfg.VocabSize, r.m.cfg.HiddenSize
	r.ResetState(0)
	hidden, _ := r.run(t, tokens, 0)
	next := append(append([]int32{}, tokens[1:]...), g.First[mode])
	step := func(hidden []float32, tokens []int32, slot int) (out, logits []float32) {
		s := r.newSpan(0, len(tokens), slot, 0, r.ids)
		if err := r.mtpForward(context.Background(), hidden, tokens, s); err != nil {
			t.Fatal(err)
		}
		out = append(out, r.w.final[:len(tokens)*h]...)
		return out, append(logits, r.logitsOf(len(tokens))...)
	}
	out, logits := step(hidden, next, 1)
	sums := make([]float32, len(next))
	for i := range next {
		sums[i] = logSumExp(logits[i*v : (i+1)*v])
	}
	c.close(t, key+"logsumexp", sums, lse, tolerance)
	wrong := 0
	for i := range next {
		if argmax(logits[i*v:(i+1)*v]) != top[i] {
			wrong++ // no margins are given for these: a near tie may fall either way
		}
	}
	c.allowed, c.compared = c.allowed+len(top), c.compared+len(top)-wrong
	if wrong > 1 {
		t.Errorf("%sargmax: %d of %d differ", key, wrong, len(top))
	}
	last, row := out[(len(next)-1)*h:], logits[(len(next)-1)*v:]
	for j, want := range chainTokens {
		c.close(t, fmt.Sprintf("%schain_logits %d", key, j), row, chainLogits[j*v:(j+1)*v], tolerance)
		c.close(t, fmt.Sprintf("%schain_hidden %d", key, j), last, chainHidden[j*h:(j+1)*h], tolerance)
		if chainMargin[j] < tolerance {
			return
		}
		c.allowed++
		if got := argmax(row); got != want {
			t.Errorf("%schain_tokens: draft %d: got %d, want %d", key, j, got, want)
			return
		}
		c.compared++
		if j+1 < len(chainTokens) {
			last, row = step(last, []int32{want}, 1+len(next)+j)
		}
	}
}
