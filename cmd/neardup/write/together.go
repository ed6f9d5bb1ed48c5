package write

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/cmd/neardup/options"
)

// This file runs independent work concurrently.

// inParallel calls do(0) to do(n-1) on several goroutines.
func inParallel(workers, n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// leastTogether is the room with which outputs are written side by side. Some of them hold rows of about 64 MB.
const leastTogether = 256 << 20

// inTurns calls functions that write what was found, each with its own copy of the results, concurrently if there is enough memory. Their
// messages are printed in the order of the functions, and the first error in that order is returned.
func (r *Results) inTurns(writes []func(r *Results) error) error {
	workers := r.Options.Workers
	if options.Room(r.Options.Memory) < leastTogether {
		workers = 1
	}
	r.Groups.Sizes() // which all of them share
	said, errs := make([]bytes.Buffer, len(writes)), make([]error, len(writes))
	inParallel(workers, len(writes), func(i int) {
		own := *r
		own.Corpus = r.Corpus.Clone(&said[i])
		errs[i] = writes[i](&own)
	})
	for i := range writes {
		r.Log.Errors.Write(said[i].Bytes())
		if errs[i] != nil {
			return errs[i]
		}
	}
	return nil
}
