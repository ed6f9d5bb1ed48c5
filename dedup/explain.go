package dedup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/decision"
	"github.com/neardup/neardup/dedup/internal/evidence"
)

// This file says why two documents are near-duplicates, or not. It asks the same judge as a search does, so an
// explanation has the numbers that Search and Pairs report. It also answers for two documents that a collection
// never compares because they are not neighbours.

// An Explanation says why two documents are near-duplicates, or why they are not.
type Explanation struct {
	Similarity  float64      // of the two, from 0 to 1
	Probability float64      // that they are near-duplicates
	Kind        neardup.Kind // how they differ

	Duplicate bool // they are near-duplicates, and their kind counts
	Compared  bool // they are neighbours; otherwise they have too little in common to be compared in a collection

	// Evidence is what the probability is computed from. The logarithm of the odds is Constant plus the sum of
	// what the quantities add. There are two exceptions: equal documents have the probability 1, and pages of a
	// template the one that their texts alone would have.
	Evidence []Quantity
	Constant float64 // with the Bias of the options

	// Features has the features of both, those that matter most first; nil for records and for the caller's own
	// features.
	Features []ExplainedFeature
}

// A Quantity is a part of the evidence about a pair.
type Quantity struct {
	Name  string
	Value float64
	Adds  float64 // to the logarithm of the odds
}

// An ExplainedFeature is a feature of one of the two documents, or of both.
type ExplainedFeature struct {
	Text string

	// A and B are the weights of the feature in the two documents, scaled to vectors of length 1; 0 means that the
	// document does not have the feature. The similarity is the sum of A·B over all features.
	A, B float64
}

// Explain says why two stored documents are near-duplicates, or why they are not. Features that both have come
// first, in the order of what they add to the similarity. The others follow, in the order of their share of
// their own document. It returns an error if there is no such document, or if the files fail.
func (d *Deduplicator[ID]) Explain(a, b ID) (Explanation, error) {
	if err := d.settle(); err != nil {
		return Explanation{}, err
	}
	defer d.mu.RUnlock()
	var slots [2]uint32
	var texts [2]uint64
	for k, id := range []ID{a, b} {
		slot, ok := d.slotOf(id)
		if !ok {
			return Explanation{}, fmt.Errorf("neardup: there is no document %v", id)
		}
		slots[k], texts[k] = d.docs.At(slot).content, d.docs.At(slot).text
	}
	w := d.judge().Worker()
	v := w.Evidence(slots[0], slots[1])
	score := w.Score(slots[0], slots[1])
	e := Explanation{Compared: slots[0] == slots[1] || w.AreNear(slots[0], slots[1])}
	e.Similarity, e.Probability = score.Similarity, score.Probability
	switch {
	case slots[0] != slots[1]:
		e.Kind = w.Kind(slots[0], slots[1], score)
	case texts[0] == texts[1]:
		e.Kind = neardup.Identical
	default:
		e.Kind = neardup.SameWords
	}
	first := d.contents.At(slots[0])
	if slots[0] == slots[1] && first.HasFeatures() { // equal documents are certain, as in Pairs, whatever the function says
		e.Similarity, e.Probability = 1, 1
	}
	e.Duplicate = e.Compared && first.HasFeatures() && d.options.isAlike(e.Similarity, e.Probability) && e.Kind&d.options.Kinds != 0
	e.Evidence, e.Constant = d.options.quantities(&v)
	e.Features = d.features(slots)
	return e, d.usable()
}

// quantities returns the evidence by name. The constant is what is left of the sum when all parts are taken
// off, so that the parts add up to the log odds for any function.
func (o *Options) quantities(v *evidence.Vector) (all []Quantity, constant float64) {
	sum, adds := decision.LogOdds(v)
	for i, name := range evidence.Names {
		q := Quantity{Name: name, Adds: adds[i]}
		if i < evidence.FromTexts {
			q.Value = v.Texts[i]
		} else {
			q.Value = v.Places[i-evidence.FromTexts]
		}
		sum -= q.Adds
		all = append(all, q)
	}
	return all, sum + o.Bias
}

