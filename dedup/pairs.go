package dedup

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup"
)

// This file finds all pairs of documents, from the edges of their contents. Contents are compared once, however many
// documents have them. Each pair of contents then stands for the pairs of their documents, which are listed here.
//
// Documents are listed in the order of adding, so the old ones come first, and one number says how many these are.

// A docPair is two documents, A < B, and what is said of them.
type docPair struct {
	a, b uint32
	verdict
}

// documentPairs yields pairs of documents, without those of two old documents. Equal documents come first. It
// looks at the context once in 1,024 pairs, since a single pair of contents may have millions. When the context
// ends it stops without saying so; the caller asks the context.
func (s *snapshot[ID]) documentPairs(ctx context.Context) iter.Seq[docPair] {
	return func(yield func(docPair) bool) {
		n := 0
		goOn := func(p docPair) bool {
			n++
			return (n%1024 != 0 || ctx.Err() == nil) && yield(p)
		}
		// Pairs within a content: equal documents.
		var of, with []uint32
		for _, i := range s.which(func(i int32) bool { c := s.chain(int(i)); return c.first != c.last && s.isFresh(i) }) {
			of = s.of(int(i), of)
			if ctx.Err() != nil || !s.equalPairs(of, s.oldOf(of), goOn) {
				return
			}
		}
		// Pairs between two contents: each document of one with each document of the other.
		for e := range s.stream(ctx) {
			if e.kind&s.options.Kinds == 0 {
				continue
			}
			of, with = s.of(int(e.b), of), s.of(int(e.a), with)
			for k, x := range of {
				from := 0
				if k < s.oldOf(of) { // document x is old, so only new partners count
					from = s.oldOf(with)
				}
				for _, y := range with[from:] {
					if !goOn(docPair{min(x, y), max(x, y), e.verdict}) {
						return
					}
				}
			}
		}
	}
}

// equalKind returns the kind of two documents, which have the same content.
func (s *snapshot[ID]) equalKind(a, b uint32) neardup.Kind {
	if s.docs.At(a).text == s.docs.At(b).text {
		return neardup.Identical
	}
	return neardup.SameWords
}

// equalPairs calls yield for the pairs of documents of one content: those of docs[fresh:] with all before them,
// as far as their kinds count. It returns false when yield does. There are m(m−1)/2 pairs, so where a kind does
// not count, it leaves out whole lists of partners instead of looking at each pair.
func (s *snapshot[ID]) equalPairs(docs []uint32, fresh int, yield func(docPair) bool) bool {
	kinds := s.options.Kinds
	if len(docs) < 2 || kinds&(neardup.Identical|neardup.SameWords) == 0 {
		return true
	}
	same := map[uint64][]uint32{} // the documents so far, by their texts
	for n, b := range docs {
		text := s.docs.At(b).text
		with := docs[:n]
		switch identical := same[text]; {
		case n < fresh, kinds&neardup.Identical == 0 && len(identical) == n:
			with = nil
		case kinds&neardup.SameWords == 0:
			with = identical
		}
		for _, a := range with {
			p := docPair{a, b, verdict{similarity: 1, probability: 1, kind: s.equalKind(a, b)}}
			if kinds&p.kind != 0 && !yield(p) {
				return false
			}
		}
		same[text] = append(same[text], b)
	}
	return true
}

// Pairs yields all pairs of near-duplicates, each once. A was added before B. Equal documents have the
// similarity and the probability 1, and m of them make m(m−1)/2 pairs; Groups does not list them all. Which
// pairs there are, and what is reported about them, depends only on the documents. The order of the pairs is
// unspecified but always the same. If the context ends, its error comes last, with an empty Pair.
//
// Pairs compares the documents that are there when the loop begins. It takes time in proportion to the number
// of documents, and to that of the pairs that have a quarter of their features in common. In a crowd of more
// than about 8,192, such as the pages of one template, a document is compared only with those that are most
// like it; this limit does not apply to Groups.
func (d *Deduplicator[ID]) Pairs(ctx context.Context) iter.Seq2[neardup.Pair[ID], error] {
	return d.PairsSince(ctx, 0)
}

// PairsSince reports the pairs that involve a document added after the first n that were ever added: new
// documents with each other and with old ones. Old documents are not compared with each other. n counts
// documents that were replaced or deleted since, as [Entry.Sequence] does; with n ≤ 0 it is Pairs.
func (d *Deduplicator[ID]) PairsSince(ctx context.Context, n int) iter.Seq2[neardup.Pair[ID], error] {
	return func(yield func(neardup.Pair[ID], error) bool) {
		s, err := d.snapshot(n)
		if err != nil {
			yield(neardup.Pair[ID]{}, err)
			return
		}
		for p := range s.documentPairs(ctx) {
			if !yield(neardup.Pair[ID]{A: s.name(p.a), B: s.name(p.b), Similarity: p.similarity, Probability: p.probability, Kind: p.kind}, nil) {
				return
			}
		}
		if err := cmp.Or(ctx.Err(), s.files()); err != nil {
			yield(neardup.Pair[ID]{}, err)
		}
	}
}

// A stage is a part of the work, of which Progress is told. It may be used by several goroutines. It tells only
// when another percent is done.
type stage struct {
	tell  func(Progress)
	now   Progress
	mu    sync.Mutex
	said  int // how many hundredths
	steps atomic.Int64
}

// begin begins a stage.
func (s *snapshot[ID]) begin(name string, total int) *stage {
	st := &stage{tell: s.options.Progress, now: Progress{Stage: name, Total: total}}
	if st.tell != nil {
		st.tell(st.now)
	}
	return st
}

// add takes note that n more have been done.
func (s *stage) add(n int) {
	if s.tell == nil {
		return
	}
	done := min(int(s.steps.Add(int64(n))), s.now.Total)
	s.mu.Lock()
	defer s.mu.Unlock()
	if percent := done * 100 / max(s.now.Total, 1); percent > s.said {
		s.said, s.now.Done = percent, done
		s.tell(s.now)
	}
}
