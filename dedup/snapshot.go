package dedup

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/slots"
)

// This file takes a snapshot of the documents. All methods that look at the whole collection work on one, so
// nobody waits for them, and what is added meanwhile does not change what they find. What one snapshot finds is
// kept for the next one, until a document is added or deleted.
//
// Contents are compared in the order of neighbours: those that are connected by neighbours follow each other in
// one job, so that each text is read once. If few documents are new and many are old, the neighbours of the new
// ones are searched for instead of listing those of all.
//
// What is kept has the number of changes at which it was found. Two snapshots with the same number have the
// same documents and the same positions, so the number is all that has to be compared.

// A snapshot is all documents at one time. A document is known by its slot, so documents are in the order of adding.
// A content is known by its position in the order of what is compared, so that nothing depends on the order of
// adding. Old documents are those that [Deduplicator.PairsSince] or [GroupOptions] does not compare with each other.
type snapshot[ID comparable] struct {
	options  *Options
	maker    *content.Maker
	docs     slots.Column[storedDocument]
	names    names[ID]
	oldDocs  uint32              // documents in slots below are old
	oneOld   bool                // of several old documents of one content, only the first is of interest
	chains   slots.Column[chain] // by the slot of a content
	contents *content.Contents
	order    []uint32 // the slots of contents by position
	position []int32  // and the other way round; -1 for contents without features
	graph    *neighbour.Graph
	changes  int
	failed   func() error // the error of the files of the Deduplicator
	kept     *kept        // of the Deduplicator

	judge   *judge.Judge   // nil before it is ready
	crowd   func() *crowd  // the contents with too many neighbours to compare all; asked once, since it takes searches
	reached func() []int32 // see reach; asked once too
	arrangement
}

// snapshot takes a snapshot. Documents with a number below old are old in it. It holds the lock only while it
// copies some pointers; sorting the contents comes after that. The error is that of the files.
func (d *Deduplicator[ID]) snapshot(old int) (*snapshot[ID], error) {
	if err := d.lock(); err != nil { // pieces are shared from now on, so nobody may be changing them
		return nil, err
	}
	if old > 0 && d.graph.IsNearlySettled() { // so few new documents are searched for
		d.graph.Settle()
		d.tidy()
	}
	contents := d.contents.Snapshot()
	s := &snapshot[ID]{
		options: &d.options, maker: d.maker, docs: d.docs.Snapshot(), names: d.names.snapshot(), chains: d.chains.Snapshot(),
		contents: contents, graph: d.graph.Snapshot(contents), changes: d.changes, kept: &d.kept, failed: d.damage,
	}
	d.mu.Unlock()
	n := sort.Search(s.docs.Len(), func(i int) bool { return s.docs.At(uint32(i)).number >= int64(old) })
	s.oldDocs = uint32(n)
	s.order, s.position = d.kept.inOrder(s.changes, func() []uint32 { return contents.Used(d.maker) }, contents.Len())
	return s, nil
}

// files returns the error of the files that have texts and what is known of them. What cannot be read counts as
// empty while a snapshot works, so whoever returns a result asks here first.
func (s *snapshot[ID]) files() error {
	return cmp.Or(s.failed(), s.contents.File().Err(), s.graph.Err())
}

// name returns the id of a document.
func (s *snapshot[ID]) name(at uint32) ID { return s.names.at(at) }

// document describes a document.
func (s *snapshot[ID]) document(at uint32) Entry[ID] {
	return describe(&s.docs, &s.names, at)
}

// chain returns the first and the last document of a content.
func (s *snapshot[ID]) chain(i int) chain { return *s.chains.At(s.order[i]) }

// of returns the documents of a content, ascending. They are in buf, which grows.
func (s *snapshot[ID]) of(i int, buf []uint32) []uint32 {
	buf = buf[:0]
	for at := range documentsFrom(&s.docs, s.chain(i).first) {
		if s.oneOld && len(buf) > 0 && at < s.oldDocs {
			continue
		}
		buf = append(buf, at)
	}
	return buf
}

// contentOf returns the position of the content of a document, or -1.
func (s *snapshot[ID]) contentOf(at uint32) int32 {
	c := s.docs.At(at).content
	if c == gone {
		return -1
	}
	return s.position[c]
}