// features returns the features of two contents by their weight, or nil if a content has no body. Comparisons
// know features only by their keys, so the body is cut again to get their texts.
func (d *Deduplicator[ID]) features(slots [2]uint32) (features []ExplainedFeature) {
	if !d.maker.HasLevels() {
		return nil
	}
	names, at := map[uint64]string{}, map[uint64]int{}
	for side, slot := range slots {
		c := d.contents.At(slot)
		if !c.HasBody() {
			return nil
		}
		c.Body(func(body string) {
			d.maker.EachFeature(body, func(key uint64, feature string) { names[key] = feature })
		})
		r := d.maker.Reading(&c)
		var squares [2]float64
		for _, t := range r.Terms {
			squares[t.Feature&1] += float64(t.Weight) * float64(t.Weight)
		}
		shares := [2]float64{math.Sqrt(1 - r.Fine), math.Sqrt(r.Fine)}
		for _, t := range r.Terms {
			weight := float64(t.Weight) * (1 / math.Sqrt(squares[t.Feature&1])) * shares[t.Feature&1]
			if weight == 0 {
				continue
			}
			i, ok := at[t.Feature]
			if !ok {
				i = len(features)
				at[t.Feature] = i
				features = append(features, ExplainedFeature{Text: names[t.Feature]})
			}
			if side == 0 {
				features[i].A = weight
			} else {
				features[i].B = weight
			}
		}
	}
	// Features of one document only have a product of 0, so they come after all others. Spelling comes last to
	// make the order unique.
	slices.SortFunc(features, func(f, g ExplainedFeature) int {
		return cmp.Or(cmp.Compare(g.A*g.B, f.A*f.B), cmp.Compare(float64(g.A*g.A)+float64(g.B*g.B), float64(f.A*f.A)+float64(f.B*f.B)), cmp.Compare(f.Text, g.Text))
	})
	return features
}

// String returns the verdict, the quantities that matter most, and three lists: the features that both documents
// have, that only the first has, and that only the second has. Each list shows its ten heaviest features.
func (e Explanation) String() string {
	var b strings.Builder
	switch {
	case e.Duplicate:
		b.WriteString("near-duplicates")
	case !e.Compared:
		b.WriteString("not near-duplicates: too little in common to be compared")
	default:
		b.WriteString("not near-duplicates")
	}
	fmt.Fprintf(&b, "; probability %.3f, similarity %.3f, %v\n", e.Probability, e.Similarity, e.Kind)
	all := slices.Clone(e.Evidence)
	slices.SortStableFunc(all, func(p, q Quantity) int { return cmp.Compare(math.Abs(q.Adds), math.Abs(p.Adds)) })
	fmt.Fprintf(&b, "log odds: baseline %+.2f, plus\n", e.Constant)
	for _, q := range all {
		if q.Adds != 0 {
			fmt.Fprintf(&b, "  %+.2f  %s\n", q.Adds, q.Name)
		}
	}
	for _, part := range []struct {
		title string
		in    func(f *ExplainedFeature) bool
	}{
		{"both have", func(f *ExplainedFeature) bool { return f.A != 0 && f.B != 0 }},
		{"only the first has", func(f *ExplainedFeature) bool { return f.B == 0 }},
		{"only the second has", func(f *ExplainedFeature) bool { return f.A == 0 }},
	} {
		n := 0
		for i := range e.Features {
			if f := &e.Features[i]; part.in(f) {
				if n++; n == 1 {
					fmt.Fprintf(&b, "%s\n", part.title)
				}
				if n <= 10 {
					fmt.Fprintf(&b, "  %.4f %.4f  %q\n", f.A, f.B, f.Text)
				}
			}
		}
		if n > 10 {
			fmt.Fprintf(&b, "  and %d more\n", n-10)
		}
	}
	return b.String()
}

// A Comparison is two stored documents that were compared, near-duplicates or not.
type Comparison[ID comparable] struct {
	A, B                    ID
	Similarity, Probability float64
	IsTemplate              bool // alike by their texts, but so are many others
	Evidence                []Quantity
}

// Comparisons yields all pairs of different contents that are compared, each by one document of each content,
// and what their probability comes from. There may be many times more of these than pairs of near-duplicates.
// It is for those who want to see what was nearly found, or to fit a decision of their own. The evidence is
// computed on the goroutine of the caller, pair by pair.
func (d *Deduplicator[ID]) Comparisons(ctx context.Context) iter.Seq2[Comparison[ID], error] {
	return func(yield func(Comparison[ID], error) bool) {
		s, err := d.snapshot(0)
		if err != nil {
			yield(Comparison[ID]{}, err)
			return
		}
		if !s.ready(ctx) {
			yield(Comparison[ID]{}, ctx.Err())
			return
		}
		w := s.judge.Worker()
		for p := range s.scores(ctx) {
			a, b := s.order[p.a], s.order[p.b]
			v := w.Evidence(a, b)
			c := Comparison[ID]{A: s.name(s.chain(int(p.a)).first), B: s.name(s.chain(int(p.b)).first), Similarity: p.Similarity, Probability: p.Probability, IsTemplate: p.IsTemplate}
			c.Evidence, _ = s.options.quantities(&v)
			if !yield(c, nil) {
				return
			}
		}
		if err := cmp.Or(ctx.Err(), s.files()); err != nil {
			yield(Comparison[ID]{}, err)
		}
	}
}
