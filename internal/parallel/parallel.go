// Package parallel runs numbered jobs on all processors: in any order ([Each], [Chunks]), or with
// results that the caller gets in the order of the jobs ([InOrder]).
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Chunk is the number of items that a worker takes at a time: so many that taking them costs
// nothing, and so few that no worker is left with much more than the others.
const Chunk = 256

// Each calls do(0) to do(n−1), on as many goroutines as there are processors, and returns when all
// calls have. Workers take the next number when they are free, so calls may differ in length.
func Each(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
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

// Chunks is [Each] for n items in chunks of [Chunk]. do gets the number of the chunk, and its items
// from..to; the last chunk may be shorter.
func Chunks(n int, do func(number, from, to int)) {
	ChunksOf(Chunk, n, do)
}

// ChunksOf is [Chunks] with chunks of another size, for items that take longer.
func ChunksOf(size, n int, do func(number, from, to int)) {
	Each((n+size-1)/size, func(i int) { do(i, i*size, min(n, (i+1)*size)) })
}

// InOrder runs the jobs 0 to n−1 on several goroutines and hands their results to take, in the
// order of the jobs, and within a job in the order of the calls of emit. So the caller sees the
// same results for any number of processors.
//
// Each goroutine has a state of its own, made by worker, which work gets. work passes each result
// to emit. When emit returns false nobody wants more, and work should return. take runs on the
// goroutine of the caller, and ends everything by returning false. InOrder returns, or panics if
// take does, after all workers have stopped. Some jobs may not have been begun then.
//
// Memory is bounded. A job can emit a few results that take has not seen, then emit waits, and only
// a few jobs per worker are begun ahead of the one that take is at.
func InOrder[W, R any](n int, worker func() W, work func(w W, i int, emit func(R) bool), take func(R) bool) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		inOneGoroutine(n, worker, work, take)
		return
	}
	quit := make(chan struct{}) // closed when the caller wants no more
	jobs, ordered := make(chan job[R], workers), make(chan job[R], 2*workers)
	var wg sync.WaitGroup
	wg.Go(func() { queue(n, ordered, jobs, quit) })
	for range workers {
		wg.Go(func() { runJobs(jobs, worker(), work, quit) })
	}
	// Deferred, so that the workers stop also if take panics: first close, then wait.
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

// inOneGoroutine does what InOrder does, in the goroutine of the caller and without channels.
func inOneGoroutine[W, R any](n int, worker func() W, work func(w W, i int, emit func(R) bool), take func(R) bool) {
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
}

// A job is a number and a channel of its own for the results. It goes into two queues: first into
// ordered, from which the caller takes the channels in order, and then into jobs, from which the
// workers take what to do.
type job[R any] struct {
	i   int
	out chan R
}

// queue puts the jobs 0 to n−1 into both queues until quit is closed, and then closes the queues.
// The length of ordered limits how far workers get ahead.
func queue[R any](n int, ordered, jobs chan<- job[R], quit <-chan struct{}) {
	defer close(jobs)
	defer close(ordered)
	for i := range n {
		j := job[R]{i, make(chan R, 4)}
		for _, to := range []chan<- job[R]{ordered, jobs} {
			select {
			case to <- j:
			case <-quit:
				return
			}
		}
	}
}

// runJobs is one worker with the state w. It works until jobs is closed, and closes the results of
// each job that it has done. Once quit is closed, emit returns false instead of waiting.
func runJobs[W, R any](jobs <-chan job[R], w W, work func(w W, i int, emit func(R) bool), quit <-chan struct{}) {
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
}
