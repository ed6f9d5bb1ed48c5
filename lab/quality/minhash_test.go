package quality

import (
	"context"
	"fmt"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/lab/dataset"
)

// jaccards returns the exact Jaccard similarities, above 0, of all pairs of sets.
func jaccards(sets []neardup.Set) map[neardup.Pair[int]]float64 {
	all := map[neardup.Pair[int]]float64{}
	with := map[uint64][]int{} // feature -> sets
	common := make([]int, len(sets))
	for j, set := range sets {
		clear(common[:j])
		for _, h := range set {
			for _, i := range with[h] {
				common[i]++
			}
			with[h] = append(with[h], j)
		}
		for i, n := range common[:j] {
			if s := exact.Ratio(n, len(sets[i])+len(set)-n); s >= 0.2 {
				all[neardup.Pair[int]{A: i, B: j}] = s
			}
		}
	}
	return all
}

// TestMinHashQuality prints precision, recall and F1 by pairs of an index of signatures of
// 128 values, at each threshold, beside what exact Jaccard similarities of all pairs give.
// Of each it prints the threshold that is best for all texts, and the F1 on one half of the
// groups with the threshold that is best for the other.
//
//	NEARDUP_DATA=… go test -C lab ./quality -run MinHashQuality -v
func TestMinHashQuality(t *testing.T) {
	t.Parallel()
	for _, set := range []struct {
		name string
		want float64 // the best of all peers
	}{{"zh-revisions", 0.993}, {"en-versions", 0.987}} {
		docs, truth := labelled(t, set.name)
		texts := texts(docs)
		half := halves(len(texts), truth)
		best := 0.0
		for _, f := range []neardup.Fingerprinter{{Tokenizer: neardup.Words{}}, {Tokenizer: neardup.Shingles{}}, {Tokenizer: neardup.Shingles{N: 3}}, {Tokenizer: neardup.NGrams{N: 2}}, {Tokenizer: neardup.NGrams{N: 3}}, {Tokenizer: neardup.NGrams{N: 5}}} {
			sets, sigs := make([]neardup.Set, len(texts)), make([]neardup.Signature, len(texts))
			for i, text := range texts {
				sets[i], sigs[i] = f.Set(neardup.Text(text)), f.Sign(neardup.Text(text), neardup.MinHash{})
			}
			exact := jaccards(sets)
			var exactF, indexF figures
			for i := 6; i <= 19; i++ {
				threshold := float64(i) / 20
				var e, x measured
				for p, s := range exact {
					if s >= threshold {
						e.add(p, half, truth)
					}
				}
				ix, err := neardup.NewSignatureIndex[int](threshold, neardup.SignatureIndexOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for i, s := range sigs {
					ix.Add(i, s)
				}
				for p := range ix.Pairs(context.Background()) {
					x.add(neardup.Pair[int]{A: p.A, B: p.B}, half, truth)
				}
				exactF.add(threshold, &e, half, truth)
				indexF.add(threshold, &x, half, truth)
				if threshold == 0.4 || threshold == 0.5 || threshold == 0.6 || threshold == 0.7 {
					t.Logf("%-12s %-20s at %.2f: exact %s, index %s (%d bands of %d)", set.name, nameOf(f.Tokenizer), threshold, e.string(truth), x.string(truth), ix.Banding().Bands, ix.Banding().Rows)
				}
			}
			t.Logf("%-12s %-20s exact best %s", set.name, nameOf(f.Tokenizer), exactF.string())
			t.Logf("%-12s %-20s index best %s", set.name, nameOf(f.Tokenizer), indexF.string())
			best = max(best, indexF.whole)
		}
		t.Logf("%s: best F1 of an index %.4f, of peers %.3f", set.name, best, set.want)
		if best < set.want {
			t.Errorf("%s: best F1 %.4f, want %.3f", set.name, best, set.want)
		}
	}
}

// measured counts the pairs that were found within each half, and in all texts.
type measured struct{ found, good [3]int }

func (m *measured) add(p neardup.Pair[int], half []int, truth dataset.Truth) {
	for _, h := range []int{half[p.A], 2} {
		if h == 2 || half[p.A] == half[p.B] {
			m.found[h]++
			if truth.Has(p.A, p.B) {
				m.good[h]++
			}
		}
	}
}

func (m *measured) string(truth dataset.Truth) string {
	return fmt.Sprintf("%.3f %.3f %.3f", float64(m.good[2])/float64(max(m.found[2], 1)), float64(m.good[2])/float64(len(truth)), 2*float64(m.good[2])/float64(m.found[2]+len(truth)))
}

// figures are those of the best thresholds.
type figures struct {
	whole, at float64
	text      string
	chosen    [2]float64 // F1 on the half where the threshold is chosen
	other     [2]float64 // and on the other
}

func (f *figures) add(threshold float64, m *measured, half []int, truth dataset.Truth) {
	var all [3]int
	for p := range truth {
		all[half[p[0]]]++
		all[2]++
	}
	f1 := func(h int) float64 { return 2 * float64(m.good[h]) / float64(m.found[h]+all[h]) }
	if f1(2) > f.whole {
		f.whole, f.at, f.text = f1(2), threshold, m.string(truth)
	}
	for h := range f.chosen {
		if f1(h) > f.chosen[h] {
			f.chosen[h], f.other[h] = f1(h), f1(1-h)
		}
	}
}

func (f *figures) string() string {
	return fmt.Sprintf("at %.2f: %s; other half %.3f and %.3f", f.at, f.text, f.other[0], f.other[1])
}
