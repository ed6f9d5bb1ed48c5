package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Chunk is the number of vectors that one worker takes at a time.
const Chunk = 256

// Each calls do for all numbers up to n, by several workers.
func Each(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// Chunks calls do for all chunks of n vectors, by several workers.
func Chunks(n int, do func(number, from, to int)) {
	Each((n+Chunk-1)/Chunk, func(i int) { do(i, i*Chunk, min(n, (i+1)*Chunk)) })
}

// InOrder calls work for all numbers up to n, by several workers each of which has something of
// its own, and take with what that emits, in the order of the numbers, until it returns false.
// Who is too far ahead waits.
func InOrder[W, R any](n int, worker func() W, work func(w W, i int, emit func(R) bool), take func(R) bool) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		stop := false
		emit := func(r R) bool {
			stop = stop || !take(r)
			return !stop
		}
		if n > 0 {
			for i, w := 0, worker(); i < n && !stop; i++ {
				work(w, i, emit)
			}
		}
		return
	}
	type job struct {
		i   int
		out chan R
	}
	quit := make(chan struct{})
	jobs, ordered := make(chan job, workers), make(chan job, 2*workers)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(jobs)
		defer close(ordered)
		for i := range n {
			j := job{i, make(chan R, 4)}
			for _, to := range []chan job{ordered, jobs} {
				select {
				case to <- j:
				case <-quit:
					return
				}
			}
		}
	})
	for range workers {
		wg.Go(func() {
			w := worker()
			for j := range jobs {
				work(w, j.i, func(r R) bool {
					select {
					case j.out <- r:
						return true
					case <-quit:
						return false
					}
				})
				close(j.out)
			}
		})
	}
	defer wg.Wait()
	defer close(quit)
	for j := range ordered {
		for r := range j.out {
			if !take(r) {
				return
			}
		}
	}
}
