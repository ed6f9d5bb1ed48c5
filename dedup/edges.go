package dedup

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/internal/parallel"
)

// This file compares all documents once, in the order of snapshot.go. What it finds, the edges, is kept until
// documents are added or deleted, so that Pairs, Groups, Families and Estimate, called one after the other,
// compare only once. Where edges are too many to keep, crowd.go looks up those that are needed.
//
// Edges are kept with all kinds, also those that do not count: Families wants SameForm, and which kinds count
// is decided where edges are used.

// An edge is two contents, by position, that are similar or probable enough. Whether it counts depends on its kind.
type edge struct {
	a, b int32 // a < b, or b is new and a is old
	verdict
}

// The edges of a snapshot, and what is to be expected of them.
type edges struct {
	all      []edge  // ascending by the rank of b, and then by a
	rank     []int32 // of the snapshot that found them
	estimate Estimate
}

// between returns the edge of two contents, or nil if it is not known. Which of the two is b depends on
// which was compared first, so it tries both ways. The ranks are those of the snapshot that found the edges:
// this one may have others.
func (s *snapshot[ID]) between(e *edges, i, j int32) *edge {
	if e == nil {
		return nil
	}
	for _, with := range [2][2]int32{{i, j}, {j, i}} {
		at, ok := slices.BinarySearchFunc(e.all, with, func(of edge, with [2]int32) int {
			return cmp.Or(cmp.Compare(rankIn(e.rank, of.b), rankIn(e.rank, with[1])), cmp.Compare(of.a, with[0]))
		})
		if ok {
			return &e.all[at]
		}
	}
	return nil
}

// known returns the edges if they have been found already, by any snapshot of the same documents
// with the same old ones.
func (s *snapshot[ID]) known() *edges {
	s.kept.Lock()
	defer s.kept.Unlock()
	if s.kept.edges != nil && s.kept.atEdges == s.changes && s.kept.oldEdges == s.oldDocs {
		return s.kept.edges
	}
	return nil
}

// edges returns all edges, or nil if there are too many to keep them, or if the context ends. It stops
// comparing as soon as there are too many. What it has found by then is lost.
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
	return int(s.options.Memory / edgeShare / edgeBytes)
}

