package neardup

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestIndexReaders has one writer and several readers at once. The writer keeps what no
// reader may ever see broken: every replaced id is found exactly once, either as it was or
// as it is; ids that are added in order are there in order; what is deleted together with
// nothing else is either there or not.
func TestIndexReaders(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		ix, _ := NewIndex[int, Fingerprint64](3, IndexOptions{})
		testIndexReaders(t, ix, true)
	})
	t.Run("merging", func(t *testing.T) { // parts are merged by another goroutine
		ix, _ := NewIndex[int, Fingerprint64](3, IndexOptions{})
		ix.s.Form.AtOnce = 200
		testIndexReaders(t, ix, false)
	})
	t.Run("files", func(t *testing.T) {
		testIndexReaders(t, mustOpen[int, Fingerprint64](t, filepath.Join(t.TempDir(), "x"), 3), true)
	})
}

func testIndexReaders(t *testing.T, ix *Index[int, Fingerprint64], compact bool) {
	const moving = 20
	at := func(id, turn int) Fingerprint64 { // always within 3 of its centre, which is far from others
		return Fingerprint64(uint64(id+1)*0x9E3779B97F4A7C15) ^ 1<<(turn%64)
	}
	for id := range moving {
		ix.Add(id, at(id, 0))
	}
	var done atomic.Bool
	var added atomic.Int64
	var wait sync.WaitGroup
	for reader := range 3 {
		wait.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(reader), 1))
			for n := 0; !done.Load(); n++ {
				id := rnd.IntN(moving)
				found := 0
				for m := range ix.Search(bg, Fingerprint64(uint64(id+1)*0x9E3779B97F4A7C15)) {
					if m.ID == id {
						found++
					}
				}
				if found != 1 {
					t.Errorf("id %d is found %d times", id, found)
					return
				}
				for _, m := range must(ix.SearchMany(bg, []Fingerprint64{1, Fingerprint64(uint64(id+1) * 0x9E3779B97F4A7C15)}))[1] {
					if m.ID == id {
						found++
					}
				}
				if found != 2 {
					t.Errorf("id %d of many is found %d times", id, found-1)
					return
				}
				if n%50 > 0 {
					continue
				}
				before := added.Load()
				next, present := moving, 0
				for id := range valuesOf(ix.All()) {
					if id < moving {
						present++
						continue
					}
					if id != next {
						t.Errorf("%d comes after %d", id, next-1)
						return
					}
					next++
				}
				if present != moving || int64(next-moving) < before {
					t.Errorf("%d of %d, %d of %d", present, moving, next-moving, before)
					return
				}
				if near := must(ix.Nearest(bg, at(id, 5), 1)); len(near) != 1 || near[0].ID != id {
					t.Errorf("nearest to %d: %v", id, near)
					return
				}
				ix.stats()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(9, 9))
	turns := shorter(30_000, 8000)
	if raceDetector {
		turns /= 2
	}
	for turn := range turns {
		if turn%4 == 0 {
			ix.Add(moving+turn/4, Fingerprint64(rnd.Uint64()))
			added.Add(1)
		} else {
			id := rnd.IntN(moving)
			ix.Add(id, at(id, turn))
		}
		if compact && turn%2000 == 1999 {
			if err := ix.Compact(bg); err != nil {
				t.Error(err)
			}
		}
	}
	done.Store(true)
	wait.Wait()
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
}

// TestIndexWriters has several goroutines that add what is near, and check before they do:
// of each group exactly one finds nothing.
func TestIndexWriters(t *testing.T) {
	ix, _ := NewIndex[string, Fingerprint64](3, IndexOptions{})
	groups := random64(shorter(2000, 500), 3)
	var first [4]int
	var found [4]int
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for g, fp := range groups {
				id := fmt.Sprint(w, " ", g)
				if w%2 == 0 {
					if near := must(ix.SearchAndAdd(bg, id, fp^1<<w)); len(near) == 0 {
						first[w]++
					} else {
						found[w] += len(near)
					}
				} else if !must(ix.ExistsAndAdd(bg, id, fp^1<<w)) {
					first[w]++
				}
			}
		})
	}
	wait.Wait()
	if sum := first[0] + first[1] + first[2] + first[3]; sum != len(groups) || ix.Len() != 4*len(groups) {
		t.Errorf("%d were first in %d groups; %d stored", sum, len(groups), ix.Len())
	}
	if len(membersOf(must(ix.Groups(bg, SingleLinkage)))) != len(groups) {
		t.Errorf("%d groups, want %d", len(membersOf(must(ix.Groups(bg, SingleLinkage)))), len(groups))
	}
	if near := must(ix.SearchAndAdd(bg, "0 0", groups[0])); slices.ContainsFunc(near, func(m Match[string]) bool { return m.ID == "0 0" }) || len(near) != 3 {
		t.Errorf("an id is near itself: %v", near)
	}
}
