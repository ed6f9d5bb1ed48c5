package dedup

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/internal/parallel"
)

// This file compares all documents once. What it finds, the edges, is kept until documents are added or deleted, so that
// Pairs, Groups, Families and Estimate, called one after the other, compare only once.

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

// between returns the edge of two contents, or nil if it is not known.
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

// kept is what was found last. It is kept until documents are added or deleted.
type kept struct {
	sync.Mutex
	order    []uint32 // of a snapshot; nil if there was none
	position []int32
	atOrder  int              // the changes of the Deduplicator at that time
	lists    *neighbour.Lists // the neighbours of all contents; nil if they are not known
	arranged arrangement      // of the lists
	atLists  int              // the changes of the Deduplicator at that time
	edges    *edges           // nil if there are none
	atEdges  int              // the changes at that time
	oldEdges uint32           // and how many documents were old
}

// inOrder returns the slots of contents by position and the other way round, of so many slots, after some changes. used returns the first.
func (k *kept) inOrder(changes int, used func() []uint32, slots int) (order []uint32, position []int32) {
	k.Lock()
	defer k.Unlock()
	if k.order == nil || k.atOrder != changes {
		order, position = used(), slices.Repeat([]int32{-1}, slots)
		for n, slot := range order {
			position[slot] = int32(n)
		}
		k.order, k.position, k.atOrder = order, position, changes
	}
	return k.order, k.position
}

// ready makes what is needed to compare. It returns false if the context ends.
func (s *snapshot[ID]) ready(ctx context.Context) bool {
	if s.judge != nil {
		return ctx.Err() == nil
	}
	s.kept.Lock()
	lists := s.kept.lists
	if s.kept.atLists != s.changes {
		lists = nil
	}
	s.arrangement = s.kept.arranged
	s.kept.Unlock()
	if lists == nil {
		s.arrangement = arrangement{}
		if !s.isSearch() {
			if lists = s.join(ctx); ctx.Err() != nil {
				return false
			}
		}
		if lists == nil {
			s.graph.Settle() // unless it is settled, there are too many to list them
		}
		if s.arrange(lists); lists != nil {
			s.kept.Lock()
			s.kept.lists, s.kept.arranged, s.kept.atLists = lists, s.arrangement, s.changes
			s.kept.Unlock()
		}
	}
	s.judge = judge.New(s.maker, s.contents, s.graph, lists, s.options.Bias, s.options.Memory)
	s.crowd = sync.OnceValue(func() *crowd { return s.crowdIn(lists) })
	return true
}

// A crowd is the contents, by position, for which [judge.Worker.IsCrowded] holds, or all.
type crowd struct {
	all bool
	of  map[int32]bool
}

// has reports whether a content is in the crowd.
func (c *crowd) has(i int32) bool { return c.all || c.of[i] }

// isEmpty reports whether nobody is in the crowd.
func (c *crowd) isEmpty() bool { return !c.all && len(c.of) == 0 }

// crowdIn returns the crowd of contents with these neighbours. Without lists, and unless neighbours are searched for, too many have too
// many neighbours.
func (s *snapshot[ID]) crowdIn(lists *neighbour.Lists) *crowd {
	c := &crowd{of: map[int32]bool{}}
	var slots []uint32
	switch {
	case lists == nil && !s.isSearch():
		c.all = true
	case lists == nil:
		for _, i := range s.reached() {
			slots = append(slots, s.order[i])
		}
	case lists.Most() > judge.MostNeighbours:
		slots = s.order
	default:
		slots = lists.Crowded()
	}
	var mu sync.Mutex
	parallel.Chunks(len(slots), func(_, from, to int) {
		w := s.judge.Worker()
		for _, slot := range slots[from:to] {
			if w.IsCrowded(slot) {
				mu.Lock()
				c.of[s.position[slot]] = true
				mu.Unlock()
			}
		}
	})
	return c
}

// reached returns the contents, ascending, that may have an edge which is of interest: those with a new document and their neighbours. The
// snapshot is ready.
func (s *snapshot[ID]) reached() []int32 {
	switch {
	case s.rank != nil: // the sequence has all that have neighbours
		return slices.Sorted(slices.Values(s.sequence))
	case !s.isSearch():
		return s.which(func(int32) bool { return true })
	}
	near := make([][]int32, (len(s.sequence)+parallel.Chunk-1)/parallel.Chunk)
	parallel.Chunks(len(s.sequence), func(number, from, to int) {
		w := s.judge.Worker()
		for _, i := range s.sequence[from:to] {
			near[number] = append(near[number], i)
			for _, n := range w.NearOfAll(s.order[i]) {
				if j := s.position[n.Slot]; j >= 0 {
					near[number] = append(near[number], j)
				}
			}
		}
	})
	all := slices.Concat(near...)
	slices.Sort(all)
	return slices.Compact(all)
}

