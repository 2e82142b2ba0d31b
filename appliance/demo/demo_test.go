package demo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"hearth/engine/checkpoint"
	"hearth/engine/cpu"
	"hearth/engine/device"
	"hearth/kernels"
)

// pinned are checksums of the demo model's logits by numerics version. When this test fails, either a kernel is wrong or its
// bits have moved on purpose: then raise kernels.NumericsVersion and pin the new checksum.
var pinned = map[int]string{
	1: "fd9cdf9544a31e47ef6470302957afa595c21eee94539557a42dd5ec757e6499",
}

// TestLogitsArePinned runs the embedded checkpoint over fixed tokens, prefill and rounds, at every level of this CPU.
func TestLogitsArePinned(t *testing.T) {
	saved := kernels.Active()
	defer kernels.Use(saved)
	for _, level := range kernels.Levels() {
		if level == kernels.Generic && testing.Short() {
			continue
		}
		if err := kernels.Use(level); err != nil {
			t.Fatal(err)
		}
		if got, want := checksum(t), pinned[kernels.NumericsVersion]; got != want {
			t.Errorf("%v: checksum of the logits is %s, pinned is %q for numerics version %d", level, got, want, kernels.NumericsVersion)
		}
	}
}

func checksum(t *testing.T) string {
	ck, err := checkpoint.OpenFS(FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	dev, err := cpu.Load(context.Background(), ck, cpu.Options{Threads: 2, States: 1, MaxRows: 128, Pages: func(int) int { return 4 }})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	ctx, pages := context.Background(), []device.PageID{0, 1, 2, 3}
	tokens := make([]int32, 100)
	for i := range tokens {
		tokens[i] = int32(i * 37 % 4000)
	}
	if err := dev.Prefill(ctx, []device.Prefill{{Pages: pages, Tokens: tokens[:90]}}); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	var res [1]device.RoundResult
	for i := 90; i < len(tokens); i++ {
		if err := dev.Round(ctx, []device.RoundPlan{{Pages: pages, Position: i, Root: tokens[i]}}, res[:]); err != nil {
			t.Fatal(err)
		}
		for _, v := range res[0].Logits {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			sum.Write(b[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
