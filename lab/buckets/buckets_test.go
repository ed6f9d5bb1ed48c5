package buckets

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/must"
	"github.com/neardup/neardup/lab/planted"
)

// TestCounts checks the counts for a corpus that everybody can make.
func TestCounts(t *testing.T) {
	fps := planted.Corpus()
	want := allPairs(fps)
	if len(want) != 2000 {
		t.Fatalf("%d pairs", len(want))
	}
	for _, test := range []struct {
		mu       float64
		mean     Mean
		overfull int
		want     Counts
	}{
		{0, OverAll, 0, Counts{2_442_894, 2_439_940}},
		{10, OverAll, 50, Counts{26_444, 23_186}},
		{2, OverAll, 16_990, Counts{15_060, 5_187}},
		{2, OverUsed, 330, Counts{25_238, 21_723}},
		{10, OverUsed, 1, Counts{26_818, 23_633}},
	} {
		ix := Index{Mu: test.mu, Mean: test.mean}
		for _, fp := range fps {
			ix.Add(fp)
		}
		pairs, counts, overfull := ix.Pairs()
		if overfull != test.overfull || counts != test.want || !slices.Equal(pairs, want) {
			t.Errorf("μ %g, mean %d: %d overfull, %+v, %d pairs; want %d, %+v", test.mu, test.mean, overfull, counts, len(pairs), test.overfull, test.want)
		}
	}
	// The example of Wang 2019.
	ix := Index{Mu: 2, fps: make([]neardup.Fingerprint64, 1<<17)}
	if got := ix.threshold(0) * (1 << 33) / (1 << 17); got != 393_216 {
		t.Errorf("of 2³³ documents the threshold is %g", got)
	}
}

// TestSearch checks that searches find the same as brute force, with and without a second level,
// while buckets become overfull.
func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, mu := range []float64{0, 0.01, 2, 10} {
		for _, mean := range []Mean{OverAll, OverUsed} {
			ix := Index{Mu: mu, Mean: mean}
			var fps []neardup.Fingerprint64
			found := 0
			for n := range 3000 {
				fp := neardup.Fingerprint64(r.Uint64())
				if n%3 > 0 {
					fp = fp&^0xFFFF | 0xBEEF
				}
				if n%4 == 3 {
					fp = fps[r.IntN(n)] ^ 1<<r.IntN(64) ^ 1<<r.IntN(64) ^ 1<<r.IntN(64) ^ neardup.Fingerprint64(n%8/4)<<r.IntN(64)
				}
				var want, got []int
				for i, other := range fps {
					if fp.Distance(other) <= 3 {
						want = append(want, i)
					}
				}
				ix.Search(fp, func(i, d int) bool {
					if fp.Distance(fps[i]) != d {
						t.Fatal("another distance")
					}
					got = append(got, i)
					return true
				})
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Fatalf("μ %g: %v, want %v", mu, got, want)
				}
				exists := 0
				ix.Search(fp, func(int, int) bool { exists++; return false })
				if exists != min(len(want), 1) {
					t.Fatalf("stopped after %d", exists)
				}
				found += len(want)
				ix.Add(fp)
				fps = append(fps, fp)
			}
			if found < 300 {
				t.Fatalf("only %d found", found)
			}
			if pairs, _, _ := ix.Pairs(); !slices.Equal(pairs, allPairs(fps)) {
				t.Error("pairs differ")
			}
		}
	}
}

// TestIncremental is the example of Li 2015 and Wang 2019: C finds A and B in the one bucket that
// they share, overfull or not.
func TestIncremental(t *testing.T) {
	for _, mu := range []float64{0, 1e-9} {
		ix := Index{Mu: mu, Mean: OverUsed}
		ask := func(fp neardup.Fingerprint64) (found [][2]int, c Counts) {
			c = ix.Search(fp, func(i, d int) bool { found = append(found, [2]int{i, d}); return true })
			ix.Add(fp)
			return found, c
		}
		ask(0x800d8e90e45cc488)
		if found, c := ask(0x800d8e90e4dcc488); !slices.Equal(found, [][2]int{{0, 1}}) || c.Met != 3 {
			t.Errorf("B finds %v, %+v", found, c)
		}
		if found, c := ask(0x800dae90e55ce488); !slices.Equal(found, [][2]int{{0, 3}}) || c.Candidates != 2 {
			t.Errorf("C finds %v, %+v", found, c)
		}
	}
}

// allPairs returns the pairs within distance 3, sorted by the second number and then by the first.
func allPairs(fps []neardup.Fingerprint64) []neardup.Pair[int] {
	pairs := must.Collect(neardup.Pairs(context.Background(), fps, 3))
	slices.SortFunc(pairs, func(x, y neardup.Pair[int]) int {
		return cmp.Or(cmp.Compare(x.B, y.B), cmp.Compare(x.A, y.A))
	})
	return pairs
}
