package write

import (
	"bytes"

	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/together"
)

// This file writes outputs concurrently.

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
	together.Each(workers, len(writes), func(i int) {
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
