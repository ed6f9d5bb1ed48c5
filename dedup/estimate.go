package dedup

import (
	"cmp"
	"context"
	"fmt"

	"github.com/neardup/neardup"
)

// This file says how much can be expected of the pairs: how many are wrong, and how many are missed.

// An Estimate says what is to be expected of the pairs that a [Deduplicator] finds. A probability of 0.9 means that nine of ten such pairs are near-duplicates. So the sum of the probabilities
// is how many are right. Equal documents are not counted: they are certain.
type Estimate struct {
	Probability float64 // the smallest one of near-duplicates; 0 if the similarity decides
	Similarity  float64 // the smallest cosine of near-duplicates; 0 if the probability decides

	Pairs  int     // pairs of near-duplicates
	Wrong  float64 // how many of them are none, as the probabilities say
	Missed float64 // how many near-duplicates are among the pairs that were compared and have a smaller probability

	// Histogram has the number of pairs that were compared, by probability: Histogram[0] is that of pairs with a
	// probability below 0.05, and Histogram[19] that from 0.95 on. Pairs of kinds that do not count, and of a template,
	// are left out, here and in Missed.
	Histogram [20]int
}

// String describes the estimate in a line.
func (t Estimate) String() string {
	from := fmt.Sprintf("a probability of %.2f", t.Probability)
	if t.Similarity > 0 {
		from = fmt.Sprintf("a similarity of %.2f", t.Similarity)
	}
	return fmt.Sprintf("near-duplicates from %s on; about %.0f of %d pairs are wrong, and about %.0f are missed", from, t.Wrong, t.Pairs, t.Missed)
}

// emptyEstimate returns the estimate for no pairs.
func (s *snapshot[ID]) emptyEstimate() Estimate {
	if s.options.Similarity > 0 {
		return Estimate{Similarity: s.options.Similarity}
	}
	return Estimate{Probability: s.options.Probability}
}

// count takes a pair that was compared into account.
func (t *Estimate) count(e *edge, isTemplate bool, kinds neardup.Kind) {
	switch {
	case e.kind&kinds != 0:
		t.Pairs++
		t.Wrong += 1 - e.probability
	case isTemplate || e.kind != 0: // a pair of a kind that does not count
		return
	default:
		t.Missed += e.probability
	}
	t.Histogram[min(int(e.probability*20), 19)]++
}

// add adds the counts of a part. The parts come in a fixed order, so the sums are always the same.
func (t *Estimate) add(part *Estimate) {
	t.Pairs += part.Pairs
	t.Wrong += part.Wrong
	t.Missed += part.Missed
	for i, n := range part.Histogram {
		t.Histogram[i] += n
	}
}

// Estimate returns what can be expected of Pairs for the documents that are there now. It takes as long as Pairs, or no
// time if nothing has changed since Pairs, Groups or Families were called. The error is that of the context or of the files.
func (d *Deduplicator[ID]) Estimate(ctx context.Context) (Estimate, error) {
	s, err := d.snapshot(0)
	if err != nil {
		return Estimate{}, err
	}
	if all := s.edges(ctx); all != nil {
		return all.estimate, cmp.Or(ctx.Err(), s.files())
	}
	t := s.emptyEstimate() // there are too many edges to keep them
	for p := range s.scores(ctx) {
		e := edge{verdict: verdict{p.Similarity, p.Probability, p.kind}}
		t.count(&e, p.IsTemplate, s.options.Kinds)
	}
	return t, cmp.Or(ctx.Err(), s.files())
}
