package passages

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// This file says how much of a document occurs in others, and in which.
//
// Passages come one by one, with places in many documents. For Coverage the same places are needed by document, so
// each passage adds records for pairs of a document and a source, and these are sorted by document. A passage with
// n places would have n² pairs. Therefore each document gets mostSources of them at most. What is shared is still
// counted in full, since every document of a passage has at least one source.

// A Coverage says how much of a document occurs in others. Shared is exact.
type Coverage[ID any] struct {
	ID     ID
	Number int // how many documents were added before it
	Tokens int // how many words or characters it has
	Shared int // and how many of them are in a passage that occurs in another document

	// Sources are the documents in which these tokens occur, without Runs. The first has most of them, the next
	// most of the rest, and so on; ties go to the document added first. Here Shared and Tokens of a Match are
	// of this document. If a passage occurs in more than 16 other documents, or 16 times in the source, only
	// the first 16 count, so there may be more in common.
	Sources []Match[ID]
}

// Coverage yields the documents that share a passage with another one, in the order of adding. It takes the
// time of Passages, plus the time for up to 16 sources of each place. The error comes last.
func (f *Finder[ID]) Coverage(ctx context.Context) iter.Seq2[Coverage[ID], error] {
	return f.CoverageSince(ctx, 0)
}

// CoverageSince is Coverage of the documents after the first n.
func (f *Finder[ID]) CoverageSince(ctx context.Context, n int) iter.Seq2[Coverage[ID], error] {
	return func(yield func(Coverage[ID], error) bool) {
		for p, err := range f.partners(ctx, n) {
			if err != nil {
				yield(Coverage[ID]{}, err)
				return
			}
			if !yield(p.coverage(), nil) {
				return
			}
		}
	}
}

// Contained yields all pairs of documents in which at least this share of one occurs in the other, in both
// directions if that is true of both. Each result is a Coverage whose only source is the other document, with the
// limits described there. The error comes last; it is also an error if the share is not above 0 and at most 1.
func (f *Finder[ID]) Contained(ctx context.Context, share float64) iter.Seq2[Coverage[ID], error] {
	return func(yield func(Coverage[ID], error) bool) {
		if !(share > 0 && share <= 1) {
			yield(Coverage[ID]{}, fmt.Errorf("passages: a share of %v: must be above 0 and at most 1", share))
			return
		}
		for p, err := range f.partners(ctx, 0) {
			if err != nil {
				yield(Coverage[ID]{}, err)
				return
			}
			for i := range p.of {
				if s := p.source(i); float64(s.Shared) >= share*float64(p.tokens) && !yield(Coverage[ID]{p.ids[p.doc], p.doc, p.tokens, s.Shared, []Match[ID]{s}}, nil) {
					return
				}
			}
		}
	}
}

// A partnership is a document and those that share passages with it. It has all that is known of one document, and
// is the only one in memory.
type partnership[ID any] struct {
	*snapshot[ID]
	doc, tokens int
	of          []partner // by document
}

// A partner is a document with passages of another one.
type partner struct {
	doc      int
	in, from spans // the tokens of the document that are in the partner, and those of the partner
}

// source describes a partner.
func (p *partnership[ID]) source(i int) Match[ID] {
	x := &p.of[i]
	return Match[ID]{ID: p.ids[x.doc], Number: x.doc, Shared: x.in.size(), Tokens: p.tokens, DocumentShared: x.from.size(), DocumentTokens: p.length(x.doc)}
}

// length returns the number of tokens of a document.
func (s *snapshot[ID]) length(doc int) int { return int(s.docs[doc+1].tokens - s.docs[doc].tokens) }

// coverage chooses sources, each time the one that adds most. What a source adds can only become less, so it is
// counted again only when it is first in the queue. If it is still first then, no other one can add more.
func (p *partnership[ID]) coverage() Coverage[ID] {
	c := Coverage[ID]{ID: p.ids[p.doc], Number: p.doc, Tokens: p.tokens}
	covered := make([]bool, p.tokens)
	var queue candidates
	for i := range p.of {
		queue = append(queue, candidate{i, p.of[i].in.size()})
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		best := queue[0]
		more := p.of[best.of].in.uncovered(covered)
		switch {
		case more == 0:
			heap.Pop(&queue)
		case more < best.more:
			queue[0].more = more
			heap.Fix(&queue, 0)
		default:
			heap.Pop(&queue)
			s := p.source(best.of)
			s.More = more
			c.Sources = append(c.Sources, s)
			c.Shared += more
			for _, x := range p.of[best.of].in {
				for i := x.from; i < x.to; i++ {
					covered[i] = true
				}
			}
		}
	}
	return c
}

