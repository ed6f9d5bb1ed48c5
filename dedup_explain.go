package neardup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/cosine"
)

// An Explanation says why two documents are near-duplicates or not.
type Explanation struct {
	Similarity float64 // the cosine
	Least      float64 // what it must be at least
	Features   []ExplainedFeature
}

// An ExplainedFeature is a feature that one of two documents has or both have.
type ExplainedFeature struct {
	Text string

	// What it weighs in each of the documents, as unit vectors: 0 if it is not there. The similarity
	// is the sum of their products.
	A, B float64

	// Documents is how many documents had it when features were last weighed, not counting those
	// that are nearly equal to another: 0 if none had it.
	Documents int
}

// Duplicate reports whether the documents are near-duplicates.
func (e Explanation) Duplicate() bool { return e.Similarity >= e.Least }

// Explain compares two texts, which need not have been added, as Search does. The features are
// ordered: those that both have, by what they add to the similarity, and then the others, by how
// much of their document they are.
func (d *Deduplicator[ID]) Explain(a, b string) (Explanation, error) {
	f := &d.options().Fingerprinter
	names := map[uint64]string{}
	for _, text := range []string{a, b} {
		if !f.hasLevels() {
			for feature := range f.Features(text) {
				names[featureKey(feature.Text, f.Hash.key)] = feature.Text
			}
			continue
		}
		text = f.Normalizer.Normalize(text)
		r := f.reading(toTerms)
		for level, chars := range []bool{false, true} {
			r.batch.EachRun(text, chars, func(feature []byte) {
				names[levelKey(string(feature), uint64(level), f.Hash.key)] = string(feature)
			})
		}
		r.release()
	}
	return d.explain(f.profile(a), f.profile(b), names)
}

// ExplainRecords is Explain for records.
func (d *Deduplicator[ID]) ExplainRecords(a, b Record) (Explanation, error) {
	f := &d.options().Fingerprinter
	names := map[uint64]string{}
	for _, rec := range []Record{a, b} {
		if f.checkRecord(rec) != nil {
			continue // recordProfile says so
		}
		for feature := range f.RecordFeatures(rec) {
			names[featureKey(feature.Text, f.Hash.key)] = feature.Text
		}
	}
	x, err := f.recordProfile(a)
	if err != nil {
		return Explanation{}, err
	}
	y, err := f.recordProfile(b)
	if err != nil {
		return Explanation{}, err
	}
	return d.explain(x, y, names)
}

func (d *Deduplicator[ID]) explain(a, b profile, names map[uint64]string) (Explanation, error) {
	unlock, err := d.lockFresh()
	if err != nil {
		return Explanation{}, err
	}
	defer unlock()
	h := d.known
	x, y := h.vector(&a), h.vector(&b)
	e := Explanation{Similarity: x.Cosine(y), Least: d.options().Similarity}
	at := map[uint64]int{}
	for side, v := range []Vector{x, y} {
		unit := cosine.UnitFactor(cosine.Square(v))
		for _, t := range v {
			i, ok := at[t.Feature]
			if !ok {
				i = len(e.Features)
				at[t.Feature] = i
				e.Features = append(e.Features, ExplainedFeature{Text: names[t.Feature], Documents: h.documents(t.Feature)})
			}
			if w := float64(t.Weight) * unit; side == 0 {
				e.Features[i].A = w
			} else {
				e.Features[i].B = w
			}
		}
	}
	slices.SortFunc(e.Features, func(f, g ExplainedFeature) int {
		return cmp.Or(cmp.Compare(math.Abs(g.A*g.B), math.Abs(f.A*f.B)), cmp.Compare(g.A*g.A+g.B*g.B, f.A*f.A+f.B*f.B), cmp.Compare(f.Text, g.Text))
	})
	return e, nil
}

// String returns the similarity, and the ten features that weigh most of those that both documents have
// and that one has.
func (e Explanation) String() string {
	var b strings.Builder
	verdict := "near-duplicates"
	if !e.Duplicate() {
		verdict = "no near-duplicates"
	}
	fmt.Fprintf(&b, "%s: similarity %.3f, at least %.3f is needed\n", verdict, e.Similarity, e.Least)
	for _, part := range []struct {
		title string
		value func(f *ExplainedFeature) (float64, bool)
	}{
		{"both have", func(f *ExplainedFeature) (float64, bool) { return f.A * f.B, f.A != 0 && f.B != 0 }},
		{"only the first has", func(f *ExplainedFeature) (float64, bool) { return f.A * f.A, f.B == 0 }},
		{"only the second has", func(f *ExplainedFeature) (float64, bool) { return f.B * f.B, f.A == 0 }},
	} {
		n, sum := 0, 0.0
		shown := ""
		for i := range e.Features {
			v, ok := part.value(&e.Features[i])
			if !ok {
				continue
			}
			if sum += v; n < 10 {
				shown += fmt.Sprintf("  %.4f  %q, in %d documents\n", v, e.Features[i].Text, e.Features[i].Documents)
			}
			n++
		}
		if n > 0 {
			fmt.Fprintf(&b, "%s %d features, %.3f in all\n%s", part.title, n, sum, shown)
		}
		if n > 10 {
			fmt.Fprintf(&b, "  and %d more\n", n-10)
		}
	}
	return b.String()
}
