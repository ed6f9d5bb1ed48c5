package dedup

import (
	"cmp"
	"context"
	"fmt"

	"github.com/neardup/neardup"
)

// This file says how much can be expected of the pairs: how many are wrong, and how many are missed.

// A Threshold says from where on a [Deduplicator] takes documents for near-duplicates, and what is to be expected of the
// pairs. A probability of 0.9 means that nine of ten such pairs are near-duplicates. So the sum of the probabilities
// is how many are right. Equal documents are not counted: they are certain.
type Threshold struct {
	Probability float64 // the smallest one of near-duplicates; 0 if the similarity decides
	Similarity  float64 // the smallest cosine of near-duplicates; 0 if the probability decides

	Pairs  int     // pairs of near-duplicates
	Wrong  float64 // how many of them are none, as the probabilities say
	Missed float64 // how many near-duplicates are among the pairs that were compared and do not count

	// Curve has the number of pairs that were compared, by probability: Curve[0] is that of pairs with a probability
	// below 0.05, and Curve[19] that from 0.95 on. Pairs of a template are left out unless they count.
	Curve [20]int
}

// String describes the threshold in a line.
func (t Threshold) String() string {
	from := fmt.Sprintf("a probability of %.2f", t.Probability)
	if t.Similarity > 0 {
		from = fmt.Sprintf("a similarity of %.2f", t.Similarity)
	}
	return fmt.Sprintf("near-duplicates from %s on; about %.0f of %d pairs are wrong, and about %.0f are missed", from, t.Wrong, t.Pairs, t.Missed)
}

// emptyThreshold returns the threshold of no pairs.
func (s *snapshot[ID]) emptyThreshold() Threshold {
	if s.options.Similarity > 0 {
		return Threshold{Similarity: s.options.Similarity}
	}
	return Threshold{Probability: s.options.Probability}
}

// count takes a pair that was compared into account.
func (t *Threshold) count(e *edge, isTemplate bool, kinds neardup.Kind) {
	switch {
	case e.kind&kinds != 0:
		t.Pairs++
		t.Wrong += 1 - e.probability
	case isTemplate || e.kind != 0: // a pair of a kind that does not count
		return
	default:
		t.Missed += e.probability
	}
	t.Curve[min(int(e.probability*20), 19)]++
}

// add adds the counts of a part. The parts come in a fixed order, so the sums are always the same.
func (t *Threshold) add(part *Threshold) {
	t.Pairs += part.Pairs
	t.Wrong += part.Wrong
	t.Missed += part.Missed
	for i, n := range part.Curve {
		t.Curve[i] += n
	}
}

// Threshold returns what can be expected of Pairs for the documents that are there now. It takes as long as Pairs, or no
// time if nothing has changed since Pairs, Groups or Families were called. The error is that of the context or of the files.
func (d *Deduplicator[ID]) Threshold(ctx context.Context) (Threshold, error) {
	s, err := d.snapshot(0)
	if err != nil {
		return Threshold{}, err
	}
	if all := s.edges(ctx); all != nil {
		return all.threshold, cmp.Or(ctx.Err(), s.files())
	}
	t := s.emptyThreshold() // there are too many edges to keep them
	for p := range s.scores(ctx) {
		e := edge{verdict: verdict{p.Similarity, p.Probability, p.kind}}
		t.count(&e, p.IsTemplate, s.options.Kinds)
	}
	return t, cmp.Or(ctx.Err(), s.files())
}
