package store

import (
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/format"
)

// A noFinder finds nothing. Its store is for tests of what does not depend on searches.
type noFinder struct{}

func (noFinder) Bytes() int                           { return 0 }
func (noFinder) Write(*format.Writer)                 {}
func (noFinder) Columns() (c FinderColumns[[][]byte]) { return c }
func (noFinder) Attach(Column, *Mapping, FinderColumns[[]byte]) error {
	return nil
}

// slowStore returns a store that merges everything in the background, and a channel that each build of
// at least so many documents takes from before it ends.
func slowStore(slow int) (s *Store[int, noFinder], gate chan struct{}) {
	s, gate = new(Store[int, noFinder]), make(chan struct{})
	Init(s, Form[noFinder]{
		Kind: "test", Words: 1, TailSize: func(int) int { return 4 },
		Build: func(docs Column) noFinder {
			if len(docs.Docs) >= slow {
				<-gate
			}
			return noFinder{}
		},
	})
	s.Form.AtOnce = 8
	return s, gate
}

func addInt(t *testing.T, s *Store[int, noFinder], id int) {
	t.Helper()
	s.Lock()
	defer s.Unlock()
	if err := s.Add(id, []uint64{uint64(id)}); err != nil {
		t.Fatal(err)
	}
}

// addUntilMerge adds 0, 1, 2 and so on until at least so many documents are being merged, and returns how
// many it has added, and the merge.
func addUntilMerge(t *testing.T, s *Store[int, noFinder], least int) (n int, m *merge[int, noFinder]) {
	t.Helper()
	for ; n < 100_000; n++ {
		addInt(t, s, n)
		s.Lock()
		m = s.merging
		s.Unlock()
		if size := 0; m != nil {
			for _, r := range m.runs {
				size += r.Len()
			}
			if size >= least {
				return n + 1, m
			}
		}
		if n < least/2 { // so that merges before are done, whatever the goroutines do
			s.Settle()
		}
	}
	t.Fatal("there is no large merge")
	return 0, nil
}

func ids(s *Store[int, noFinder]) (all []int) {
	for d := range s.All() {
		all = append(all, d.ID)
	}
	return all
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestMergeWaits has a merge that does not end. Additions go on until too many runs are waiting. Then
// one waits, and goes on when the merge has ended.
func TestMergeWaits(t *testing.T) {
	s, gate := slowStore(1000)
	n, m := addUntilMerge(t, s, 1000)
	added := make(chan struct{})
	go func() {
		defer close(added)
		for end := n + 4*s.Form.AtOnce*mostWaiting; n < end; n++ {
			addInt(t, s, n)
		}
	}()
	select {
	case <-added:
		t.Fatal("nothing has waited")
	case <-time.After(100 * time.Millisecond):
	}
	select {
	case <-m.built:
		t.Fatal("the merge has ended")
	default:
	}
	close(gate)
	<-added
	s.Settle()
	if got := ids(s); !slices.Equal(got, upTo(n)) {
		t.Fatalf("%d stored, want %d", len(got), n)
	}
}

// TestMergeOfTheDead has runs all of whose documents die while they are merged, and before.
func TestMergeOfTheDead(t *testing.T) {
	s, gate := slowStore(40)
	addUntilMerge(t, s, 40)
	all := ids(s)
	for _, id := range all {
		if ok, err := s.Delete(id); !ok || err != nil {
			t.Fatal(id, ok, err)
		}
	}
	close(gate)
	s.Settle()
	if got := ids(s); len(got) > 0 || s.Len() != 0 {
		t.Fatalf("%v are still there", got)
	}
	for n := range 100 {
		addInt(t, s, n)
	}
	s.Settle()
	if got := ids(s); !slices.Equal(got, upTo(100)) {
		t.Fatalf("%v stored", got)
	}
}

// TestMergeView has a reader that loads the state, and then, before it loads the number of changes, a
// merged run takes the place of others, and a document in it is replaced. The reader must see the
// document once.
func TestMergeView(t *testing.T) {
	s, gate := slowStore(40)
	n, _ := addUntilMerge(t, s, 40)
	addInt(t, s, n)
	old := s.state.Load()
	close(gate)
	loads := 0
	v := viewOf(func() *State[int, noFinder] {
		if loads++; loads > 1 {
			return s.state.Load()
		}
		s.Settle()
		addInt(t, s, 0)
		return old
	})
	if s.state.Load() == old || s.state.Load().Tail != old.Tail {
		t.Fatal("that was another case")
	}
	seen := 0
	for d := range s.each(v, v.Runs) {
		if d.ID == 0 {
			seen++
		}
	}
	if seen != 1 {
		t.Fatalf("the document is seen %d times", seen)
	}
}

// TestMergeTooLate has a store that is built anew while runs of it are merged. What was merged is
// dropped.
func TestMergeTooLate(t *testing.T) {
	s, gate := slowStore(40)
	n, m := addUntilMerge(t, s, 40)
	go func() { gate <- struct{}{} }() // for Compact, or for the merge
	go func() { gate <- struct{}{} }() // for the other
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Delete(0); !ok || err != nil {
		t.Fatal(ok, err)
	}
	<-m.built
	s.Settle()
	if runs := s.View().Runs; len(runs) != 1 || slices.Contains(runs, m.merged) {
		t.Fatalf("%d runs", len(runs))
	}
	if got := ids(s); !slices.Equal(got, upTo(n)[1:]) {
		t.Fatalf("%v stored", got)
	}
}
