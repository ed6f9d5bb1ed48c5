package neardup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/cosine"
)

// This file says why two documents are near-duplicates: the features with their weights, by how
// much each adds to the cosine. A profile knows features only by their hashes, so Explain goes
// through the two texts once more to get their spelling.

// An Explanation says why two documents are near-duplicates, or why they are not.
type Explanation struct {
	Similarity float64            // the cosine of the two documents
	Least      float64            // the similarity that near-duplicates must reach: that of the Threshold
	Kind       Kind               // how the documents differ
	Kinds      Kind               // the kinds that count as near-duplicates
	Features   []ExplainedFeature // the features of both, those that matter most first
}

// An ExplainedFeature is a feature of one of the two documents, or of both.
type ExplainedFeature struct {
	Text string

	// A and B are the weights of the feature in the two documents, scaled to vectors of length 1; 0
	// means that the document does not have the feature. The similarity is the sum of A·B over all
	// features.
	A, B float64

	// Documents is the number of stored documents that had the feature when weights were last
	// computed, where nearly equal documents count once. It is 0 if none had it.
	Documents int
}

// Duplicate reports whether the documents are near-duplicates: whether Similarity reaches Least, and
// their Kind counts.
func (e Explanation) Duplicate() bool { return e.Similarity >= e.Least && e.Kind&e.Kinds != 0 }

// Explain compares two texts with the weights that Search uses. The texts need not have been added,
// and are not. Features that both have come first, in the order of what they add to the similarity.
// The others follow, in the order of their share of their own document.
//
// It holds d for reading, and may recompute the weights first, as Search does.
func (d *Deduplicator[ID]) Explain(a, b string) (Explanation, error) {
	f := &d.options().Fingerprinter
	names := map[uint64]string{}
	for _, text := range []string{a, b} {
		// names leads from the keys of features, as the profile has them, to their spelling.
		if !f.hasLevels() {
			for feature := range f.Features(text) {
				names[featureKey(feature.Text, f.Hash.key)] = feature.Text
			}
			continue
		}
		text = f.Normalizer.Normalize(text)
		// The two levels as profile reads them, whichever of them the text is compared by.
		r := f.extractor(toTerms)
		for level, chars := range []bool{false, true} {
			r.batch.EachRun(text, chars, func(feature []byte) {
				names[levelKey(string(feature), uint64(level), f.Hash.key)] = string(feature)
			})
		}
		r.release()
	}
	return d.explain(f.profile(a), f.profile(b), names)
}

// ExplainRecords is Explain for records; see AddRecord for its errors.
func (d *Deduplicator[ID]) ExplainRecords(a, b Record) (Explanation, error) {
	f := &d.options().Fingerprinter
	names := map[uint64]string{}
	for _, rec := range []Record{a, b} {
		if f.checkRecord(rec) != nil {
			continue // recordProfile returns the error below
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

// explain compares two profiles. names has the spelling of their features.
func (d *Deduplicator[ID]) explain(a, b reading, names map[uint64]string) (Explanation, error) {
	unlock, err := d.lockFresh()
	if err != nil {
		return Explanation{}, err
	}
	defer unlock()
	h := d.known
	x, y := h.vector(&a.profile), h.vector(&b.profile)
	e := Explanation{Similarity: x.Cosine(y), Least: h.threshold.Similarity, Kinds: d.options().Kinds}
	e.Kind = kindOf(a.words, b.words, h.forms.Read(a.formWords()), h.forms.Read(b.formWords())).ofTexts(a.text, b.text)
	// Merge the two vectors: at has the position in e.Features of a feature seen on either side.
	at := map[uint64]int{}
	for side, v := range []Vector{x, y} {
		unit := cosine.UnitFactor(cosine.Square(v))
		for _, t := range v {
			i, ok := at[t.Feature]
			if !ok {
				i = len(e.Features)
				at[t.Feature] = i
				e.Features = append(e.Features, ExplainedFeature{Text: names[t.Feature], Documents: int(h.documents(t.Feature))})
			}
			if w := float64(t.Weight) * unit; side == 0 {
				e.Features[i].A = w
			} else {
				e.Features[i].B = w
			}
		}
	}
	// Features of one document only have a product of 0, so they come after all others. Spelling
	// comes last to make the order unique.
	slices.SortFunc(e.Features, func(f, g ExplainedFeature) int {
		return cmp.Or(cmp.Compare(math.Abs(g.A*g.B), math.Abs(f.A*f.B)), cmp.Compare(g.A*g.A+g.B*g.B, f.A*f.A+f.B*f.B), cmp.Compare(f.Text, g.Text))
	})
	return e, nil
}

// String returns the verdict and three lists: the features that both documents have, that only the
// first has, and that only the second has. Each list shows its ten heaviest features and the sum
// over all of them. The number before a feature of both is what it adds to the similarity. For
// other features it is their squared weight, which is their share of the document.
func (e Explanation) String() string {
	var b strings.Builder
	verdict := "near-duplicates"
	if !e.Duplicate() {
		verdict = "no near-duplicates"
	}
	fmt.Fprintf(&b, "%s: similarity %.3f, at least %.3f is needed; %v", verdict, e.Similarity, e.Least, e.Kind)
	if e.Kind&e.Kinds == 0 {
		b.WriteString(", which does not count")
	}
	b.WriteByte('\n')
	// value returns the number to print, and whether the feature is of this part. The numbers of
	// the first part add up to the similarity.
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