// isSearch reports whether so few documents are new that searching for their neighbours takes less time than listing those of all.
func (s *snapshot[ID]) isSearch() bool {
	return s.oldDocs > 0 && s.graph.IsSettled() && fewSearched*(s.docs.Len()-int(s.oldDocs)) < s.docs.Len()
}

// fewSearched is how many documents there must be for each new one that is searched for. Of 100,000 English documents, groups take 0.06 s by
// searches and 0.11 s by lists if one in 100 is new, the same if one in 32 is, and 0.25 and 0.19 s if one in 16 is.
const fewSearched = 32

// join lists the neighbours of all contents, or returns nil if there are too many or if the context ends.
func (s *snapshot[ID]) join(ctx context.Context) *neighbour.Lists {
	var tell func(done, total int)
	if s.options.Progress != nil {
		tell = func(done, total int) {
			s.options.Progress(Progress{Stage: "sorting", Done: len(s.order) * done / total, Total: len(s.order)})
		}
	}
	return s.graph.Join(ctx, tell)
}

// An arrangement is the order in which contents are compared.
type arrangement struct {
	sequence []int32 // positions of contents
	rank     []int32 // and the other way round; nil if it is the order of the positions
	jobs     []job   // parts of the sequence
}

// arrange sets the order in which contents are compared: those that are connected by neighbours one after the other, so that each
// text is read once, when its connected component has its turn. Components come in the order of their first members. Contents
// without neighbours are left out.
func (s *snapshot[ID]) arrange(lists *neighbour.Lists) {
	if lists == nil {
		for i := range s.order {
			if s.isFresh(int32(i)) {
				s.sequence = append(s.sequence, int32(i))
			}
		}
		s.cut(0, false)
		return
	}
	s.rank = slices.Repeat([]int32{-1}, len(s.order))
	for _, i := range s.which(func(i int32) bool { return len(lists.Of(s.order[i])) > 0 || lists.IsDense(s.order[i]) }) {
		if s.rank[i] >= 0 {
			continue
		}
		first, isWhole := len(s.sequence), true
		s.rank[i] = int32(first)
		s.sequence = append(s.sequence, i)
		for next := first; next < len(s.sequence); next++ {
			from, slot := len(s.sequence), s.order[s.sequence[next]]
			isWhole = isWhole && !lists.IsDense(slot)
			for _, n := range lists.Of(slot) {
				if j := s.position[n.Slot]; j >= 0 && s.rank[j] < 0 {
					s.rank[j] = 0
					s.sequence = append(s.sequence, j)
				}
			}
			slices.Sort(s.sequence[from:]) // the order of slots is that of adding
			for k, j := range s.sequence[from:] {
				s.rank[j] = int32(from + k)
			}
		}
		s.cut(first, isWhole)
	}
}

// which returns the contents, ascending, for which a function that several goroutines call returns true.
func (s *snapshot[ID]) which(is func(i int32) bool) (all []int32) {
	parts := make([][]int32, (len(s.order)+parallel.Chunk-1)/parallel.Chunk)
	parallel.Chunks(len(s.order), func(number, from, to int) {
		for i := from; i < to; i++ {
			if is(int32(i)) {
				parts[number] = append(parts[number], int32(i))
			}
		}
	})
	return slices.Concat(parts...)
}

// A job is contents of the sequence that one goroutine compares. isWhole says that they are whole components.
type job struct {
	from, to int
	isWhole  bool
}

// A goroutine compares perJob contents at a time, or somewhat more if they are connected and all of them fit into a part of the memory at once.
// What is compared takes about readBytes for each byte of a text.
const (
	perJob     = 64
	mostWhole  = 256
	wholeShare = 64
	readBytes  = 16
)

// fits reports whether a part of the sequence may be one job.
func (s *snapshot[ID]) fits(part []int32) bool {
	if len(part) > mostWhole {
		return false
	}
	size := 0
	for _, i := range part {
		c := s.contents.At(s.order[i])
		size += c.Size()
	}
	return int64(size) <= s.options.Memory/wholeShare/readBytes
}

