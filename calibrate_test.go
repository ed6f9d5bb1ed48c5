package neardup

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/lex"
)

// TestCalibrate finds, of texts with more and more changes, the similarity that tells wanted from
// unwanted ones.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(600) // with fewer, the labels that are wrong decide
	d, _ := NewDeduplicator[int](DeduplicatorOptions{Similarity: 0.9})
	d.AddAll(bg, slices.All(texts))
	// The truth is a similarity of 0.7 or more, but for some errors.
	low, _ := NewDeduplicator[int](DeduplicatorOptions{Similarity: leastCurve})
	low.AddAll(bg, slices.All(texts))
	var labels, positive []Label[int]
	n := 0
	for p := range low.Pairs(bg) { // unlabelled are those of texts that have nothing to do with each other
		if p.Similarity < 0.4 {
			continue
		}
		is := p.Similarity >= 0.7
		if n++; n%20 == 0 {
			is = !is
		}
		labels = append(labels, Label[int]{p.B, p.A, is})
		if is {
			positive = append(positive, labels[len(labels)-1])
		}
	}
	for _, complete := range []bool{false, true} {
		use := labels
		if complete {
			use = positive
		}
		cal, err := d.Calibrate(bg, use, Goal{Complete: complete})
		if err != nil {
			t.Fatal(err)
		}
		if s := cal.Options.Similarity; math.Abs(s-0.7) > 0.03 || s != cal.Point.Similarity || len(cal.Curve) != 81 {
			t.Errorf("complete %v: similarity %g, %d points", complete, s, len(cal.Curve))
		}
		if !strings.Contains(cal.String(), fmt.Sprintf("%.2f     %.4f", cal.Point.Similarity, cal.Point.Precision)) || strings.Count(cal.String(), "<") != 1 {
			t.Errorf("the curve is\n%v", cal)
		}
		// What it says is what the settings find.
		found, right := 0, 0
		e, _ := NewDeduplicator[int](cal.Options)
		e.AddAll(bg, slices.All(texts))
		for p := range e.Pairs(bg) {
			if found++; slices.Contains(positive, Label[int]{p.B, p.A, true}) {
				right++
			}
		}
		if found != cal.Point.Found || right != cal.Point.Right || cal.Point.Recall != float64(right)/float64(len(positive)) || cal.Point.Precision != float64(right)/float64(found) {
			t.Errorf("complete %v: %d pairs, %d right; the curve says %+v", complete, found, right, cal.Point)
		}
		precise, err := d.Calibrate(bg, use, Goal{Precision: 0.97, Complete: complete})
		if err != nil || precise.Point.Precision < 0.97 || precise.Point.Similarity < cal.Point.Similarity {
			t.Errorf("precision: %+v, %v", precise.Point, err)
		}
		all, err := d.Calibrate(bg, use, Goal{Recall: 0.98, Complete: complete})
		if err != nil || all.Point.Recall < 0.98 || all.Point.Similarity > cal.Point.Similarity {
			t.Errorf("recall: %+v, %v", all.Point, err)
		}
		for _, p := range all.Curve {
			if p.Recall >= 0.98 && p.Precision > all.Point.Precision {
				t.Errorf("%+v is better than %+v", p, all.Point)
			}
		}
	}
	d.Add(7777, "山水") // shares nothing with the others
	for name, test := range map[string]struct {
		labels []Label[int]
		goal   Goal
	}{
		"no labels":                 {nil, Goal{Complete: true}},
		"no duplicate":              {[]Label[int]{{0, 1, false}}, Goal{Recall: 0.5}},
		"only duplicates":           {[]Label[int]{{0, 1, true}}, Goal{Precision: 0.5}},
		"an unknown id":             {[]Label[int]{{0, 1, true}, {0, 9999, false}}, Goal{}},
		"a document with itself":    {[]Label[int]{{0, 0, true}, {0, 1, false}}, Goal{}},
		"a contradiction":           {[]Label[int]{{0, 1, true}, {1, 0, false}}, Goal{}},
		"two goals":                 {labels, Goal{Precision: 0.5, Recall: 0.5}},
		"no share":                  {labels, Goal{Precision: 1.5}},
		"a goal that is not to be":  {labels, Goal{Recall: 1, Complete: true}},
		"duplicates without any in": {[]Label[int]{{0, 7777, true}, {0, 5, false}}, Goal{}},
	} {
		if name == "a goal that is not to be" { // a duplicate that shares nothing
			test.labels = append(slices.Clone(positive), Label[int]{0, 7777, true})
		}
		if cal, err := d.Calibrate(bg, test.labels, test.goal); err == nil {
			t.Errorf("%s: %+v", name, cal.Point)
		}
	}
}