// stream yields all edges as they are found, and keeps them if they are not too many. It compares on all
// processors. If the caller stops early, nothing is kept. After the context has ended, or with a damaged file,
// edges may be missing: the caller asks for these errors, and nothing is kept either.
func (s *snapshot[ID]) stream(ctx context.Context) iter.Seq[edge] {
	if e := s.known(); e != nil {
		return slices.Values(e.all)
	}
	type result struct {
		edges    []edge
		compared Estimate
	}
	return func(yield func(edge) bool) {
		found, most, whole := &edges{}, s.mostEdges(), true
		walk(ctx, s, func(w *judge.Worker, i int32, r *result) {
			r.edges = s.edgesOf(w, i, &r.compared, r.edges)
		}, func(r result) bool {
			found.estimate.add(&r.compared)
			if whole = whole && len(found.all)+len(r.edges) <= most; whole {
				found.all = append(found.all, r.edges...)
			} else {
				found.all = nil // from here on edges are only passed on
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
			found.rank = s.rank
			found.estimate.settle(s.options)
			s.kept.Lock()
			s.kept.edges, s.kept.atEdges, s.kept.oldEdges = found, s.changes, s.oldDocs
			s.kept.Unlock()
		}
	}
}

// walk calls compare for all contents that have a new document, on all processors, and take with what it made
// of each job, in order, until take returns false. So results come in the order of the sequence, whatever the
// number of processors. After the context has ended, what take gets may lack something.
func walk[ID comparable, R any](ctx context.Context, s *snapshot[ID], compare func(w *judge.Worker, i int32, r *R), take func(r R) bool) {
	if !s.ready(ctx) {
		return
	}
	comparing := s.begin("comparing", len(s.sequence))
	parallel.InOrder(len(s.jobs), s.judge.Worker, func(w *judge.Worker, number int, emit func(R) bool) {
		s.announce(number + jobsAhead)
		j := s.jobs[number]
		if j.isWhole {
			w.Begin()
			defer w.End()
		}
		var r R
		for _, i := range s.sequence[j.from:j.to] {
			if ctx.Err() != nil {
				break
			}
			if s.isFresh(i) {
				compare(w, i, &r)
			}
			comparing.add(1)
		}
		emit(r)
	}, take)
}

// jobsAhead is how many jobs before its turn the texts of a job are announced: as many single reads of them as
// a disk does side by side.
const jobsAhead = 8

// announce says that the texts of a job will be read soon. They are somewhere in the file, so each may
// take a read of its own.
func (s *snapshot[ID]) announce(number int) {
	if number < len(s.jobs) {
		for _, i := range s.sequence[s.jobs[number].from:s.jobs[number].to] {
			s.contents.Announce(s.order[i])
		}
	}
}

// edgesOf appends the edges of a content with those before it, and with all old ones. It counts all that it
// compares, also what is no edge, since an estimate needs both.
func (s *snapshot[ID]) edgesOf(w *judge.Worker, i int32, compared *Estimate, found []edge) []edge {
	for _, j := range s.nearer(w, i) {
		score := w.Score(s.order[i], s.order[j])
		e := edge{j, i, verdict{similarity: score.Similarity, probability: score.Probability}}
		if s.options.isAlike(e.similarity, e.probability) {
			e.kind = w.Kind(s.order[i], s.order[j], score)
			found = append(found, e)
		}
		compared.count(&e, score.IsTemplate, s.options.Kinds, s.options.Bias)
	}
	return found
}

// Incident edges are edges, and which of them each content has.
type incident struct {
	all  []edge
	from []uint32 // by position, where in at those of a content begin; one more at the end
	at   []uint32 // in all
}

// incidentTo returns the edges of n contents. It takes 8 bytes for each edge besides the edge itself, in two
// lists that are filled by counting, and not a slice for each content.
func incidentTo(n int, all []edge) *incident {
	x := &incident{all, make([]uint32, n+1), make([]uint32, 2*len(all))}
	for _, e := range all {
		x.from[e.a]++
		x.from[e.b]++
	}
	end := uint32(0)
	for i, count := range x.from {
		end += count
		x.from[i] = end
	}
	for k, e := range all {
		for _, i := range [2]int32{e.a, e.b} {
			x.from[i]--
			x.at[x.from[i]] = uint32(k)
		}
	}
	return x
}

// of returns the edges of a content, with the other one as a.
func (x *incident) of(i int32) (found []edge) {
	for _, k := range x.at[x.from[i]:x.from[i+1]] {
		e := x.all[k]
		if e.a == i {
			e.a, e.b = e.b, e.a
		}
		found = append(found, e)
	}
	return found
}

// A scored pair is two contents by position, and what is said of them.
type scored struct {
	a, b int32
	judge.Score
	kind neardup.Kind // 0 unless they are similar or probable enough
}

// scores yields all pairs of different contents that are compared, each once. The order is always the same.
// There may be many more than edges, so they are not kept, and each call compares again.
func (s *snapshot[ID]) scores(ctx context.Context) func(yield func(scored) bool) {
	return func(yield func(scored) bool) {
		walk(ctx, s, func(w *judge.Worker, i int32, found *[]scored) {
			slot := s.order[i]
			for _, j := range s.nearer(w, i) {
				p := scored{a: j, b: i, Score: w.Score(slot, s.order[j])}
				if s.options.isAlike(p.Similarity, p.Probability) {
					p.kind = w.Kind(slot, s.order[j], p.Score)
				}
				*found = append(*found, p)
			}
		}, func(found []scored) bool {
			for _, p := range found {
				if ctx.Err() != nil || !yield(p) {
					return false
				}
			}
			return true
		})
	}
}

// A verdict is what is said of a pair.
type verdict struct {
	similarity, probability float64
	kind                    neardup.Kind
}

// judge returns the verdict on two neighbours, and whether they are near-duplicates. The kind may need the
// forms of both neighbourhoods, so it is found out only for two that are alike, and 0 for others.
func (o *Options) judge(w *judge.Worker, a, b uint32) (v verdict, ok bool) {
	s := w.Score(a, b)
	if v = (verdict{similarity: s.Similarity, probability: s.Probability}); o.isAlike(v.similarity, v.probability) {
		v.kind = w.Kind(a, b, s)
	}
	return v, v.kind&o.Kinds != 0
}

// isAlike reports whether a pair is similar enough, or probable enough.
func (o *Options) isAlike(similarity, probability float64) bool {
	if o.Similarity > 0 {
		return similarity >= o.Similarity
	}
	return probability >= o.Probability
}

// nearer returns the neighbours with which the content at a position is compared: those that come before it,
// and old ones, which are not compared themselves. They ascend.
func (s *snapshot[ID]) nearer(w *judge.Worker, i int32) (at []int32) {
	for _, n := range w.Near(s.order[i]) {
		if j := s.position[n.Slot]; j >= 0 && (j < i || !s.isFresh(j)) {
			at = append(at, j)
		}
	}
	slices.Sort(at)
	return at
}

// isFresh reports whether a content has a new document.
func (s *snapshot[ID]) isFresh(i int32) bool { return s.chain(int(i)).last >= s.oldDocs }

// oldOf returns how many of docs, ascending, are old.
func (s *snapshot[ID]) oldOf(docs []uint32) int {
	n, _ := slices.BinarySearch(docs, s.oldDocs)
	return n
}

// lookUp calls use with all near-duplicates of some contents, in their order, or with none of those that are covered
// when their turn comes. It is for groups with more edges than can be kept, or than anybody can wait for. Those in
// beside, which may be nil, are known already; for old contents, those in beside and in old are all that count.
//
// Contents whose edges are known come at once, on the goroutine of the caller. From the first other one on,
// goroutines look edges up ahead of the one that use is at. One that use is about to cover may be looked up in
// vain; that costs time and changes nothing.
func (s *snapshot[ID]) lookUp(ctx context.Context, contents []int32, beside, old *incident, covered func(i int32) bool, use func(i int32, found []edge)) {
	isKnown := func(i int32) bool { return beside != nil && !s.crowd().has(i) || s.isOld(i) }
	known := func(i int32) (found []edge) {
		if beside != nil {
			found = beside.of(i)
		}
		if s.isOld(i) {
			found = append(found, old.of(i)...)
		}
		return found
	}
	perLook, next := 16, 0 // few, since members of a group are looked up as long as its centre is not known
	if !s.crowd().isEmpty() {
		perLook = 1
	}
	for next < len(contents) && isKnown(contents[next]) {
		use(contents[next], known(contents[next]))
		next++
	}
	contents = contents[next:]
	next = 0
	parallel.InOrder((len(contents)+perLook-1)/perLook, s.judge.Worker, func(w *judge.Worker, job int, emit func([][]edge) bool) {
		part := contents[job*perLook : min(len(contents), (job+1)*perLook)]
		found := make([][]edge, len(part))
		for k, i := range part {
			switch {
			case isKnown(i):
				found[k] = known(i)
			case !covered(i) && ctx.Err() == nil:
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