// cut makes jobs of the end of the sequence, a component if isWhole. Small ones share a job.
func (s *snapshot[ID]) cut(from int, isWhole bool) {
	end := len(s.sequence)
	isWhole = isWhole && s.fits(s.sequence[from:])
	if n := len(s.jobs); n > 0 && s.jobs[n-1].isWhole == isWhole && end-s.jobs[n-1].from <= perJob && (!isWhole || s.fits(s.sequence[s.jobs[n-1].from:])) {
		s.jobs[n-1].to = end
		return
	}
	if isWhole {
		s.jobs = append(s.jobs, job{from, end, true})
		return
	}
	for ; from < end; from += perJob {
		s.jobs = append(s.jobs, job{from, min(end, from+perJob), false})
	}
}

// rankIn returns when a content is compared, by the rank of a snapshot, which may be nil.
func rankIn(rank []int32, i int32) int32 {
	if rank == nil {
		return i
	}
	return rank[i]
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
	if s.kept.edges != nil && s.kept.atEdges == s.changes && s.kept.oldEdges == s.oldDocs {
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
	return int(s.options.Memory / edgeShare / edgeBytes)
}

// stream yields all edges as they are found, and keeps them if they are not too many. It compares on all processors.
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
			found.rank = s.rank
			found.estimate.settle(s.options)
			s.kept.Lock()
			s.kept.edges, s.kept.atEdges, s.kept.oldEdges = found, s.changes, s.oldDocs
			s.kept.Unlock()
		}
	}
}

// walk calls compare for all contents that have a new document, on all processors, and take with what it made of each job, in order,
// until take returns false. After the context has ended, what take gets may lack something.
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

// jobsAhead is how many jobs before its turn the texts of a job are announced: as many single reads of them as a disk does side by side.
const jobsAhead = 8

// announce says that the texts of a job will be read soon. They are somewhere in the file, so each may take a read of its own.
func (s *snapshot[ID]) announce(number int) {
	if number < len(s.jobs) {
		for _, i := range s.sequence[s.jobs[number].from:s.jobs[number].to] {
			s.contents.Announce(s.order[i])
		}
	}
}

// edgesOf appends the edges of a content with those before it, and with all old ones. It counts all that it compares.
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

// lookUp calls use with all near-duplicates of some contents, in their order, or with none of those that are covered when
// their turn comes. It is for groups with more edges than can be kept, or than anybody can wait for. Those in beside, which may be nil, are
// known already; of old contents, those in beside and in old are all that count.
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

// Incident edges are edges, and which of them each content has.
type incident struct {
	all  []edge
	from []uint32 // by position, where in at those of a content begin; one more at the end
	at   []uint32 // in all
}

// incidentTo returns the edges of n contents.
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

// mostOld is with how many old contents a new one in a crowd has edges: it goes to the most similar of them, and each costs a millisecond or two.
const mostOld = 16

// withOld returns the edges of new contents with old ones, as far as beside lacks them: in a crowd, those with the nearest ones. So what is
// looked up grows with what is new, not with an old crowd. It returns nil without old documents.
func (s *snapshot[ID]) withOld(ctx context.Context, beside *incident) *incident {
	if s.oldDocs == 0 {
		return nil
	}
	var all []edge
	walk(ctx, s, func(w *judge.Worker, i int32, found *[]edge) {
		if s.isOld(i) || beside != nil && !s.crowd().has(i) {
			return
		}
		slot, from, missed := s.order[i], len(*found), 0
		isCrowded := w.IsCrowded(slot)
		for n := range w.Nearest(slot) {
			j := s.position[n.Slot]
			if j < 0 || !s.isOld(j) {
				continue
			}
			v, ok := s.options.judge(w, slot, n.Slot)
			if missed++; ok {
				*found, missed = append(*found, edge{j, i, v}), 0
			}
			if isCrowded && (missed == mostMissedBySearch || len(*found)-from == mostOld) {
				break
			}
		}
	}, func(found []edge) bool {
		all = append(all, found...)
		return ctx.Err() == nil
	})
	return incidentTo(len(s.order), all)
}

