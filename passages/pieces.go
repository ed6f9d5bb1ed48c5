package passages

import (
	"iter"
	"sync"
)

// This file makes passages of classes (join.go): pieces of texts of which all places go on together, where they are
// in their documents, and which pieces belong to one passage.

// pieces returns pieces by place: the first token, how many grams it has, and the class of the first one.
//
// Where one place of a class goes on, all of them do (see goOn). So the pieces at all places of a passage begin
// with the same class and have the same length, and the first class tells a passage from all others.
func (j *join[ID]) pieces(of *sorter[[2]uint64], follow *follows) *queue[[4]uint64] {
	q := newQueue[[4]uint64](j.share() / 4)
	var now [4]uint64
	var last class // of the last gram of now
	put := func() {
		if now[1] > 0 {
			if err := q.add(now); err != nil {
				j.fail(err)
			}
		}
	}
	err := of.each(func(some [][2]uint64) bool {
		for _, r := range some {
			token, c := r[0]>>j.shift, class(r[1])
			if now[1] > 0 && token == now[0]+now[1] && follow.goOn(last, c) {
				now[1]++
			} else {
				put()
				now = [4]uint64{token, 1, uint64(c)}
			}
			last = c
		}
		return !j.failed()
	})
	put()
	if err != nil {
		j.fail(err)
	}
	return q
}

// located returns the pieces with their places in the texts, by the class of their first grams. Pieces come by
// place, so a goroutine reads a text once for all pieces of a job that are in it.
func (j *join[ID]) located(pieces *queue[[4]uint64]) *sorter[[4]uint64] {
	all := newSorter[[4]uint64](j.share())
	if j.failed() {
		return all
	}
	j.inOrder("locating", pieces.numberOfBlocks(), func(s *scanner, job int) {
		var buf []byte
		for _, p := range pieces.read(job, nil, &buf) {
			doc := s.doc
			if doc < 0 || p[0] >= j.docs[doc+1].tokens {
				doc = j.holding(p[0])
			}
			if doc != s.doc {
				s.tokenized.Read(j.text(doc, &s.buf), true)
				s.doc, s.ends = doc, j.Length.ends(&s.tokenized, s.ends[:0])
			}
			first := int(p[0] - j.docs[doc].tokens)
			last := first + int(p[1]) - 1
			if last >= len(s.ends) {
				continue // the text could not be read any more; the file has the error
			}
			from, to := s.From[first], s.To[s.ends[last]-1]
			s.put([4]uint64{p[2] << 24, p[0], uint64(from)<<32 | uint64(to), uint64(int(s.ends[last]) - first)})
		}
	}, all.add)
	if err := pieces.file.Err(); err != nil {
		j.fail(err)
	}
	return all
}

// overlap reports whether two places, in order, are in one text and share a token. Places in two texts never
// do, since no number of a token belongs to two texts.
func (j *join[ID]) overlap(a, b [4]uint64) bool {
	return b[1] < a[1]+a[3]
}

// found returns the places of passages of which one is new, by the first token of their passage. That token is
// a key without doubles: one place has one class, and so it begins one passage at most.
func (j *join[ID]) found(places *sorter[[4]uint64]) *sorter[[4]uint64] {
	all := newSorter[[4]uint64](j.share())
	var mu sync.Mutex
	eachPart(j, "grouping", places, func(part int) {
		var of [][4]uint64 // of one passage
		put := func() {
			mu.Lock()
			defer mu.Unlock()
			// Places ascend, so if the last one is old, all are, and none is added.
			for i := 0; i < len(of) && of[len(of)-1][1] >= j.old; i++ {
				of[i][0] = of[0][1] << j.shift
				if err := all.add(of[i]); err != nil {
					j.fail(err)
					break
				}
			}
			of = of[:0]
		}
		var last uint64 // the class
		for p := range places.sorted(part) {
			if p[0] != last {
				put()
			}
			last = p[0]
			if n := len(of); n > 0 && j.overlap(of[n-1], p) {
				of[n-1][2] = of[n-1][2]>>32<<32 | uint64(uint32(p[2]))
				of[n-1][3] = p[1] - of[n-1][1] + p[3]
				continue
			}
			of = append(of, p)
		}
		put()
	})
	return all
}

// A place is where a passage occurs, in the form in which this package works with it. [Place] is for callers.
type place struct {
	doc           int
	first, tokens int // of the document
	from, to      int // bytes
}

// places yields the places of each passage, in a slice that is only valid until the next one.
func (s *snapshot[ID]) places(found *sorter[[4]uint64]) iter.Seq[[]place] {
	return func(yield func([]place) bool) {
		var all []place
		for group := range found.allGroups {
			all = all[:0]
			doc := 0
			for i, r := range group {
				if i == 0 || r[1] >= s.docs[doc+1].tokens {
					doc = s.holding(r[1])
				}
				all = append(all, place{doc, int(r[1] - s.docs[doc].tokens), int(r[3]), int(r[2] >> 32), int(uint32(r[2]))})
			}
			if !yield(all) {
				return
			}
		}
	}
}

// documents returns in how many documents places are.
func documents(places []place) (n int) {
	for range byDocument(places) {
		n++
	}
	return n
}

// passage describes a passage by its places. Places that were merged are longer than the passage, so the
// shortest one has its length.
func (s *snapshot[ID]) passage(places []place) Passage[ID] {
	p := Passage[ID]{Tokens: places[0].tokens, Documents: documents(places), Places: make([]Place[ID], len(places))}
	for i, x := range places {
		p.Tokens = min(p.Tokens, x.tokens)
		p.Places[i] = Place[ID]{s.ids[x.doc], x.doc, x.from, x.to, x.tokens}
	}
	return p
}