// kept is what was found last. It is kept until documents are added or deleted. Its lock protects the fields,
// and is not held while something is found, except for the order: two methods that begin at the same time may
// both list the neighbours, and the later one wins. What the fields refer to does not change.
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

// inOrder returns the slots of contents by position, and the positions by slot, at a number of changes. It keeps
// both, and calls used, which sorts the contents, only if the documents have changed. slots is the number of slots.
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

// documentsFrom yields a document and the next ones of its content, ascending. A damaged part of a file is read
// as zeros, which would make the list a circle. So it ends where they do not ascend.
func documentsFrom(docs *slots.Column[storedDocument], first uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for at := first; at != gone && yield(at); {
			next := docs.At(at).next
			if next <= at {
				return
			}
			at = next
		}
	}
}

// documentsOf yields the slots of the documents of a content, in the order of adding. The caller holds the
// lock, for reading at least.
func (d *Deduplicator[ID]) documentsOf(slot uint32) iter.Seq[uint32] {
	return documentsFrom(&d.docs, d.chains.At(slot).first)
}

// settle locks for reading, with a graph that is settled, which only the lock for writing allows to change.
// Somebody may add documents between the two locks, hence the loop. The caller unlocks, unless there is an error.
func (d *Deduplicator[ID]) settle() error {
	for {
		if err := d.rlock(); err != nil {
			return err
		}
		if d.graph.IsSettled() {
			return nil
		}
		d.mu.RUnlock()
		if err := d.lock(); err != nil {
			return err
		}
		d.graph.Settle()
		d.tidy()
		d.mu.Unlock()
	}
}

// ready makes what is needed to compare: the lists of neighbours, the order, and the judge. It returns false if the
// context ends. Nothing of this is needed if the edges are known already, so callers ask for it as late as they can.
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
			s.graph.Settle() // for searches: unless it is settled already, there are too many neighbours to list
		}
		if s.arrange(lists); lists != nil {
			s.kept.Lock()
			s.kept.lists, s.kept.arranged, s.kept.atLists = lists, s.arrangement, s.changes
			s.kept.Unlock()
		}
	}
	s.judge = judge.New(s.maker, s.contents, s.graph, lists, s.options.Bias, s.options.Memory)
	s.crowd = sync.OnceValue(func() *crowd { return s.crowdIn(lists) })
	s.reached = sync.OnceValue(s.reach)
	return true
}

// isSearch reports whether so few documents are new that searching for their neighbours takes less time
// than listing those of all.
func (s *snapshot[ID]) isSearch() bool {
	return s.oldDocs > 0 && s.graph.IsSettled() && fewSearched*(s.docs.Len()-int(s.oldDocs)) < s.docs.Len()
}

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

// reach returns the contents, ascending, that may have an edge which is of interest: those with a new document
// and their neighbours. Groups need to look at no others. The snapshot is ready.
func (s *snapshot[ID]) reach() []int32 {
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

// An arrangement is the order in which contents are compared.
type arrangement struct {
	sequence []int32 // positions of contents
	rank     []int32 // and the other way round; nil if it is the order of the positions
	jobs     []job   // parts of the sequence
}

// arrange sets the order in which contents are compared: those that are connected by neighbours one after the
// other, so that each text is read once, when its connected component has its turn. Components come in the
// order of their first members. Contents without neighbours are left out.
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
			slices.Sort(s.sequence[from:]) // neighbours come by slot, and slots depend on the order of adding
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

// A job is contents of the sequence that one goroutine compares. isWhole says that they are whole components:
// then nobody else needs their texts, and the worker keeps them in memory of its own instead of the caches.
type job struct {
	from, to int
	isWhole  bool
}

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

// cut makes jobs of the end of the sequence, a component if isWhole. Most components are a few contents, so
// small ones share a job. One that is too large for a job is cut into several, which then use the caches.
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

// crowdIn returns the crowd of contents with these neighbours. Without lists, and unless few documents are new,
// all contents count as the crowd: there were too many neighbours to list them. If no list is long, only
// contents in dense or large buckets can be crowded, and only these are asked about.
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
