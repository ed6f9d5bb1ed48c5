package dedup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
)

// This file moves the decision by pairs of documents that the caller has labelled. One number moves: the
// bias, which is added to the logarithm of the odds of every pair. Its prior is a normal distribution around
// the fitted decision, so a few labels move it a little, and a hundred as far as they say. The threshold
// follows from the target.
//
// Pairs are compared once, with the bias of the options. The new bias is then added to their log odds, which
// keeps their order, so the curve needs one sort and no second comparison.

// A Label says whether two stored documents, given by their ids, are near-duplicates. The order of A
// and B does not matter.
type Label[ID comparable] struct {
	A, B      ID
	Duplicate bool
}

// A Target says what [Deduplicator.Calibrate] looks for. The zero value keeps the threshold of the options: by
// default one half, with which the fewest decisions are wrong. At most one of Precision and Recall may be set.
type Target struct {
	// Precision, if not 0, is the fraction of the found pairs that must be duplicates, at most 1. The threshold
	// is the lowest at which that fraction is expected, and at which a pair is found.
	Precision float64

	// Recall, if not 0, is the fraction of the duplicates that must be found, at most 1. The threshold is the
	// highest at which that fraction is expected.
	Recall float64

	// Complete says that the labels name all duplicates. Then every other pair of documents that is compared
	// counts as not a duplicate. Without it, pairs without a label do not count.
	Complete bool
}

// A Calibration is the result of [Deduplicator.Calibrate].
type Calibration[ID comparable] struct {
	Options Options      // the options of the Deduplicator, with the Bias and the Probability that were chosen, and Similarity 0
	Point   CurvePoint   // what is expected with them
	Curve   []CurvePoint // what is expected at other thresholds, from 0.01 to 0.99
	Used    int          // labels of pairs that are compared; the others say nothing about the threshold

	// Ask has up to ten pairs that are worth labelling next: those without a label that are the least certain.
	// No two of them share a document.
	Ask []neardup.Pair[ID]
}

// A CurvePoint says what is expected at a threshold, from the probabilities of the pairs that are compared
// and whose kinds count.
type CurvePoint struct {
	Probability           float64 // the threshold
	Precision, Recall, F1 float64 // in [0, 1]; Precision is 1 if nothing is found
	Found                 int     // pairs
}

// String returns the curve as a table of one line for each tenth, with the chosen point.
func (c Calibration[ID]) String() string {
	var b strings.Builder
	b.WriteString("probability  precision  recall     F1    found\n")
	for i, p := range append(slices.Clone(c.Curve), c.Point) {
		if i == len(c.Curve) || (i+1)%10 == 0 {
			mark := ""
			if i == len(c.Curve) {
				mark = "  <"
			}
			fmt.Fprintf(&b, "       %.2f     %.4f  %.4f  %.4f  %7d%s\n", p.Probability, p.Precision, p.Recall, p.F1, p.Found, mark)
		}
	}
	return b.String()
}

const (
	// biasDeviation is the standard deviation of the bias: the largest with which twenty random labels are never
	// worse than none by more than 0.005 in the mean of fifty draws, on any of fourteen collections (docs/dedup.md).
	biasDeviation = 0.35

	mostAsk = 10 // pairs that a Calibration asks about

	// leastCalibrated is the smallest probability of a pair that takes part: less than one in a hundred says
	// nothing about the threshold.
	leastCalibrated = 0.01
)

// check returns an error if a target is out of range.
func (g Target) check() error {
	switch {
	case !(g.Precision >= 0 && g.Precision <= 1):
		return fmt.Errorf("neardup: a precision of %g is not above 0 and at most 1", g.Precision)
	case !(g.Recall >= 0 && g.Recall <= 1):
		return fmt.Errorf("neardup: a recall of %g is not above 0 and at most 1", g.Recall)
	case g.Precision > 0 && g.Recall > 0:
		return errors.New("neardup: a target has a precision or a recall, not both")
	}
	return nil
}

