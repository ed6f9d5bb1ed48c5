package dedup

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/exact"
)

// This file says how much can be expected of the pairs: how many are wrong, and how many are missed.
//
// The probability of a pair depends on the pair and its neighbours alone, so it is right on the average of all
// collections. Of one collection more can be said. Where copies are easy, there are hardly any pairs about
// which the function is in doubt, and those with a probability of 0.9 are copies too. Where copies are rare,
// most pairs that look a little like copies are none. So the share of near-duplicates among the pairs that were
// compared is estimated from all their probabilities, and each is corrected for it: Saerens, Latinne and
// Decaestecker 2002, by expectation maximization.

// An Estimate says what can be expected of the pairs that a [Deduplicator] finds in its collection. Equal
// documents are not counted: they are certain.
type Estimate struct {
	Probability float64 // the smallest one of near-duplicates; 0 if the similarity decides
	Similarity  float64 // the smallest cosine of near-duplicates; 0 if the probability decides

	Pairs  int     // pairs of near-duplicates
	Wrong  float64 // how many of them are false positives; see [Estimate.Likely] for how far this can be trusted
	Missed float64 // how many near-duplicates are among the pairs that were compared and have a smaller probability

	// Histogram has the number of pairs that were compared, by probability: Histogram[0] is that of pairs with
	// a probability below 0.05, and Histogram[19] that from 0.95 on. Pairs of kinds that do not count, and of a
	// template, are left out, here and in Missed.
	Histogram [20]int

	// What the numbers are computed from: how many of these pairs are found, and how many are not, by the
	// logarithm of their odds without the Bias of the Options, in steps of a quarter from −6 on. The first and
	// the last step have everything beyond. They are exported so that an estimate can be stored and merged later.
	Found, NotFound [48]int
	Bias            float64

	// By this the odds of a pair are multiplied for the share of near-duplicates in the collection; 0 means 1.
	factor float64
}

// Merge returns the estimate for two Deduplicators with the same Options, if no document of one is compared with a
// document of the other. An empty Estimate is that of no documents.
func (t Estimate) Merge(other Estimate) Estimate {
	if t.Probability == 0 && t.Similarity == 0 {
		t.Probability, t.Similarity, t.Bias = other.Probability, other.Similarity, other.Bias
	}
	t.add(&other)
	t.expect()
	return t
}

// InCollection returns how likely a pair with a probability is a near-duplicate, when the share of near-duplicates
// in the collection is taken into account. Wrong is the sum of 1 minus this value, over the pairs.
func (t Estimate) InCollection(probability float64) float64 {
	if t.factor == 0 || probability <= 0 {
		return probability
	}
	return 1 / (1 + (1-probability)/probability/t.factor)
}

// Likely returns the range in which the true number lies in nine of ten collections, if wrong of the given
// number of pairs or duplicates are expected to be wrong: from half of that number minus five, to twice that
// number plus ten. It was measured on collections that the function was not fitted to
// (https://github.com/neardup/neardup/blob/main/docs/dedup.md).
func (Estimate) Likely(wrong float64, of int) (least, most int) {
	return max(0, int(math.Ceil(wrong/2-5))), min(of, int(2*wrong+10))
}

// String describes the estimate in a line.
func (t Estimate) String() string {
	from := fmt.Sprintf("a probability of %.2f", t.Probability)
	if t.Similarity > 0 {
		from = fmt.Sprintf("a similarity of %.2f", t.Similarity)
	}
	least, most := t.Likely(t.Wrong, t.Pairs)
	return fmt.Sprintf("near-duplicates at %s or more; about %.0f of %d pairs are expected to be false positives, likely %d to %d, and about %.0f are expected to be missed", from, t.Wrong, t.Pairs, least, most, t.Missed)
}

// The log odds of pairs are counted in bins. A quarter is fine enough: within a bin, odds differ by a fourth.
const (
	oddsBins = 48
	oddsBin  = 0.25
	mostOdds = oddsBins * oddsBin / 2
)

// count counts a pair that was compared. Until expect is called, an Estimate has nothing but such counts. bias
// is that of the Options, which says nothing of how the documents look.
func (t *Estimate) count(e *edge, isTemplate bool, kinds neardup.Kind, bias float64) {
	into := &t.NotFound
	switch {
	case e.kind&kinds != 0:
		into = &t.Found
	case isTemplate || e.kind != 0: // a pair of a kind that does not count
		return
	}
	t.Histogram[min(int(e.probability*20), 19)]++
	switch p := e.probability; {
	case p >= 1:
		into[oddsBins-1]++
	case p <= 0:
		into[0]++
	default:
		odds := exact.Ln(p/(1-p)) - bias
		into[min(max(int((odds+mostOdds)/oddsBin), 0), oddsBins-1)]++
	}
}

