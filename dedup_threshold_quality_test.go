package neardup

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// thresholdSets are the collections whose truth is known. want is the F1 that the threshold of the
// collection must reach.
var thresholdSets = []struct {
	name    string
	records []Field
	want    float64
}{
	{"zh-revisions", nil, 0.99},
	{"en-versions", nil, 0.99},
	{"zh-laws", nil, 0.70},
	{"zh-manuals", nil, 0.60},
	{"en-newsgroups", nil, 0.85},
	{"en-records-stroke", nil, 0.94},
	{"en-records-stroke", literature, 0.97},
	{"en-records-haematology", nil, 0.70},
	{"en-records-haematology", literature, 0.80},
	{"rec-restaurant", restaurants, 0.80},
}

// literature are the fields of bibliographic records: the words of the long columns, and the short
// columns whole, which count twice as much as a word.
var literature = []Field{
	{Name: "title", Split: Words{}, Weight: 1}, {Name: "author", Split: Words{}, Weight: 1}, {Name: "journal", Split: Words{}, Weight: 1},
	{Name: "year", Named: true}, {Name: "volume", Named: true}, {Name: "number", Named: true}, {Name: "pages", Named: true},
}

var restaurants = []Field{{Name: "name", Split: Words{}, Weight: 1}, {Name: "name", Split: NGrams{3}, Weight: 1}, {Name: "address", Split: Words{}}, {Name: "city", Split: Words{}, Weight: 1}}

// A thresholdSet is what was measured on a collection.
type thresholdSet struct {
	name      string
	documents int
	size      int // as a Deduplicator measures it
	threshold Threshold
	plan      Plan
	counted   []float64 // the curve as it was counted, before it was scaled
	f1        [100]float64
	precision [100]float64
}

// best returns the largest F1 and the hundredths where it is reached.
func (s *thresholdSet) best() (f1 float64, at int) {
	for i, f := range s.f1 {
		if f > f1 {
			f1, at = f, i
		}
	}
	return f1, at
}

// hundredth returns the threshold that a rule and a fixed threshold for no valley give.
func (s *thresholdSet) hundredth(r valleyRule, usual int) int {
	if s.threshold.Reason == "too few pairs" {
		return int(100*s.threshold.Similarity + 0.5)
	}
	if at, ok := r.valley(s.counted); ok {
		return min(max(at, leastThreshold), mostThreshold)
	}
	return usual
}

// measureThreshold finds all pairs of a set from a similarity of 0.40 on, and compares them with the
// truth. Up to a size of limit the set is joined exactly; 0 is the usual limit.
func measureThreshold(t *testing.T, name string, fields []Field, limit int) *thresholdSet {
	d, err := NewDeduplicator[int](DeduplicatorOptions{Fingerprinter: Fingerprinter{Fields: fields}})
	if err != nil {
		t.Fatal(err)
	}
	d.limit = limit
	var truth map[Pair[int]]bool
	s := &thresholdSet{name: name}
	if fields != nil {
		var recs []Record
		recs, _, truth = labelledRecords(t, name)
		for i, rec := range recs {
			if err := d.AddRecord(i, rec); err != nil {
				t.Logf("%s: %v", name, err)
			}
		}
		s.name, s.documents = name+", by columns", len(recs)
	} else {
		var texts []string
		texts, truth = labelled(t, name)
		d.AddAll(bg, slices.All(texts))
		s.documents = len(texts)
	}
	c := must(d.collect(bg, 0))
	s.threshold = c.threshold(bg)
	s.size, s.plan = c.size, must(d.Plan(bg))
	if c.isLarge {
		var t Threshold
		c.forestCurve(&t)
		s.counted = t.Curve
	} else {
		sampled := 0
		s.counted, _ = c.sampledCurve(bg, c.standing(), &sampled)
	}
	least := 0.40
	if limit > 0 { // the recall is that at the threshold
		least = s.threshold.Similarity
	}
	var found, right [100]int
	for p := range c.documentPairs(bg, least, c.settings.Kinds) {
		at := min(int(p.Similarity*100), 99)
		found[at]++
		if truth[Pair[int]{A: c.docs[p.A].id, B: c.docs[p.B].id}] {
			right[at]++
		}
	}
	for i := 98; i >= 40; i-- {
		found[i] += found[i+1]
		right[i] += right[i+1]
	}
	for i := 40; i < 100; i++ {
		s.f1[i] = 2 * float64(right[i]) / float64(found[i]+len(truth))
		s.precision[i] = float64(right[i]) / float64(max(found[i], 1))
	}
	return s
}

