package cpu

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestPoolCoversEachTaskOnce runs jobs back to back and after sleeps long enough that the helpers go to sleep.
func TestPoolCoversEachTaskOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(threads)
		for round := range 300 {
			tasks, grain := round%37, 1+round%5
			counts := make([]atomic.Int32, tasks)
			p.do(tasks, grain, func(worker, lo, hi int) {
				if worker < 0 || worker >= threads {
					t.Errorf("worker %d of %d", worker, threads)
				}
				for i := lo; i < hi; i++ {
					counts[i].Add(1)
				}
			})
			for i := range counts {
				if n := counts[i].Load(); n != 1 {
					t.Fatalf("threads %d round %d: task %d ran %d times", threads, round, i, n)
				}
			}
			if round%100 == 99 {
				time.Sleep(5 * time.Millisecond)
			}
		}
		p.close()
	}
}
