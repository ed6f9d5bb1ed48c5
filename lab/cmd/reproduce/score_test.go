package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/hashes"
	"github.com/neardup/neardup/papers"
)

// This file tests the instrument: how findings are judged, and the settings of the papers. The pool
// and the findings are small enough to be judged by hand.

// handMade has three groups: 0 and 1; 2, 3 and 4; and 5 alone.
var handMade = []*document{{of: 7}, {of: 7}, {of: 8}, {of: 8}, {of: 8}, {of: 9}}

func pair(a, b int, similarity float64) neardup.Pair[int] {
	return neardup.Pair[int]{A: a, B: b, Similarity: similarity}
}

func TestJudge(t *testing.T) {
	mu := 0.9 // a variable, since constants are exact
	for _, test := range []struct {
		name                   string
		pairs                  []neardup.Pair[int]
		least                  float64
		detected, right, known int
	}{
		{"nothing", nil, 0, 0, 0, 5},
		{"a right pair", []neardup.Pair[int]{pair(0, 1, 0.9)}, 0.5, 2, 2, 5},
		{"a wrong pair", []neardup.Pair[int]{pair(0, 5, 0.9)}, 0.5, 2, 0, 5},
		{"one document rightly, its partner wrongly", []neardup.Pair[int]{pair(0, 1, 0.9), pair(1, 5, 0.8)}, 0.5, 3, 2, 5},
		{"right ones that are not similar enough", []neardup.Pair[int]{pair(0, 1, 0.4), pair(2, 3, 0.5)}, 0.5, 2, 2, 5},
		{"a wrong one that is more similar than the right one", []neardup.Pair[int]{pair(0, 5, 0.9), pair(0, 1, 0.4)}, 0.5, 2, 0, 5},
		{"two of three", []neardup.Pair[int]{pair(2, 4, 1)}, 0.5, 2, 2, 5},
		{"a document counts once", []neardup.Pair[int]{pair(2, 4, 1), pair(3, 4, 1), pair(2, 3, 1)}, 0.5, 3, 3, 5},
		{"everything", []neardup.Pair[int]{pair(0, 1, 1), pair(2, 3, 1), pair(3, 4, 1), pair(4, 5, 1)}, 0.5, 6, 5, 5},
		{"a rounding error below", []neardup.Pair[int]{pair(0, 1, mu/6+(1-mu)*1)}, 0.25, 2, 2, 5},
		{"more than a rounding error below", []neardup.Pair[int]{pair(0, 1, 0.25-1e-9)}, 0.25, 0, 0, 5},
	} {
		if got, want := judge(handMade, test.pairs).at(test.least), (score{test.detected, test.right, test.known}); got != want {
			t.Errorf("%s: %+v, want %+v", test.name, got, want)
		}
	}
}

func TestScore(t *testing.T) {
	for _, test := range []struct {
		score
		want string
	}{
		{score{4, 3, 6}, "75.0 / 50.0 / 60.0"}, {score{0, 0, 6}, "100.0 / 0.0 / 0.0"}, {score{5, 5, 5}, "100.0 / 100.0 / 100.0"}, {score{3, 0, 0}, "0.0 / 0.0 / 0.0"},
	} {
		if test.String() != test.want {
			t.Errorf("%+v is %s, want %s", test.score, test.String(), test.want)
		}
	}
	if sum := (score{1, 2, 3}).add(score{10, 20, 30}); sum != (score{11, 22, 33}) {
		t.Errorf("the sum is %+v", sum)
	}
}

// TestPairScore: of handMade four pairs are to be found.
func TestPairScore(t *testing.T) {
	for want, pairs := range map[string][]neardup.Pair[int]{
		"100.0 / 0.0 / 0.0":   nil,
		"100.0 / 25.0 / 40.0": {pair(0, 1, 1)},
		"50.0 / 50.0 / 50.0":  {pair(0, 1, 1), pair(4, 2, 1), pair(1, 5, 1), pair(0, 2, 1)},
	} {
		if got := pairScore(handMade, pairs); got != want {
			t.Errorf("%v: %s, want %s", pairs, got, want)
		}
	}
}

// TestBest has three right documents at 0.8, two wrong ones at 0.6, and two right ones at 0.5. The
// wrong ones are worth taking: F1 is 2·3/(3+5) = 0.75 at 0.8, 2·3/(5+5) at 0.6, and 2·5/(6+5) at 0.5.
func TestBest(t *testing.T) {
	v := judge(handMade, []neardup.Pair[int]{pair(2, 3, 0.8), pair(3, 4, 0.8), pair(1, 5, 0.6), pair(0, 1, 0.5)})
	least, best := v.best()
	if least != 0.5 || best != (score{6, 5, 5}) || math.Abs(best.f1()-10./11) > 1e-12 {
		t.Errorf("best at %v: %+v", least, best)
	}
	// With twice as many others the wrong ones are too many.
	twice := v.join(judge(handMade, []neardup.Pair[int]{pair(0, 5, 0.55), pair(1, 4, 0.55), pair(2, 3, 0.9)}))
	if twice.known != 10 || len(twice.any) != 12 {
		t.Errorf("joined: %+v", twice)
	}
	if least, best := twice.best(); least != 0.8 || best != (score{5, 5, 10}) {
		t.Errorf("best of both at %v: %+v", least, best)
	}
	if least, best := judge(handMade, nil).best(); !math.IsInf(least, 1) || best.f1() != 0 || best.known != 5 {
		t.Errorf("best of nothing at %v: %+v", least, best)
	}
}