// add adds the counts of a part. The counts are integers, so the result does not depend on how the work was divided.
func (t *Estimate) add(part *Estimate) {
	for i, n := range part.Histogram {
		t.Histogram[i] += n
	}
	for bin := range t.Found {
		t.Found[bin] += part.Found[bin]
		t.NotFound[bin] += part.NotFound[bin]
	}
}

const (
	// usualShare is the share of near-duplicates for which the probabilities are right, as collections that
	// were left out show; with 0.35 and 0.45 as many of them come out well.
	usualShare = 0.4

	// So many pairs of the usual share are added to those of a collection, so that a few pairs do not decide.
	usualPairs = 10
)

// settle sets the threshold of the Options, and what follows from the counts.
func (t *Estimate) settle(o *Options) {
	if t.Probability, t.Bias = o.Probability, o.Bias; o.Similarity > 0 {
		t.Probability, t.Similarity = 0, o.Similarity
	}
	t.expect()
}

// expect sets what follows from Found and NotFound. It estimates the share of near-duplicates in turns: from
// the share follow the corrected probabilities, and their mean is the next share. It starts with the usual
// share and stops when the share hardly changes, or after 1,000 turns. The share stays off 0 and 1, where it
// could not move any more.
//
// The odds of a bin are those of its middle. They are without the Bias of the Options, since a bias moves the
// threshold of the caller and tells nothing about the documents; factor takes it off again for InCollection.
func (t *Estimate) expect() {
	var against [oddsBins]float64 // the odds that a pair is none
	t.Pairs, t.Wrong, t.Missed = 0, 0, 0
	all := float64(usualPairs)
	for bin := range against {
		against[bin] = exact.Exp(mostOdds - float64((float64(bin)+0.5)*oddsBin))
		t.Pairs += t.Found[bin]
		all += float64(t.Found[bin] + t.NotFound[bin])
	}
	const usualOdds = usualShare / (1 - usualShare)
	share, factor := usualShare, 1.0
	for range 1000 {
		factor = share / (1 - share) / usualOdds
		next := usualPairs * usualShare
		for bin, odds := range against {
			next += float64(float64(t.Found[bin]+t.NotFound[bin]) * (factor / (factor + odds)))
		}
		if next = min(max(next/all, 1e-6), 1-1e-6); math.Abs(next-share) < 1e-9 {
			break
		}
		share = next
	}
	for bin, odds := range against {
		t.Wrong += float64(float64(t.Found[bin]) * (odds / (factor + odds)))
		t.Missed += float64(float64(t.NotFound[bin]) * (factor / (factor + odds)))
	}
	t.factor = float64(factor * exact.Exp(-t.Bias))
}

// Estimate returns what can be expected of Pairs for the documents that are there now. It takes as long as
// Pairs, or no time if nothing has changed since Pairs, Groups or Families were called, and what they found
// fits into the memory. If the context has ended, it returns an estimate that takes no time, or else the error
// of the context. Any other error comes from the files.
func (d *Deduplicator[ID]) Estimate(ctx context.Context) (Estimate, error) {
	s, err := d.snapshot(0)
	if err != nil {
		return Estimate{}, err
	}
	if all := s.known(); all != nil { // takes no time, even if the context has ended
		return all.estimate, s.files()
	}
	if all := s.edges(ctx); all != nil {
		return all.estimate, cmp.Or(ctx.Err(), s.files())
	}
	var t Estimate // there are too many edges to keep them
	for p := range s.scores(ctx) {
		e := edge{verdict: verdict{p.Similarity, p.Probability, p.kind}}
		t.count(&e, p.IsTemplate, s.options.Kinds, s.options.Bias)
	}
	t.settle(s.options)
	return t, cmp.Or(ctx.Err(), s.files())
}

// logit returns the logarithm of the odds, cut off where a probability is as good as certain, so that it is finite.
func logit(p float64) float64 {
	p = min(max(p, 1e-12), 1-1e-12)
	return exact.Ln(p / (1 - p))
}

// logistic returns the probability of these log odds.
func logistic(odds float64) float64 { return 1 / (1 + exact.Exp(-odds)) }

// biasOf returns the most likely bias of pairs with these log odds, given whether they are
// duplicates, and its prior.
func biasOf(odds []float64, is []bool) (bias float64) {
	const precision = 1 / (biasDeviation * biasDeviation)
	for range 50 { // Newton's method; the function is concave
		slope, curvature := -bias*precision, precision
		for i, x := range odds {
			p := logistic(min(max(x+bias, -700), 700))
			if is[i] {
				slope += 1 - p
			} else {
				slope -= p
			}
			curvature += float64(p * (1 - p))
		}
		step := slope / curvature
		bias += min(max(step, -1), 1)
		if math.Abs(step) < 1e-9 {
			break
		}
	}
	return bias
}