// A candidate is a partner, and how many tokens it adds at most.
type candidate struct{ of, more int }

// candidates are a heap: the one that adds most is first, and of equal ones the one that was added first, so
// that the choice does not depend on how the heap happens to be arranged.
type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c candidates) Less(i, j int) bool {
	return c[i].more > c[j].more || c[i].more == c[j].more && c[i].of < c[j].of
}
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	n := len(*c) - 1
	x := (*c)[n]
	*c = (*c)[:n]
	return x
}

// partners yields the documents after the first n that share passages with others, in their order. All passages
// are read before the first document is yielded. If the context ends, documents yielded so far are complete.
func (f *Finder[ID]) partners(ctx context.Context, n int) iter.Seq2[*partnership[ID], error] {
	return func(yield func(*partnership[ID], error) bool) {
		s, found, err := f.join(ctx, n)
		if err != nil {
			yield(nil, err)
			return
		}
		shared := newSorter[[4]uint64](s.Memory / 4)
		for places := range s.places(found) {
			if err = s.addPartners(shared, places, n); err != nil || ctx.Err() != nil {
				break
			}
		}
		for group := range shared.allGroups {
			if err != nil || ctx.Err() != nil {
				break
			}
			if !yield(s.partnership(group), nil) {
				return
			}
		}
		if err := cmp.Or(err, errOf(ctx, found.file, shared.file)); err != nil {
			yield(nil, err)
		}
	}
}

// docShift is by how much the number of a document is shifted to the left to become a key, so that sorters, which
// divide by the upper bits, spread the documents over all parts.
func (s *snapshot[ID]) docShift() int { return 64 - max(bits.Len(uint(len(s.ids))), 1) }

// addPartners adds, for each document after the first n of a passage and each of its sources, records of the
// places in both: the document, the source, and the first token and the number of tokens. The highest bit of
// the last number says that the place is in the source.
//
// Old documents get no records of their own, but may be sources. The first documents of a passage are the sources
// of all others: that keeps the work in proportion to the places, and the choice independent of what comes later.
func (s *snapshot[ID]) addPartners(to *sorter[[4]uint64], places []place, n int) error {
	var sources [][]place // one more than mostSources, since a document is not a source of itself
	var err error
	add := func(doc, source int, p place, isSource uint64) {
		r := [4]uint64{uint64(doc) << s.docShift(), uint64(source), uint64(p.first), uint64(p.tokens) | isSource<<63}
		err = cmp.Or(err, to.add(r))
	}
	for of := range byDocument(places) {
		if sources = append(sources, of); len(sources) > mostSources {
			break
		}
	}
	for of := range byDocument(places) {
		doc, left := of[0].doc, mostSources
		for _, source := range sources {
			if source[0].doc == doc || left == 0 || doc < n {
				continue
			}
			left--
			for _, p := range of {
				add(doc, source[0].doc, p, 0)
			}
			for _, p := range source[:min(len(source), mostSources)] {
				add(doc, source[0].doc, p, 1)
			}
		}
	}
	return err
}

// byDocument yields the places of each document.
func byDocument(places []place) iter.Seq[[]place] {
	return func(yield func([]place) bool) {
		for len(places) > 0 {
			n := 1
			for n < len(places) && places[n].doc == places[0].doc {
				n++
			}
			if !yield(places[:n]) {
				return
			}
			places = places[n:]
		}
	}
}

// partnership makes the partnership of a document from its records. The spans of a partner may
// overlap, as passages do.
func (s *snapshot[ID]) partnership(records [][4]uint64) *partnership[ID] {
	doc := int(records[0][0] >> s.docShift())
	p := &partnership[ID]{snapshot: s, doc: doc, tokens: s.length(doc)}
	slices.SortStableFunc(records, func(a, b [4]uint64) int { return cmp.Compare(a[1], b[1]) })
	for _, r := range records {
		if n := len(p.of); n == 0 || p.of[n-1].doc != int(r[1]) {
			p.of = append(p.of, partner{doc: int(r[1])})
		}
		x, tokens := &p.of[len(p.of)-1], int(r[3]<<1>>1)
		at := span{int(r[2]), int(r[2]) + tokens}
		if r[3]>>63 == 0 {
			x.in = append(x.in, at)
		} else {
			x.from = append(x.from, at)
		}
	}
	return p
}
