package dedup

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/internal/parallel"
)

// This file compares all documents once. What it finds, the edges, is kept until documents are added or deleted, so that
// Pairs, Groups, Families and Threshold, called one after the other, compare only once.

// An edge is two contents, by position, that are similar or probable enough. Whether it counts depends on its kind.
type edge struct {
	a, b                    int32 // a < b, or b is new and a is old
	similarity, probability float64
	kind                    neardup.Kind
}

// The edges of a snapshot, and what is to be expected of them.
type edges struct {
	all       []edge // ascending by b and then by a
	threshold Threshold
}

// between returns the edge of two contents, or nil if it is not known.
func (e *edges) between(i, j int32) *edge {
	if e == nil {
		return nil
	}
	for _, with := range [2][2]int32{{i, j}, {j, i}} {
		at, ok := slices.BinarySearchFunc(e.all, with, func(e edge, with [2]int32) int { return cmp.Or(cmp.Compare(e.b, with[1]), cmp.Compare(e.a, with[0])) })
		if ok {
			return &e.all[at]
		}
	}
	return nil
}

// kept are the edges that were found last.
type kept struct {
	sync.Mutex
	edges   *edges // nil if there are none
	changes int    // those of the Deduplicator at that time
	old     int    // and how many documents were old
}

// edgeShare is by which part of the memory edges are kept. With more of them, each method compares for itself.
const (
	edgeShare = 16
	edgeBytes = 32
)

// known returns the edges if they have been found already.
func (s *snapshot[ID]) known() *edges {
	s.kept.Lock()
	defer s.kept.Unlock()
	if s.kept.edges != nil && s.kept.changes == s.changes && s.kept.old == s.oldDocs {
		return s.kept.edges
	}
	return nil
}

// edges returns all edges, or nil if there are too many to keep them, or if the context ends.
func (s *snapshot[ID]) edges(ctx context.Context) *edges {
	if e := s.known(); e != nil {
		return e
	}
	n := 0
	for range s.stream(ctx) {
		if n++; n > s.mostEdges() {
			return nil
		}
	}
	return s.known()
}

// mostEdges is how many edges are kept at most.
func (s *snapshot[ID]) mostEdges() int {
	memory := s.options.Memory
	if memory == 0 {
		memory = 1 << 30
	}
	return int(memory / edgeShare / edgeBytes)
}

// stream yields all edges as they are found, and keeps them if they are not too many. It compares on all processors.
func (s *snapshot[ID]) stream(ctx context.Context) iter.Seq[edge] {
	if e := s.known(); e != nil {
		return slices.Values(e.all)
	}
	var fresh []int32
	for i := range s.contents {
		if s.isFresh(i) {
			fresh = append(fresh, int32(i))
		}
	}
	type result struct {
		edges []edge
		Threshold
	}
	return func(yield func(edge) bool) {
		comparing := s.begin("comparing", len(fresh))
		found, most, whole := &edges{threshold: s.emptyThreshold()}, s.mostEdges(), true
		parallel.InOrder((len(fresh)+perJob-1)/perJob, s.judge.Worker, func(w *judge.Worker, job int, emit func(result) bool) {
			var r result
			for _, i := range fresh[job*perJob : min(len(fresh), (job+1)*perJob)] {
				if ctx.Err() != nil {
					return
				}
				r.edges = s.edgesOf(w, i, &r.Threshold, r.edges)
				comparing.add(1)
			}
			emit(r)
		}, func(r result) bool {
			found.threshold.add(&r.Threshold)
			if whole = whole && len(found.all)+len(r.edges) <= most; whole {
				found.all = append(found.all, r.edges...)
			} else {
				found.all = nil
			}
			for _, e := range r.edges {
				if ctx.Err() != nil || !yield(e) {
					whole = false
					return false
				}
			}
			return true
		})
		if whole && ctx.Err() == nil && s.files() == nil {
			s.kept.Lock()
			s.kept.edges, s.kept.changes, s.kept.old = found, s.changes, s.oldDocs
			s.kept.Unlock()
		}
	}
}

// perJob is how many contents one goroutine compares at a time.
const perJob = 64

// edgesOf appends the edges of a content with those before it, and with all old ones. It counts all that it compares.
func (s *snapshot[ID]) edgesOf(w *judge.Worker, i int32, count *Threshold, found []edge) []edge {
	for _, j := range s.nearer(w, int(i)) {
		score := w.Score(s.contents[i].slot, s.contents[j].slot)
		e := edge{a: j, b: i, similarity: score.Similarity, probability: score.Probability}
		if s.options.isAlike(e.similarity, e.probability) {
			e.kind = w.Kind(s.contents[i].slot, s.contents[j].slot, score)
			found = append(found, e)
		}
		count.count(&e, score.IsTemplate, s.options.Kinds)
	}
	return found
}

// lookUp calls use with all near-duplicates of some contents, in their order, or with none of those that are covered when
// their turn comes. It is for groups with more edges than can be kept.
func (s *snapshot[ID]) lookUp(ctx context.Context, contents []int, covered func(i int) bool, use func(i int, found []edge)) {
	const perLook = 16 // so that few members of a group are looked up before its centre is known
	next := 0
	parallel.InOrder((len(contents)+perLook-1)/perLook, s.judge.Worker, func(w *judge.Worker, job int, emit func([][]edge) bool) {
		part := contents[job*perLook : min(len(contents), (job+1)*perLook)]
		found := make([][]edge, len(part))
		for k, i := range part {
			if !covered(i) && ctx.Err() == nil {
				found[k] = s.edgesWith(w, i)
			}
		}
		emit(found)
	}, func(found [][]edge) bool {
		for _, f := range found {
			use(contents[next], f)
			next++
		}
		return true
	})
}

// edgesWith returns the edges of a content with all others that count, with the other one as a, ascending.
func (s *snapshot[ID]) edgesWith(w *judge.Worker, i int) (found []edge) {
	if !s.mayHave(s.contents[i].slot) {
		return nil
	}
	slot := s.contents[i].slot
	for _, n := range slices.Clone(w.Near(slot)) {
		if v, ok := s.options.judge(w, slot, n.Slot); ok {
			found = append(found, edge{a: s.position[n.Slot], b: int32(i), similarity: v.similarity, probability: v.probability, kind: v.kind})
		}
	}
	slices.SortFunc(found, func(e, f edge) int { return int(e.a - f.a) })
	return found
}
