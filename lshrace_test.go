package neardup

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSignatureIndexReaders has readers beside a writer that moves an id from one
// signature to another: a reader sees it exactly once.
func TestSignatureIndexReaders(t *testing.T) {
	t.Parallel()
	ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{Values: 64, Banding: Banding{16, 4}})
	if err != nil {
		t.Fatal(err)
	}
	ix.s.Form.TailSize = func(int) int { return 64 }
	sigs := signatures(50, 64, 1)
	a, b := sigs[0], append(slices.Clone(sigs[0][:32]), sigs[1][32:]...) // both are near to a
	ix.Add(-1, a)
	var reads atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				seen := 0
				for c := range ix.Candidates(bg, a) {
					if c.ID == -1 {
						seen++
					}
				}
				if seen != 1 {
					t.Errorf("seen %d times", seen)
					return
				}
				if reads.Add(1)%16 > 0 {
					continue
				}
				for p := range ix.CandidatePairs(bg) {
					if p.A == p.B {
						t.Errorf("%d is a pair", p.A)
						return
					}
				}
			}
		})
	}
	for i := 0; i < 3000 || reads.Load() < int64(shorter(3000, 300)) && !t.Failed(); i++ {
		ix.Add(i%40, sigs[2+i%40])
		ix.Add(-1, [2]Signature{a, b}[i%2])
		must(ix.Delete(i * 7 % 40))
	}
	stop.Store(true)
	wg.Wait()
}

// TestSignatureIndexIsolation has readers beside a writer that adds an id and deletes the
// one of twenty before, all of equal signatures: what a reader sees has no gap.
func TestSignatureIndexIsolation(t *testing.T) {
	t.Parallel()
	const window = 20
	for _, bits := range []int{32, 8} {
		o := SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"}
		ix, err := OpenSignatureIndex[int](filepath.Join(t.TempDir(), "x"), 0.5, o)
		if err != nil {
			t.Fatal(err)
		}
		ix.s.Form.TailSize = func(int) int { return 13 }
		s := signatures(1, 16, 1)[0]
		for i := range window {
			ix.Add(i, s)
		}
		var stop atomic.Bool
		var reads [3]atomic.Int64
		var wg sync.WaitGroup
		for reader := range reads {
			wg.Go(func() {
				for ; !stop.Load(); reads[reader].Add(1) {
					var ids []int
					switch reader {
					case 0:
						for c := range ix.Candidates(bg, s) {
							ids = append(ids, c.ID)
						}
					case 1:
						for id := range valuesOf(ix.All()) {
							ids = append(ids, id)
						}
					case 2:
						pairs, seen := 0, map[int]bool{}
						for p := range ix.Pairs(bg) {
							pairs++
							seen[p.A], seen[p.B] = true, true
						}
						ids = slices.Collect(maps.Keys(seen))
						if pairs != len(ids)*(len(ids)-1)/2 {
							t.Errorf("%d pairs of %d", pairs, len(ids))
							stop.Store(true)
						}
					}
					slices.Sort(ids)
					if len(ids) != window && len(ids) != window+1 || ids[len(ids)-1]-ids[0] != len(ids)-1 {
						t.Errorf("reader %d, %d bits: %v", reader, bits, ids)
						stop.Store(true)
					}
				}
			})
		}
		done := func() bool {
			least := reads[0].Load()
			for i := range reads {
				least = min(least, reads[i].Load())
			}
			return stop.Load() || least >= int64(shorter(500, 50))
		}
		for i := window; i < 2000 || !done(); i++ {
			ix.Add(i, s)
			if i%3 == 0 {
				must(ix.DeleteFunc(func(e Entry[int, Signature]) bool { return e.ID == i-window }))
			} else {
				must(ix.Delete(i - window))
			}
			if i%170 == 0 {
				if err := ix.Compact(bg); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop.Store(true)
		wg.Wait()
		if err := errors.Join(ix.err(), ix.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSignatureIndexChanged changes the query while what it finds is read.
func TestSignatureIndexChanged(t *testing.T) {
	for _, bits := range []int{32, 8} {
		ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		s := signatures(1, 128, 1)[0]
		for i := range 10 {
			ix.Add(i, s)
		}
		ix.Compact(bg)
		found := 0
		for range ix.Search(bg, s) {
			found++
			clear(s)
		}
		if found != 10 {
			t.Errorf("%d bits: %d found", bits, found)
		}
	}
}