// beside returns all edges of which one content at least is outside of the crowd, if there is one; others may be among them. It returns
// nil if there is none outside, if there are too many to keep them, or if the context ends. A single crowd must not make everybody else
// be looked up one by one.
func (s *snapshot[ID]) beside(ctx context.Context) *incident {
	c := s.crowd()
	if e := s.known(); e != nil && !c.all {
		return incidentTo(len(s.order), e.all)
	}
	if c.all || c.isEmpty() { // then the edges are too many
		return nil
	}
	var all []edge
	walk(ctx, s, func(w *judge.Worker, i int32, found *[]edge) {
		*found = s.besideOf(w, c, i, *found)
	}, func(found []edge) bool {
		all = append(all, found...)
		return len(all) <= s.mostEdges() && ctx.Err() == nil
	})
	if len(all) > s.mostEdges() || ctx.Err() != nil {
		return nil
	}
	return incidentTo(len(s.order), all)
}

// besideOf appends those edges of a content that beside is for, and that no other content appends. Of two contents it is the one
// outside of the crowd, or else the later one; but old ones append none.
func (s *snapshot[ID]) besideOf(w *judge.Worker, c *crowd, i int32, found []edge) []edge {
	var with []int32
	isIn := c.has(i)
	if isIn && s.oldDocs == 0 { // it has none of them
		return found
	}
	for _, n := range w.Near(s.order[i]) {
		j := s.position[n.Slot]
		switch isOld := j >= 0 && !s.isFresh(j); {
		case j < 0: // in a file that somebody has made
		case isIn && (!isOld || c.has(j)):
		case isIn || isOld || j < i || c.has(j):
			with = append(with, j)
		}
	}
	for _, j := range with {
		if v, _ := s.options.judge(w, s.order[i], s.order[j]); v.kind != 0 {
			found = append(found, edge{j, i, v})
		}
	}
	return found
}

// In a crowd, to compare each with each would take for ever: of 20,000 pages of one template there are
// 200 million pairs. So whoever groups around centres, or looks for families, compares a content with its nearest neighbours: until
// mostMissed in a row are no near-duplicates, or, for a family, with as many as show what is common. Versions of one page are all found,
// since they are all near-duplicates of the first, and pages of a template cost as much as there are pages. Pairs compares all neighbours.
const (
	mostMissed = 32 // with 16 and with 64 the clusters of all 24 collections are the same
	mostForms  = 32
)

// edgesWith returns the edges of a content with all others that count, with the other one as a, ascending.
func (s *snapshot[ID]) edgesWith(w *judge.Worker, i int32) (found []edge) {
	slot := s.order[i]
	isCrowded, missed := w.IsCrowded(slot), 0
	for n := range w.Nearest(slot) {
		v, ok := s.options.judge(w, slot, n.Slot)
		if missed++; ok && s.position[n.Slot] >= 0 {
			found, missed = append(found, edge{s.position[n.Slot], i, v}), 0
		}
		if missed == mostMissed && isCrowded {
			break
		}
	}
	slices.SortFunc(found, func(e, f edge) int { return int(e.a - f.a) })
	return found
}

// formEdges returns the edges of the kind [neardup.SameForm]. In a crowded neighbourhood, they are those with the nearest ones.
func (s *snapshot[ID]) formEdges(ctx context.Context) (forms []edge) {
	if !s.ready(ctx) {
		return nil
	}
	c := s.crowd()
	if c.isEmpty() {
		for e := range s.stream(ctx) {
			if e.kind == neardup.SameForm {
				forms = append(forms, e)
			}
		}
		return forms
	}
	beside := s.beside(ctx)
	if beside != nil {
		for _, e := range beside.all {
			if e.kind == neardup.SameForm && !(c.has(e.a) && c.has(e.b)) {
				forms = append(forms, e)
			}
		}
	}
	walk(ctx, s, func(w *judge.Worker, i int32, found *[]edge) {
		if beside == nil || c.has(i) {
			*found = s.formsOf(w, i, *found)
		}
	}, func(found []edge) bool {
		forms = append(forms, found...)
		return ctx.Err() == nil
	})
	return forms
}

// formsOf appends the edges of a content that are of the kind [neardup.SameForm].
func (s *snapshot[ID]) formsOf(w *judge.Worker, i int32, found []edge) []edge {
	slot := s.order[i]
	isCrowded, looked := w.IsCrowded(slot), 0
	for n := range w.Nearest(slot) {
		if looked++; looked > mostForms && isCrowded {
			break
		}
		if v, _ := s.options.judge(w, slot, n.Slot); v.kind == neardup.SameForm && s.position[n.Slot] >= 0 {
			found = append(found, edge{s.position[n.Slot], i, v})
		}
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
