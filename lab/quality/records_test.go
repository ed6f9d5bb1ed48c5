package quality

import (
	"fmt"
	"math"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
)

// labelledRecords is labelled for sets of records. fields are the names of the columns.
func labelledRecords(t *testing.T, set string) (recs []neardup.Record, fields []string, truth dataset.Truth) {
	docs, truth := labelled(t, set)
	for _, d := range docs {
		recs = append(recs, d.Fields)
	}
	seen := map[string]bool{}
	for _, r := range recs {
		for name := range r {
			if !seen[name] {
				seen[name] = true
				fields = append(fields, name)
			}
		}
	}
	return recs, fields, truth
}

// bestCosine returns the best F1, and the cosine it is reached at, of the exact measure
// on the features of the fingerprints.
func bestCosine(f *neardup.Fingerprinter, recs []neardup.Record, truth dataset.Truth) (f1, threshold float64) {
	type posting struct {
		rec    int
		weight float64
	}
	const bins = 2000
	var all, good [bins + 1]int
	index := map[string][]posting{}
	score := make([]float64, len(recs))
	for i, rec := range recs {
		var own []neardup.Feature
		var weights []float64
		norm := 0.0
		for feature, w := range f.Features(rec) {
			own, weights = append(own, feature), append(weights, w)
			norm += w * w
		}
		clear(score[:i])
		for j, feature := range own {
			w := weights[j] / math.Sqrt(norm)
			for _, p := range index[feature.Text] {
				score[p.rec] += w * p.weight
			}
			if w != 0 {
				index[feature.Text] = append(index[feature.Text], posting{i, w})
			}
		}
		for j, s := range score[:i] {
			if s > 0 {
				bin := min(int(s*bins), bins)
				all[bin]++
				if truth.Has(i, j) {
					good[bin]++
				}
			}
		}
	}
	found, hits := 0, 0
	for b := bins; b >= 0; b-- {
		found, hits = found+all[b], hits+good[b]
		if x := 2 * float64(hits) / float64(found+len(truth)); x > f1 {
			f1, threshold = x, float64(b)/bins
		}
	}
	return f1, threshold
}

// TestRecordQuality prints, for sets of records with labels, the best F1 by pairs of
// fingerprints of both widths and of the cosine of the same features, with the distance
// or cosine at which it is reached, and the recall at the distances:
//
//	NEARDUP_DATA=… go test -C lab ./quality -run RecordQuality -v
func TestRecordQuality(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"rec-febrl3", "rec-restaurant"} {
		recs, names, truth := labelledRecords(t, set)
		for _, split := range []struct {
			name string
			of   []neardup.Tokenizer
		}{{"whole", []neardup.Tokenizer{nil}}, {"words", []neardup.Tokenizer{neardup.Words{}}}, {"chars2", []neardup.Tokenizer{neardup.NGrams{N: 2}}}, {"chars3", []neardup.Tokenizer{neardup.NGrams{N: 3}}}, {"whole+chars3", []neardup.Tokenizer{nil, neardup.NGrams{N: 3}}}} {
			for _, named := range []bool{false, true} {
				f := neardup.Fingerprinter{}
				for _, name := range names {
					for _, of := range split.of {
						f.Fields = append(f.Fields, neardup.Field{Name: name, Split: of, Named: named})
					}
				}
				b := neardup.DocumentFrequenciesBuilder{Fingerprinter: f}
				for _, r := range recs {
					b.Add(r)
				}
				s := b.Build()
				for _, w := range []struct {
					name string
					w    neardup.Weight
				}{{"count", nil}, {"tf-idf", neardup.Product{neardup.Count, neardup.IDF{Frequencies: s, Smooth: true}}}, {"idf", neardup.IDF{Frequencies: s, Smooth: true}}} {
					f.Weight = w.w
					var fps [2][]neardup.Fingerprint128
					for _, r := range recs {
						fps[0] = append(fps[0], neardup.Fingerprint128{Lo: uint64(f.Sum64(r))})
						fps[1] = append(fps[1], f.Sum128(r))
					}
					line := ""
					for _, fps := range fps {
						c := curves(fps, make([]int, len(recs)), truth)
						k := c[0].best()
						p, r, f1 := c[0].at(k)
						line += fmt.Sprintf("  %.3f at %2d (P %.3f R %.3f)", f1, k, p, r)
					}
					exact, at := bestCosine(&f, recs, truth)
					t.Logf("%-14s %-12s named=%-5v %-6s%s   cosine %.3f at %.2f", set, split.name, named, w.name, line, exact, at)
				}
			}
		}
	}
}
