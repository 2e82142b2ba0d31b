package persist

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestChurn keeps a full cache busy with blobs of all sizes, evicted in random order, so that free pages scatter: no record is turned
// away, and the file stays within its budget.
func TestChurn(t *testing.T) {
	rng, seed := seeded(t)
	data := pattern("churn", 6<<20)
	for _, tt := range []struct {
		name           string
		budget         int64
		records, blobs int
		largest        int
	}{
		{"small blobs", 24 << 20, 300, 8, chunkBytes},
		{"large blobs", 64 << 20, 150, 3, 6 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cache.db")
			o := quiet()
			o.DiskBudgetBytes, o.noSync = tt.budget, true
			o.Score = func(in Info) float64 { return float64(sum(in.Key)) }
			c := mustOpen(t, path, o)
			for i := range tt.records * soak() {
				r := &Record{Key: fmt.Append(nil, i)}
				for j := range 1 + rng.IntN(tt.blobs) {
					r.Blobs = append(r.Blobs, Blob{Ref{1, fmt.Append(nil, i, "/", j)}, [][]byte{data[:rng.IntN(tt.largest)]}})
				}
				if err := c.Put(context.Background(), r); err != nil {
					t.Fatalf("seed %d, record %d of %d bytes: %v, %+v", seed, i, r.bytes(), err, c.Stats())
				}
				if st, _ := os.Stat(path); st.Size() > o.DiskBudgetBytes {
					t.Fatalf("seed %d, record %d: the file has %d bytes", seed, i, st.Size())
				}
			}
			s := c.Stats()
			if s.Evicted == 0 || s.LiveBytes < o.DiskBudgetBytes/3 {
				t.Errorf("seed %d: %+v", seed, s)
			}
			checkIndex(t, c)
			t.Logf("live records fill %d%% of the budget", s.LiveBytes*100/o.DiskBudgetBytes)
			c.Close()
			if r, err := Inspect(path, 0, true); err != nil || r.Bad() > 0 {
				t.Errorf("seed %d: check: %v, %d bad", seed, err, r.Bad())
			}
		})
	}
}
