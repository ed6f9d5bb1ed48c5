package hamming

import (
	"sync"
)

// scatter sorts the input by width bits of a word, at most eight, into dst, and returns
// the end of each part. Each worker takes a stretch of the input.
func (s *input[W]) scatter(dst records[W], word, shift, width, workers int) (ends [256]uint32) {
	mask := uint8(1<<width - 1)
	n := s.len()
	next := make([][256]uint32, workers)
	each := func(do func(worker, from, to int)) {
		var wait sync.WaitGroup
		for w := range workers {
			wait.Go(func() { do(w, n*w/workers, n*(w+1)/workers) })
		}
		wait.Wait()
	}
	stretch := func(from, to int, do func(ws []W, first int)) {
		if split := len(s.a); from < split {
			do(s.a[from:min(to, split)], from)
		}
		if split := len(s.a); to > split {
			do(s.b[max(from, split)-split:to-split], max(from, split))
		}
	}
	each(func(worker, from, to int) {
		var count [256]uint32
		stretch(from, to, func(ws []W, _ int) {
			for i := range ws {
				count[uint8(ws[i][word]>>(shift&63))&mask]++
			}
		})
		next[worker] = count
	})
	sum := uint32(0)
	for d := range ends {
		for w := range next {
			sum, next[w][d] = sum+next[w][d], sum
		}
		ends[d] = sum
	}
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

// split sorts r by width bits of a word, at most eight, into a buffer, or in place if
// that would be large, and returns it with the end of each part.
func (j *joiner[W]) split(r records[W], buffer, word, shift, width int) (records[W], [256]uint32) {
	mask := uint8(1<<width - 1)
	var next [256]uint32
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
		*buf = newRecords[W](r.len() + r.len()/8)
	}
	dst := buf.slice(0, r.len())
	for i, w := range r.w {
		at := &next[uint8(w[word]>>(shift&63))&mask]
		dst.w[*at], dst.i[*at] = w, r.i[i]
		*at++
	}
	return dst, next
}

// inPlace sorts r by bits of a word, of which starts has where each part begins, and
// returns the ends (American flag sort).
func inPlace[W Words](r records[W], starts [256]uint32, word, shift int, mask uint8) [256]uint32 {
	next := starts
	for d := range int(mask) + 1 {
		end := uint32(r.len())
		if d < int(mask) {
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
