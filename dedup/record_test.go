package dedup_test

import (
	"math"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

// people is a Fingerprinter for records of people.
func people() neardup.Fingerprinter {
	return neardup.Fingerprinter{Fields: []neardup.Field{
		{Name: "name", Split: neardup.NGrams{N: 3}}, {Name: "born", Form: neardup.DateValue, Weight: 3},
	}}
}

// TestRecords: records are near-duplicates by the fields, whatever else they have.
func TestRecords(t *testing.T) {
	d, err := dedup.New[int](dedup.Options{Fingerprinter: people()})
	if err != nil {
		t.Fatal(err)
	}
	for id, rec := range []neardup.Record{
		{"name": "Zhang San", "born": "1956-04-09", "note": "first"},
		{"name": "Li Si", "born": "1970-01-02", "note": "first"},
		{"name": "Zhang Sam", "born": "9 April 1956", "note": "second"},
		{"name": "Li Si", "born": "1970-01-02"},
		{"name": "LI SI", "born": "2 January 1970"},
	} {
		if err := d.Add(id, rec); err != nil {
			t.Fatal(err)
		}
	}
	type said struct {
		kind       neardup.Kind
		similarity float64
	}
	found := map[[2]int]said{}
	for p, err := range d.Pairs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found[[2]int{p.A, p.B}] = said{p.Kind, p.Similarity}
	}
	// The same day, written otherwise, is the same feature; the words are others.
	otherwise := said{neardup.SameExceptNumbers, 1}
	if len(found) != 4 || found[[2]int{0, 2}].similarity < 0.8 || found[[2]int{1, 3}] != (said{neardup.Identical, 1}) || found[[2]int{1, 4}] != otherwise || found[[2]int{3, 4}] != otherwise {
		t.Errorf("%v", found)
	}
	n := 0
	for m, err := range d.Search(t.Context(), neardup.Record{"name": "Li Si", "born": "1970/01/02"}) {
		if err != nil || m.ID == 0 || m.ID == 2 || m.Similarity != 1 || m.Probability < 0.99 {
			t.Errorf("%v, %v", m, err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d records are found", n)
	}
}

// TestRecordsRefused: a record without Fields, or with none of their columns, is an error and is not stored.
func TestRecordsRefused(t *testing.T) {
	for what, f := range map[string]neardup.Fingerprinter{"no Fields": {}, "misspelt": people()} {
		d, err := dedup.New[int](dedup.Options{Fingerprinter: f})
		if err != nil {
			t.Fatal(err)
		}
		rec := neardup.Record{"nmae": "Ann"}
		if d.Add(1, rec) == nil || d.Len() != 0 {
			t.Errorf("%s: the record is stored", what)
		}
		if _, err := d.SearchAndAdd(t.Context(), 1, rec); err == nil || d.Len() != 0 {
			t.Errorf("%s: the record is stored by a search", what)
		}
		for _, err := range d.Search(t.Context(), rec) {
			if err == nil {
				t.Errorf("%s: the record is looked for", what)
			}
		}
	}
}

// TestFieldsRefused: New refuses a Fingerprinter with settings that cannot mean anything.
func TestFieldsRefused(t *testing.T) {
	for _, field := range []neardup.Field{{Weight: -1}, {Weight: math.NaN()}, {Weight: math.Inf(1)}, {Form: neardup.PhoneValue + 1}} {
		field.Name = "name"
		if _, err := dedup.New[int](dedup.Options{Fingerprinter: neardup.Fingerprinter{Fields: []neardup.Field{field}}}); err == nil || !strings.Contains(err.Error(), `"name"`) {
			t.Errorf("%+v: %v", field, err)
		}
	}
	for i := range 256 {
		n := neardup.Normalizer{Numbers: neardup.Treatment(i)}
		if _, err := dedup.New[int](dedup.Options{Fingerprinter: neardup.Fingerprinter{Normalizer: n}}); (err != nil) != (i > int(neardup.TreatmentRemove)) {
			t.Errorf("Numbers: %d: %v", i, err)
		}
	}
	f := neardup.Fingerprinter{
		Tokenizer: neardup.Words{StopWords: neardup.NewLexicon("therefore")},
		Weight:    neardup.Product{neardup.Count, neardup.Markers{Lexicon: neardup.NewLexicon("therefore")}},
	}
	if _, err := dedup.New[int](dedup.Options{Fingerprinter: f}); err == nil {
		t.Error("a stop word is a marker")
	}
}
