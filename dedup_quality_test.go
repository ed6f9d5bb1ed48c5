package neardup

import (
	"slices"
	"testing"
)

// TestDeduplicatorQuality prints precision, recall and F1 by pairs of the default DeduplicatorOptions, and
// with the similarity that is best for one half of the groups those on the other half; and the
// same of records with a schema:
//
//	NEARDUP_DATA=… go test . -full -run DeduplicatorQuality -v
func TestDeduplicatorQuality(t *testing.T) {
	if raceDetector || !*full {
		t.Skip("takes long")
	}
	t.Parallel()
	for _, set := range []struct {
		name string
		want float64
	}{{"zh-revisions", 0.990}, {"en-versions", 0.992}} {
		texts, truth := labelled(t, set.name)
		d, err := NewDeduplicator[int](DeduplicatorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d.AddAll(bg, slices.All(texts))
		half := halves(len(texts), truth)
		var m measured
		for p := range d.Pairs(bg) {
			m.add(Pair[int]{A: p.A, B: p.B}, half, truth)
		}
		t.Logf("%-14s default      %s", set.name, m.string(truth))
		if f1 := 2 * float64(m.good[2]) / float64(m.found[2]+len(truth)); f1 < set.want {
			t.Errorf("%s: F1 %.4f, want %.3f", set.name, f1, set.want)
		}
		calibrated(t, set.name, half, truth, func(d *Deduplicator[int], keep func(i int) bool) {
			for i, text := range texts {
				if keep(i) {
					d.Add(i, text)
				}
			}
		}, DeduplicatorOptions{})
	}
	words, trigrams := Words{}, NGrams{3}
	for _, set := range []struct {
		name   string
		fields []Field
		weight Weight
		want   float64
	}{
		{"rec-febrl3", nil, Count, 0.995}, // a typing error makes a value that is rare, and says little
		{"rec-restaurant", []Field{{Name: "name", Split: words, Weight: 1}, {Name: "name", Split: trigrams, Weight: 1}, {Name: "address", Split: words}, {Name: "city", Split: words, Weight: 1}}, nil, 0.91},
	} {
		recs, names, truth := labelledRecords(t, set.name)
		if set.fields == nil {
			for _, name := range names {
				set.fields = append(set.fields, Field{Name: name}, Field{Name: name, Split: trigrams})
			}
		}
		f1 := calibrated(t, set.name, halves(len(recs), truth), truth, func(d *Deduplicator[int], keep func(i int) bool) {
			for i, rec := range recs {
				if keep(i) {
					d.AddRecord(i, rec)
				}
			}
		}, DeduplicatorOptions{Fingerprinter: Fingerprinter{Fields: set.fields, Weight: set.weight}})
		if f1 < set.want {
			t.Errorf("%s: F1 %.4f on all, want %.3f", set.name, f1, set.want)
		}
	}
}

// calibrated chooses the similarity by one half of the documents, prints what it finds in the
// other, and returns the F1 on all with that of the first half.
func calibrated(t *testing.T, name string, half []int, truth map[Pair[int]]bool, add func(d *Deduplicator[int], keep func(i int) bool), s DeduplicatorOptions) (f1 float64) {
	for h := range 2 {
		d, err := NewDeduplicator[int](s)
		if err != nil {
			t.Fatal(err)
		}
		add(d, func(i int) bool { return half[i] == h })
		var labels []Label[int]
		for p := range truth {
			if half[p.A] == h {
				labels = append(labels, Label[int]{p.A, p.B, true})
			}
		}
		cal, err := d.Calibrate(bg, labels, Goal{Complete: true})
		if err != nil {
			t.Fatal(err)
		}
		all, err := NewDeduplicator[int](cal.Options)
		if err != nil {
			t.Fatal(err)
		}
		add(all, func(int) bool { return true })
		var m measured
		for p := range all.Pairs(bg) {
			m.add(Pair[int]{A: p.A, B: p.B}, half, truth)
		}
		of := 0
		for p := range truth {
			if half[p.A] != h {
				of++
			}
		}
		other := 2 * float64(m.good[1-h]) / float64(m.found[1-h]+of)
		t.Logf("%-14s at %.2f, best for half %d: F1 %.4f on the other, %s on all", name, cal.Point.Similarity, h, other, m.string(truth))
		if h == 0 {
			f1 = 2 * float64(m.good[2]) / float64(m.found[2]+len(truth))
		}
	}
	return f1
}