// TestCalibrateFew: without labels it is what the collection shows; a few labels move it only as far
// as they must; and the pairs that it asks about are near the border.
func TestCalibrateFew(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(shorter(600, 200))
	var d Deduplicator[int]
	d.AddAll(bg, slices.All(texts))
	estimate := must(d.Threshold(bg)).Similarity
	none, err := d.Calibrate(bg, nil, Goal{})
	if err != nil || none.Options.Similarity != estimate || none.Threshold.Similarity != estimate || none.Curve != nil {
		t.Fatalf("%+v, %v, not %g", none, err, estimate)
	}
	if n := len(none.Ask); n < 2 || n > maxAsk {
		t.Fatalf("it asks about %d pairs", len(none.Ask))
	}
	seen := map[int]bool{}
	for _, p := range none.Ask {
		if math.Abs(p.Similarity-estimate) > 0.1 || seen[p.A] || seen[p.B] || p.A >= p.B || p.Kind == 0 {
			t.Errorf("it asks about %v, where the border is %g", p, estimate)
		}
		seen[p.A], seen[p.B] = true, true
	}
	for _, l := range []struct {
		duplicate bool
		want      func(p Pair[int]) float64
	}{
		{true, func(p Pair[int]) float64 { return min(estimate, math.Floor(p.Similarity*100)/100) }},
		{false, func(p Pair[int]) float64 { return max(estimate, math.Floor(p.Similarity*100)/100+0.01) }},
	} {
		for _, p := range none.Ask {
			cal, err := d.Calibrate(bg, []Label[int]{{p.A, p.B, l.duplicate}}, Goal{})
			if err != nil || math.Abs(cal.Options.Similarity-l.want(p)) > 1e-9 {
				t.Errorf("%v is a duplicate: %t: %g, want %g, %v", p, l.duplicate, cal.Options.Similarity, l.want(p), err)
			}
			for _, q := range cal.Ask {
				if q.A == p.A && q.B == p.B {
					t.Errorf("it asks again about %v", p)
				}
			}
		}
	}
}

// An explanation adds up to the similarity, and has the features as they are in the texts.
func TestExplain(t *testing.T) {
	t.Parallel()
	texts := corpusTexts(t, "en", "zh")
	d, _ := NewDeduplicator[int](DeduplicatorOptions{})
	d.AddAll(bg, slices.All(texts))
	normal, _ := NewDeduplicator[int](DeduplicatorOptions{Fingerprinter: Fingerprinter{Tokenizer: Words{}, Normalizer: Normalizer{Numbers: Mask}}})
	normal.AddAll(bg, slices.All(texts))
	for i, a := range texts {
		b := texts[(i+1)%len(texts)]
		for _, d := range []*Deduplicator[int]{d, normal} {
			e := must(d.Explain(a, b))
			sum, left := 0.0, [2]float64{}
			for n, f := range e.Features {
				sum += f.A * f.B
				left[0] += f.A * f.A
				left[1] += f.B * f.B
				if f.Text == "" || f.A == 0 && f.B == 0 {
					t.Fatalf("feature %d is %+v", n, f)
				}
				if n > 0 && math.Abs(f.A*f.B) > math.Abs(e.Features[n-1].A*e.Features[n-1].B) {
					t.Fatalf("feature %d is out of order", n)
				}
				if f.Documents < 1 || f.Documents > len(texts) {
					t.Fatalf("feature %+v of stored documents is in so many", f)
				}
			}
			if math.Abs(sum-e.Similarity) > 1e-9 || math.Abs(left[0]-1) > 1e-6 || math.Abs(left[1]-1) > 1e-6 {
				t.Fatalf("%d: the features add up to %g, not %g; norms %v", i, sum, e.Similarity, left)
			}
		}
	}
	e := must(d.Explain("西游记EP01", "西游记EP02"))
	if s := e.String(); !strings.Contains(s, "near-duplicates: similarity 0.") || !strings.Contains(s, `"西游"`) || !strings.Contains(s, "only the second has") || !e.Duplicate() {
		t.Errorf("%v", e)
	}
	rec, _ := NewDeduplicator[int](DeduplicatorOptions{Fingerprinter: Fingerprinter{Fields: []Field{{Name: "name", Split: Words{}}, {Name: "city", Named: true}}}})
	rec.AddRecord(1, Record{"name": "Anna Maria", "city": "Bonn"})
	rec.AddRecord(2, Record{"name": "Anna", "city": "Bonn"})
	x := must(rec.ExplainRecords(Record{"name": "Anna Maria", "city": "Bonn"}, Record{"name": "Anna", "city": "Bonn"}))
	if len(x.Features) != 3 || x.Features[2].Text != "maria" || x.Features[2].B != 0 {
		t.Errorf("%+v", x)
	}
	if got := listed(rec.SearchRecord(Record{"name": "Anna", "city": "Bonn"})); len(got) != 2 || got[0] != (Match[int]{ID: 2, Similarity: 1, Kind: Identical}) {
		t.Errorf("%v", got)
	}
	if got := must(rec.SearchAndAddRecord(3, Record{"name": "anna", "city": "Bonn"})); len(got) != 2 || rec.Len() != 3 {
		t.Errorf("%v", got)
	}
}