// TestRadius checks that every SimHash of the papers uses the radius of 3 bits, and finds what is
// within its radius, and nothing else.
func TestRadius(t *testing.T) {
	fps := []neardup.Fingerprint64{1 << 60, 1<<60 | 0b111, 1<<60 | 0b1111, ^neardup.Fingerprint64(0), 0, 0}
	found := map[[2]int]float64{}
	for _, p := range within(fps, 3) {
		found[[2]int{min(p.A, p.B), max(p.A, p.B)}] = p.Similarity
	}
	if len(found) != 4 || found[[2]int{0, 1}] != 1-3./64 || found[[2]int{1, 2}] != 1-1./64 || found[[2]int{0, 4}] != 1-1./64 {
		t.Errorf("within 3: %v", found) // 4 and 5, texts without features, are not alike
	}
	d := shippedData(t)
	l := &lab{data: d, small: true}
	s := statistics(neardup.Fingerprinter{Tokenizer: d.terms}, d.articles)
	all := append(l.systems(s, tuned{window{0.5, 0.6}, 3}), l.rowSystems(nil, d.articles, tuned{window{0.5, 0.6}, 3})...)
	fingerprints := 0
	for _, s := range all {
		if s.bits > 0 {
			fingerprints++
			if got := s.setting(s.least); got != "H ≤ 3" {
				t.Errorf("%s uses %s", s.name, got)
			}
		}
	}
	if fingerprints != 8 {
		t.Errorf("%d methods have fingerprints", fingerprints)
	}
	for _, test := range []struct {
		system
		want string
	}{{library(), "≥ 0.50"}, {shingles("", 4, 25), "≥ 0.50"}, {iMatch("", nil), "equal"}, {blended("", neardup.Fingerprinter{}, papers.Blend{}, nil), "≥ 0.25"}} {
		if got := test.setting(test.least); got != test.want {
			t.Errorf("%q uses %s, want %s", test.name, got, test.want)
		}
	}
}

// TestSystems gives every method a text, an exact copy, and another text.
func TestSystems(t *testing.T) {
	d := shippedData(t)
	text, other := d.articles[0].text, d.articles[len(d.articles)-1].text
	pool := []*document{{text: text, of: 1}, {text: text, of: 1}, {text: other, of: 2}}
	l := &lab{data: d, small: true}
	frequencies := statistics(neardup.Fingerprinter{Tokenizer: d.terms}, d.articles)
	for _, s := range l.systems(frequencies, tuned{window{0.1, 1}, 3}) {
		if got := judge(pool, s.find(pool, s.least)).at(s.least); got != (score{2, 2, 2}) {
			t.Errorf("%s: %+v", s.name, got)
		}
	}
	f := neardup.Fingerprinter{Hash: hashes.S001()}
	blend := blended("", f, papers.Blend{}, func(a, b *document) float64 { return 0 })
	found := blend.find(pool, 0.25)
	if len(found) != 1 || found[0].Similarity != 0.9 {
		t.Errorf("the score of equal texts without common metadata: %v", found)
	}
}

// TestMisjudged counts by hand: distances 1 and 5 of pairs that are alike, 3 and 9 of others.
func TestMisjudged(t *testing.T) {
	var pairs []shortPair
	distances := map[string]float64{}
	for i, d := range []float64{1, 5, 3, 9} {
		pairs = append(pairs, shortPair{A: fmt.Sprint(i), Label: 1 - i/2})
		distances[fmt.Sprint(i)] = d
	}
	at := misjudged(pairs, measure{distance: func(a, _ string) float64 { return distances[a] }})
	for threshold, want := range map[int]misjudgement{0: {2, 2, 2, 0}, 1: {2, 2, 1, 0}, 2: {2, 2, 1, 0}, 3: {2, 2, 1, 1}, 4: {2, 2, 1, 1}, 5: {2, 2, 0, 1}, 8: {2, 2, 0, 1}, 9: {2, 2, 0, 2}, 20: {2, 2, 0, 2}} {
		if at[threshold] != want {
			t.Errorf("at %d: %+v, want %+v", threshold, at[threshold], want)
		}
	}
	if r := at[3].rate(); r != 0.5 {
		t.Errorf("the rate at 3 is %v", r)
	}
	if best := leastWrong(at); best != 1 {
		t.Errorf("the best threshold is %d", best)
	}
}

// shippedData returns the texts of the repository.
func shippedData(t *testing.T) *data {
	t.Helper()
	t.Chdir("../..")
	d, err := readData("", true)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
