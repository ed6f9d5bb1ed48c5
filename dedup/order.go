package dedup

import (
	"context"
	"slices"
	"sync"

	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/internal/parallel"
)

// This file decides in which order contents are compared, and by whom: those that are connected by neighbours follow each other in one job, so
// that each text is read once. Of a few new documents among many old ones, the neighbours are searched for instead of listed.

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