// The features of profiles are runs of words or characters, as is said of them, and any text has
// some or none.
func FuzzProfile(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "one two three four", "西游记EP01", "楼下施工", "中a文b", "ภาษาไทย", "\xff\xfe", "😀😀 x", strings.Repeat("word ", 60), strings.Repeat("字", 1200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := new(Fingerprinter).profile(text)
		p.terms.check()
		// A slim profile is made whole again.
		slim := new(Fingerprinter).slimProfile(text)
		again := slim.whole(&Fingerprinter{})
		if !slices.Equal(again.terms, p.terms) || !slices.Equal(again.words, p.words) || again.fine != p.fine || again.digest != p.digest || again.hasFeatures() != p.hasFeatures() {
			t.Fatalf("%q: %+v, again %+v", text, p, again)
		}
		hasWord := false
		units := 0
		for range (Words{}).Tokens(text) {
			hasWord = true
			units++
		}
		if hasWord != (len(p.terms) > 0) || p.fine < 0 || p.fine > 1 || (p.fine == 1) != (units <= shortText) || (p.fine == 0) != (units >= longText) {
			t.Fatalf("%q: %d terms, %d units, share %g", text, len(p.terms), units, p.fine)
		}
		// Spelled out by the tokenizers.
		want := map[uint64]float64{}
		for level, chars := range []bool{false, true} {
			if level == 0 && p.fine == 1 || level == 1 && p.fine == 0 {
				continue
			}
			var us []string
			tok := Tokenizer(Words{})
			if chars {
				tok = NGrams{1}
			}
			for u := range tok.Tokens(text) {
				us = append(us, strings.Clone(u.Text))
			}
			gap := map[bool]string{true: "", false: " "}[chars]
			self := func(i int) bool {
				r := []rune(us[i])
				_, class, _ := lex.Next([]byte(string(r[0])), 0)
				return class == lex.Single
			}
			add := func(run []string) { want[levelKey(strings.Join(run, gap), uint64(level), nil)]++ }
			if len(us) < 3 {
				if len(us) > 0 {
					add(us)
				}
				continue
			}
			for i := range us {
				switch {
				case i+1 < len(us) && self(i) && self(i+1):
					add(us[i : i+2])
				case i+2 < len(us):
					add(us[i : i+3])
				}
			}
		}
		if len(want) != len(p.terms) {
			t.Fatalf("%q: %d features, not %d", text, len(p.terms), len(want))
		}
		for _, term := range p.terms {
			if w := float32(logCount(want[term.Feature])); w != term.Weight {
				t.Fatalf("%q: feature %x weighs %g, not %g", text, term.Feature, term.Weight, w)
			}
		}
		if !p.levels {
			t.Fatal("one level")
		}
	})
}