// minHashF1 returns the F1 of MinHash at its default similarity and the best F1 at any, for the best
// of three kinds of features.
func minHashF1(t *testing.T, name string) (usual, best float64) {
	texts, truth := labelled(t, name)
	for _, of := range []Tokenizer{Shingles{}, Shingles{N: 3}, NGrams{3}} {
		ix, err := NewSignatureIndex[int](0.3, SignatureIndexOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f := Fingerprinter{Tokenizer: of}
		for i, text := range texts {
			ix.Add(i, f.Sign(text, MinHash{}))
		}
		var found, right [101]int
		for p := range ix.Pairs(bg) {
			at := int(p.Similarity * 100)
			found[at]++
			if truth[Pair[int]{A: min(p.A, p.B), B: max(p.A, p.B)}] {
				right[at]++
			}
		}
		for i := 99; i >= 30; i-- {
			found[i] += found[i+1]
			right[i] += right[i+1]
			f1 := 2 * float64(right[i]) / float64(found[i]+len(truth))
			if best = max(best, f1); i == 80 && of == Tokenizer(Shingles{}) { // the similarity that MinHash is mostly used with
				usual = f1
			}
		}
	}
	return usual, best
}

// TestThresholdQuality prints, for each set of the data, the threshold that the collection gives and
// why, F1 there and at the best threshold, the estimated and the true precision, and F1 of MinHash. It
// then chooses the constants of the rule on half of the sets, and reports the other half:
//
//	NEARDUP_LARGE=1 NEARDUP_DATA=… go test . -full -run ThresholdQuality -v
//
// Without NEARDUP_LARGE it leaves the newsgroups out.
func TestThresholdQuality(t *testing.T) {
	if raceDetector || !*full {
		t.Skip("takes long")
	}
	t.Parallel()
	var all []*thresholdSet
	loss := 0.0
	t.Logf("%-38s %9s  %-21s %-5s  %s  %s  %s", "set", "documents", "threshold", "F1", "best F1", "precision: estimate, true", "MinHash: at 0.8, best")
	for _, set := range thresholdSets {
		if set.name == "en-newsgroups" && os.Getenv("NEARDUP_LARGE") == "" {
			t.Log("en-newsgroups takes half a minute; set NEARDUP_LARGE for it")
			continue
		}
		s := measureThreshold(t, set.name, set.records, 0)
		all = append(all, s)
		at := int(100*s.threshold.Similarity + 0.5)
		best, bestAt := s.best()
		loss += best - s.f1[at]
		line := fmt.Sprintf("%-38s %9d  %.2f %-16s %.3f  %.3f at %.2f", s.name, s.documents, s.threshold.Similarity, s.threshold.Reason, s.f1[at], best, float64(bestAt)/100)
		line += fmt.Sprintf("   %.2f, %.2f", s.threshold.Precision, s.precision[at])
		if set.records == nil {
			usual, most := minHashF1(t, set.name)
			line += fmt.Sprintf("   %.3f, %.3f", usual, most)
		}
		t.Log(line)
		if s.f1[at] < set.want {
			t.Errorf("%s: F1 %.4f, want %.2f", s.name, s.f1[at], set.want)
		}
	}
	t.Logf("mean loss against the best threshold: %.4f", loss/float64(len(all)))
	halves := [2][]*thresholdSet{}
	for i, s := range all {
		halves[i%2] = append(halves[i%2], s)
	}
	for h, half := range halves {
		type constants struct {
			valleyRule
			usual int
		}
		var chosen []constants
		most := 0.0
		mean := func(sets []*thresholdSet, c constants) (f1 float64) {
			for _, s := range sets {
				f1 += s.f1[s.hundredth(c.valleyRule, c.usual)] / float64(len(sets))
			}
			return f1
		}
		for _, window := range []int{6, 8, 10, 12, 14} {
			for _, confidence := range []float64{1.5, 2, 2.5, 3, 3.5} {
				for _, flat := range []float64{0, 0.5, 1} {
					for usual := 60; usual <= 80; usual += 5 {
						c := constants{valleyRule{window, confidence, flat}, usual}
						f1 := mean(half, c)
						if f1 > most+1e-9 {
							most, chosen = f1, nil
						}
						if f1 > most-1e-9 {
							chosen = append(chosen, c)
						}
					}
				}
			}
		}
		other := halves[1-h]
		names := make([]string, len(half))
		for i, s := range half {
			names[i] = s.name
		}
		t.Logf("constants chosen on %s: %+v and %d that do as well: mean F1 %.4f there and %.4f on the other half, where ours have %.4f", strings.Join(names, "; "), chosen[len(chosen)/2], len(chosen)-1, most, mean(other, chosen[len(chosen)/2]), mean(other, constants{usualRule, 70}))
	}
}

// TestLargeQuality prints F1 of each set if it is joined exactly, and if it is joined as a large collection,
// both with the threshold that the set itself gives:
//
//	NEARDUP_DATA=… go test . -full -run LargeQuality -v
func TestLargeQuality(t *testing.T) {
	if raceDetector || !*full {
		t.Skip("takes long")
	}
	t.Parallel()
	for _, set := range thresholdSets {
		if set.name == "en-newsgroups" && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		exact := measureThreshold(t, set.name, set.records, math.MaxInt)
		large := measureThreshold(t, set.name, set.records, exact.size-1)
		at := func(s *thresholdSet) float64 { return s.f1[int(100*s.threshold.Similarity+0.5)] }
		t.Logf("%-38s exact %.2f %-10s F1 %.4f; large %.2f %-10s F1 %.4f; %v", exact.name, exact.threshold.Similarity, exact.threshold.Reason, at(exact), large.threshold.Similarity, large.threshold.Reason, at(large), large.plan)
		if large.plan.Trees == 0 || at(large) < at(exact)-0.002 {
			t.Errorf("%s: F1 %.4f instead of %.4f", exact.name, at(large), at(exact))
		}
	}
}

// TestShortQuality prints which share of short titles is found again when one word of it is another
// one, by the number of words, and what else is found at the same similarity:
//
//	NEARDUP_DATA=… go test . -full -run ShortQuality -v
func TestShortQuality(t *testing.T) {
	if raceDetector || !*full {
		t.Skip("takes long")
	}
	t.Parallel()
	byWords := map[int][]string{}
	seen := map[string]bool{}
	var vocabulary []string
	for _, set := range []string{"en-records-stroke", "en-records-haematology"} {
		recs, _, _ := labelledRecords(t, set)
		for _, rec := range recs {
			title := strings.ToLower(strings.TrimRight(rec["title"], ". "))
			if words := strings.Fields(title); len(words) > 0 && !seen[title] {
				seen[title] = true
				byWords[len(words)] = append(byWords[len(words)], title)
				vocabulary = append(vocabulary, words...)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{4, 6, 8, 12} {
		titles := byWords[n]
		d, err := NewDeduplicator[int](DeduplicatorOptions{Similarity: 0.4})
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for _, all := range byWords { // the order does not matter
			for _, title := range all {
				d.Add(-number-1, title)
				number++
			}
		}
		for i, title := range titles {
			words := strings.Fields(title)
			words[rnd.IntN(n)] = vocabulary[rnd.IntN(len(vocabulary))]
			d.Add(i, strings.Join(words, " "))
		}
		var found, other [100]int
		hits := map[int]float64{}
		for i, title := range titles {
			for m, err := range d.Search(title) {
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case m.ID == i:
					hits[i] = m.Similarity
				case m.ID >= 0 || m.Kind != Identical:
					other[min(int(100*m.Similarity), 99)]++
				}
			}
		}
		for _, s := range hits {
			found[min(int(100*s), 99)]++
		}
		line := ""
		for i := 98; i >= 40; i-- {
			found[i] += found[i+1]
			other[i] += other[i+1]
		}
		for _, at := range []int{50, 57, 70} {
			line += fmt.Sprintf("   from 0.%d on: %.2f, and %.2f others", at, float64(found[at])/float64(len(titles)), float64(other[at])/float64(len(titles)))
		}
		t.Logf("%d titles of %d words%s", len(titles), n, line)
		if n == 12 && found[50] < len(titles)*95/100 {
			t.Errorf("titles of 12 words: %d of %d are found", found[50], len(titles))
		}
	}
}
