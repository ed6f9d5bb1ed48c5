package store

import (
	"math/bits"
	"slices"
)

// This file makes runs of full tails, and merges runs so that there are few. The sizes of runs grow by
// a factor of eight, so a document is copied only a few times while the store grows. Small runs are
// merged at once. Large ones are merged by a goroutine of their own, while the store goes on with
// the old runs. Since these never change, except that documents in them die, the goroutine needs no
// lock before it puts its run in their place.

const (
	// atOnce is the most documents that are merged while an addition waits, unless the Form says otherwise.
	atOnce = 1 << 15

	// mostWaiting is the most runs that pile up behind a merge under way. Then an addition waits for it.
	mostWaiting = 64
)

// A merge is some neighbouring runs that are being merged.
type merge[ID comparable, T Finder] struct {
	runs   []*Run[ID, T]
	dead   [][]uint64    // by run, the documents that were dead at the beginning
	built  chan struct{} // closed when merged is there, or err
	merged *Run[ID, T]   // nil if no document was alive
	err    error
}

// flush makes a run of the tail, and merges runs. The caller holds the lock.
func (s *Store[ID, T]) flush() {
	st := s.state.Load()
	from := 0
	if m := s.merging; m != nil {
		if from = m.end(st); len(st.Runs)-from >= mostWaiting {
			<-m.built
			s.install(m)
			st, from = s.state.Load(), 0
		}
	}
	added := len(s.InTail)
	first, total := s.mergeFrom(st.Runs, from)
	// The last of these runs are merged at once, and become runs[last]. Then runs[first:] are merged by
	// a goroutine. If there is one at work already, they stay as they are until the next time.
	last := first
	for ; total > s.Form.AtOnce && last < len(st.Runs); last++ {
		total -= st.Runs[last].live
	}
	runs := slices.Clone(st.Runs[:last])
	if docs := s.gather(st.Runs[last:]); len(docs.IDs) > 0 {
		runs = append(runs, s.build(docs, false))
	}
	s.swap(runs, 4*max(added, LeastTail/4))
	if last > first && s.merging == nil {
		s.merge(runs[first:])
	}
}

// mergeFrom returns the first of the runs to merge, with all that are newer, and with the tail. None
// is before the run from. total is how many documents there are. It takes the newest runs as long as
// each is no larger than the size at hand, and goes on with the next size, eight times as large, if
// they are larger together. If most documents of an older run are dead, it takes all from that run
// on. It takes no run in a mapped snapshot, which only Compact and AddAll replace, and none before
// it.
func (s *Store[ID, T]) mergeFrom(runs []*Run[ID, T], from int) (first, total int) {
	total = len(s.InTail)
	first = len(runs)
	for size := 8 * max(total, LeastTail/4); ; size *= 8 {
		for first > from && runs[first-1].live <= size && runs[first-1].File == nil {
			first--
			total += runs[first].live
		}
		if total <= size || first == from || runs[first-1].File != nil {
			break
		}
	}
	for i := from; i < first; i++ {
		if r := runs[i]; r.File == nil && r.live < r.Len()/2 {
			for ; first > i; first-- {
				total += runs[first-1].live
			}
		}
	}
	return first, total
}

// merge begins to merge some runs.
func (s *Store[ID, T]) merge(runs []*Run[ID, T]) {
	m := &merge[ID, T]{runs: slices.Clone(runs), built: make(chan struct{})}
	n := 0
	for _, r := range m.runs {
		dead := make([]uint64, len(r.dead))
		for i := range dead {
			dead[i] = r.dead[i].Load()
		}
		m.dead = append(m.dead, dead)
		n += r.live
	}
	s.serial++
	serial := s.serial
	s.merging = m
	go func() {
		docs, err := m.gather(s.Form.Words, n)
		if m.err = err; err == nil && n > 0 {
			m.merged = NewRun(docs, false, &s.IDs, serial, s.Form.Build)
		}
		close(m.built)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.install(m)
	}()
}

// gather returns the documents that were alive at the beginning. No run is in a mapped file, but one
// may be in a file that was read, with ids that turn out to be none.
func (m *merge[ID, T]) gather(words, n int) (docs Documents[ID], err error) {
	docs = NewDocuments[ID](words, n)
	for i, r := range m.runs {
		for ord := range uint32(r.Len()) {
			if m.dead[i][ord/64]>>(ord%64)&1 == 0 {
				id, err := r.IDs.At(ord)
				if err != nil {
					return docs, err
				}
				docs.Add(r.Doc(ord), id, r.times[ord])
			}
		}
	}
	return docs, nil
}

// end returns the index behind the runs of the merge under way. The state has them: whoever replaces
// all runs gives up the merge.
func (m *merge[ID, T]) end(st *State[ID, T]) int {
	return slices.Index(st.Runs, m.runs[len(m.runs)-1]) + 1
}

// install puts the merged run in place of the runs, unless somebody else has done that, or the store
// has been built anew. Documents that have died since the beginning die in it too. The caller holds
// the lock, and the run has been built.
func (s *Store[ID, T]) install(m *merge[ID, T]) {
	if s.merging != m {
		return
	}
	s.merging = nil
	if m.err != nil {
		s.Fail(m.err)
		return
	}
	st := s.state.Load()
	end := m.end(st)
	begin := end - len(m.runs)
	runs := slices.Clone(st.Runs[:begin])
	if m.merged != nil {
		m.bury()
		runs = append(runs, m.merged)
	}
	s.state.Store(&State[ID, T]{Runs: append(runs, st.Runs[end:]...), Tail: st.Tail})
}

// bury marks the documents of the merged run as dead that have died since the beginning.
func (m *merge[ID, T]) bury() {
	ord := uint32(0) // of the first document of a word in the merged run
	for i, r := range m.runs {
		for w, was := range m.dead[i] {
			alive := ^was
			if left := r.Len() - 64*w; left < 64 {
				alive &= 1<<left - 1
			}
			for died := alive & r.dead[w].Load(); died != 0; died &= died - 1 {
				before := alive & (died&-died - 1)
				m.merged.kill(ord + uint32(bits.OnesCount64(before)))
			}
			ord += uint32(bits.OnesCount64(alive))
		}
	}
}

// Settle waits until no runs are being merged. Tests and benchmarks use it.
func (s *Store[ID, T]) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.merging; m != nil {
		<-m.built
		s.install(m)
	}
}
