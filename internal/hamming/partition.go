package hamming

import (
	"sync"
)

// This file has the radix partitions of the join: three ways to sort fingerprints by at most eight
// bits of a word. A pass writes to at most 256 places in turn, which is few enough for the cache
// and the translation buffer of a processor. A key of more bits takes two passes.
//
//	scatter  copies the whole input, in parallel
//	split    copies a part into a buffer
//	inPlace  needs no buffer, but moves each record to a place that is not in the cache
//
// All of them return ends: ends[d] is the end of the part whose bits are d, and the beginning of
// the next part.

// scatter sorts the input into dst by the bits shift to shift+width−1 of a word; width is at most
// 8. Each worker takes a stretch of the input. It first counts the bits of its stretch. The counts
// of all workers then say where each worker has to put its share of each part, so that they write
// without locks, and the result is the same for any number of workers.
func (s *input[W]) scatter(dst records[W], word, shift, width, workers int) (ends [256]uint32) {
	mask := uint8(1<<width - 1)
	n := s.len()
	next := make([][256]uint32, workers) // counts, and then the next place, of each worker and part
	each := func(do func(worker, from, to int)) {
		var wait sync.WaitGroup
		for w := range workers {
			from, to := int64(n)*int64(w)/int64(workers), int64(n)*int64(w+1)/int64(workers)
			wait.Go(func() { do(w, int(from), int(to)) })
		}
		wait.Wait()
	}
	// stretch calls do with the fingerprints from..to of the input, which may lie in a and in b.
	stretch := func(from, to int, do func(ws []W, first int)) {
		if split := len(s.a); from < split {
			do(s.a[from:min(to, split)], from)
		}
		if split := len(s.a); to > split {
			do(s.b[max(from, split)-split:to-split], max(from, split))
		}
	}
	// First pass: each worker counts.
	each(func(worker, from, to int) {
		var count [256]uint32
		stretch(from, to, func(ws []W, _ int) {
			for i := range ws {
				count[uint8(ws[i][word]>>(shift&63))&mask]++
			}
		})
		next[worker] = count
	})
	// The parts come one after the other, and within a part the shares of the workers.
	sum := uint32(0)
	for d := range ends {
		for w := range next {
			sum, next[w][d] = sum+next[w][d], sum
		}
		ends[d] = sum
	}
	// Second pass: each worker moves its fingerprints, and notes where they were.
	each(func(worker, from, to int) {
		at := next[worker]
		stretch(from, to, func(ws []W, first int) {
			for i, w := range ws {
				p := &at[uint8(w[word]>>(shift&63))&mask]
				dst.w[*p], dst.i[*p] = w, uint32(first+i)
				*p++
			}
		})
	})
	return ends
}

// split sorts r by the bits shift to shift+width−1 of a word; width is at most 8. It returns the
// sorted records, in spare buffer number buffer, which the next split with that number overwrites.
// If r is a large part of the input it is sorted in place: buffers for every level of every worker
// would otherwise take several times the memory of the input.
func (j *joiner[W]) split(r records[W], buffer, word, shift, width int) (records[W], [256]uint32) {
	mask := uint8(1<<width - 1)
	var next [256]uint32 // the size of each part, then its beginning, and at last its end
	for i := range r.w {
		next[uint8(r.w[i][word]>>(shift&63))&mask]++
	}
	sum := uint32(0)
	for d, n := range next {
		next[d] = sum
		sum += n
	}
	if r.len() > max(alone, j.len()/64) {
		return r, inPlace(r, next, word, shift, mask)
	}
	for len(j.spare) <= buffer {
		j.spare = append(j.spare, records[W]{})
	}
	buf := &j.spare[buffer]
	if buf.len() < r.len() {
		*buf = newRecords[W](r.len() + r.len()/8) // the next part may be a little larger
	}
	dst := buf.slice(0, r.len())
	for i, w := range r.w {
		at := &next[uint8(w[word]>>(shift&63))&mask]
		dst.w[*at], dst.i[*at] = w, r.i[i]
		*at++
	}
	return dst, next
}

// inPlace sorts r in place by the bits of mask, shifted, of a word, and returns the end of each
// part (American flag sort; McIlroy, Bostic and McIlroy 1993). starts has the beginning of each
// part. A record that is out of place goes to the next free place of its part, and the record found
// there is moved in turn, until one belongs to the place where the chain began.
func inPlace[W Words](r records[W], starts [256]uint32, word, shift int, mask uint8) [256]uint32 {
	next := starts
	for d := range int(mask) + 1 {
		end := uint32(r.len())
		if d < int(mask) { // the last part ends with r
			end = starts[d+1]
		}
		for ; next[d] < end; next[d]++ {
			w, i := r.w[next[d]], r.i[next[d]]
			for {
				to := &next[uint8(w[word]>>(shift&63))&mask]
				if to == &next[d] {
					break
				}
				r.w[*to], w = w, r.w[*to]
				r.i[*to], i = i, r.i[*to]
				*to++
			}
			r.w[next[d]], r.i[next[d]] = w, i
		}
	}
	return next
}