// Calibrate returns the options that reach a target, fitted to labelled pairs of stored documents. They take
// effect in a new Deduplicator; d does not change. Labels should include hard cases: pairs that look alike but
// are not duplicates. Calibration.Ask has some. Without labels the decision stays the same, and only the
// threshold is chosen for the target.
//
// It compares all documents, and takes as long as Pairs. It returns an error if the target is out of range or
// is not reached by any threshold, if an id is unknown, and if a label names one document twice or contradicts
// another label. Any other error comes from the context or the files.
func (d *Deduplicator[ID]) Calibrate(ctx context.Context, labels []Label[ID], target Target) (Calibration[ID], error) {
	c := Calibration[ID]{Options: d.options}
	if err := target.check(); err != nil {
		return c, err
	}
	s, err := d.snapshot(0)
	if err != nil {
		return c, err
	}
	said, err := s.labelled(labels)
	if err != nil {
		return c, err
	}
	// Other thresholds than that of the options are tried, so all pairs above the lowest one get a kind. Only
	// the snapshot has these options, and scores are not kept, so nobody else sees the pairs.
	every := d.options
	every.Probability, every.Similarity = leastCalibrated, 0
	s.options = &every
	var pairs []scored
	for p := range s.scores(ctx) {
		if p.kind&d.options.Kinds != 0 {
			pairs = append(pairs, p)
		}
	}
	if err := cmp.Or(ctx.Err(), s.files()); err != nil {
		return c, err
	}
	var odds []float64 // of labelled pairs
	var is []bool
	for _, p := range pairs {
		if duplicate, ok := said[[2]int32{p.a, p.b}]; ok || target.Complete {
			odds, is = append(odds, logit(p.Probability)), append(is, duplicate)
		}
	}
	c.Used = len(odds)
	bias := biasOf(odds, is)
	c.Options.Bias = min(max(c.Options.Bias+bias, -mostBias), mostBias)
	for i := range pairs {
		pairs[i].Probability = logistic(logit(pairs[i].Probability) + bias)
	}
	if err := c.choose(pairs, target); err != nil {
		return c, err
	}
	c.Ask = s.ask(pairs, said, c.Options.Probability)
	return c, nil
}

// labelled returns the labels by the positions of the contents, the smaller one first. Labels of documents
// without features, or of two with one content, teach nothing and are left out. Two labels may name different
// documents and yet contradict each other, if the documents have the same contents.
func (s *snapshot[ID]) labelled(labels []Label[ID]) (map[[2]int32]bool, error) {
	positions := s.positionsOf(labels)
	said, documents := map[[2]int32]bool{}, map[[2]ID]bool{}
	for _, l := range labels {
		a, isThereA := positions[l.A]
		b, isThereB := positions[l.B]
		switch {
		case !isThereA:
			return nil, fmt.Errorf("neardup: there is no document %v", l.A)
		case !isThereB:
			return nil, fmt.Errorf("neardup: there is no document %v", l.B)
		case l.A == l.B:
			return nil, fmt.Errorf("neardup: a label names the document %v twice", l.A)
		case contradicts(documents, l.A, l.B, l.Duplicate) || contradicts(documents, l.B, l.A, l.Duplicate):
			return nil, fmt.Errorf("neardup: two labels contradict each other about %v and %v", l.A, l.B)
		case a >= 0 && b >= 0 && a != b && contradicts(said, min(a, b), max(a, b), l.Duplicate):
			return nil, fmt.Errorf("neardup: two labels contradict each other about texts like %v and %v", l.A, l.B)
		}
		documents[[2]ID{l.A, l.B}] = l.Duplicate
		if a >= 0 && b >= 0 && a != b {
			said[[2]int32{min(a, b), max(a, b)}] = l.Duplicate
		}
	}
	return said, nil
}

