package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// pool runs one job at a time on a fixed set of threads, the caller's among them. Between jobs that follow each other
// closely the threads spin, since a step is hundreds of jobs of a few microseconds; left alone they sleep. A helper takes
// part in a job only if it arrives before the job is done, so one that the system has put aside delays nobody.
type pool struct {
	threads int
	job     func(worker, lo, hi int)
	tasks   int32
	grain   int32
	next    atomic.Int32 // first task nobody took
	gate    atomic.Int32 // helpers in the current job; shut between jobs
	turn    atomic.Uint32
	asleep  atomic.Int32
	mu      sync.Mutex
	wake    *sync.Cond
	closed  atomic.Bool
	done    sync.WaitGroup
}

const (
	// spinLoops is how long an idle thread watches for the next job before it sleeps: some 50 to 150 µs, by the length of
	// the processor's pause.
	spinLoops = 4000
	// shut keeps helpers out.
	shut = -1
)

func newPool(threads int) *pool {
	p := &pool{threads: max(1, threads)}
	p.wake = sync.NewCond(&p.mu)
	p.gate.Store(shut)
	for w := 1; w < p.threads; w++ {
		p.done.Add(1)
		go p.help(w)
	}
	return p
}

// do calls job for task ranges that cover 0..tasks, grain tasks at a time, and returns when all are done.
func (p *pool) do(tasks, grain int, job func(worker, lo, hi int)) {
	if tasks <= 0 {
		return
	}
	if p.threads == 1 || tasks <= grain {
		job(0, 0, tasks)
		return
	}
	p.job, p.tasks, p.grain = job, int32(tasks), int32(grain)
	p.next.Store(0)
	p.gate.Store(0)
	p.turn.Add(1)
	if p.asleep.Load() > 0 {
		p.mu.Lock()
		p.wake.Broadcast()
		p.mu.Unlock()
	}
	p.take(0)
	for i := 0; !p.gate.CompareAndSwap(0, shut); i++ {
		if i > spinLoops {
			runtime.Gosched()
		} else {
			pause()
		}
	}
}

func (p *pool) take(worker int) {
	for {
		lo := p.next.Add(p.grain) - p.grain
		if lo >= p.tasks {
			return
		}
		p.job(worker, int(lo), int(min(lo+p.grain, p.tasks)))
	}
}

func (p *pool) help(worker int) {
	defer p.done.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	seen := uint32(0)
	for {
		seen = p.await(seen)
		if p.closed.Load() {
			return
		}
		if p.enter() {
			p.take(worker)
			p.gate.Add(-1)
		}
	}
}

// enter joins the current job, unless it is over. It may be a later one than the helper was called for.
func (p *pool) enter() bool {
	for {
		n := p.gate.Load()
		if n == shut {
			return false
		}
		if p.gate.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// await returns a turn after seen.
func (p *pool) await(seen uint32) uint32 {
	for range spinLoops {
		if t := p.turn.Load(); t != seen {
			return t
		}
		pause()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asleep.Add(1)
	defer p.asleep.Add(-1)
	for p.turn.Load() == seen {
		p.wake.Wait()
	}
	return p.turn.Load()
}

func (p *pool) close() {
	p.closed.Store(true)
	p.mu.Lock()
	p.turn.Add(1)
	p.wake.Broadcast()
	p.mu.Unlock()
	p.done.Wait()
}