// contradicts reports whether an earlier label says the opposite about a pair.
func contradicts[T comparable](said map[[2]T]bool, a, b T, isDuplicate bool) bool {
	was, ok := said[[2]T{a, b}]
	return ok && was != isDuplicate
}

// positionsOf returns the positions of the contents of the documents that labels name, as far as there are any;
// -1 for those without features. It goes through all documents once: a snapshot has no table of ids.
func (s *snapshot[ID]) positionsOf(labels []Label[ID]) map[ID]int32 {
	named := map[ID]bool{}
	for _, l := range labels {
		named[l.A], named[l.B] = true, true
	}
	positions := map[ID]int32{}
	for at := range living(&s.docs) {
		if name := s.name(at); named[name] {
			positions[name] = s.contentOf(at)
		}
	}
	return positions
}

// choose sets the curve, and the point of it that reaches the target. What is right is not counted but expected: the
// sum of the probabilities, which are those after the bias has moved. So a target can be reached without any labels.
func (c *Calibration[ID]) choose(pairs []scored, target Target) error {
	slices.SortFunc(pairs, func(p, q scored) int {
		return cmp.Or(cmp.Compare(q.Probability, p.Probability), cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b))
	})
	right, total := make([]float64, len(pairs)+1), 0.0 // among the first n
	for i, p := range pairs {
		total += p.Probability
		right[i+1] = total
	}
	at := func(threshold float64) CurvePoint {
		n, _ := slices.BinarySearchFunc(pairs, threshold, func(p scored, threshold float64) int {
			if p.Probability >= threshold {
				return -1
			}
			return 1
		})
		p := CurvePoint{Probability: threshold, Precision: 1, Found: n}
		if n > 0 {
			p.Precision = right[n] / float64(n)
		}
		if total > 0 {
			p.Recall = right[n] / total
			p.F1 = 2 * right[n] / (float64(n) + total)
		}
		return p
	}
	for i := 1; i < 100; i++ {
		c.Curve = append(c.Curve, at(float64(i)/100))
	}
	switch {
	case target.Precision > 0:
		i := slices.IndexFunc(c.Curve, func(p CurvePoint) bool { return p.Found > 0 && p.Precision >= target.Precision })
		if i < 0 {
			return fmt.Errorf("neardup: no threshold that finds any pair reaches a precision of %g", target.Precision)
		}
		c.Point = c.Curve[i]
	case target.Recall > 0:
		for _, p := range c.Curve {
			if p.Recall >= target.Recall {
				c.Point = p
			}
		}
		if c.Point.Probability == 0 {
			return fmt.Errorf("neardup: no threshold reaches a recall of %g", target.Recall)
		}
	default:
		c.Point = at(c.Options.Probability)
	}
	c.Options.Probability, c.Options.Similarity = c.Point.Probability, 0
	return nil
}

// ask returns the pairs without a label that are closest to the threshold, by their log odds. No two share a
// content. A pair of contents is shown by the first document of each.
func (s *snapshot[ID]) ask(pairs []scored, said map[[2]int32]bool, threshold float64) (ask []neardup.Pair[ID]) {
	doubt := func(p scored) float64 { return math.Abs(logit(p.Probability) - logit(threshold)) }
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(p, q scored) int { return cmp.Compare(doubt(p), doubt(q)) })
	asked := map[int32]bool{}
	w := s.judge.Worker()
	for _, p := range pairs {
		if _, ok := said[[2]int32{p.a, p.b}]; ok || asked[p.a] || asked[p.b] {
			continue
		}
		asked[p.a], asked[p.b] = true, true
		a, b := s.chain(int(p.a)).first, s.chain(int(p.b)).first
		ask = append(ask, neardup.Pair[ID]{A: s.name(min(a, b)), B: s.name(max(a, b)), Similarity: p.Similarity, Probability: p.Probability, Kind: w.Kind(s.order[p.a], s.order[p.b], p.Score)})
		if len(ask) == mostAsk {
			break
		}
	}
	return ask
}
