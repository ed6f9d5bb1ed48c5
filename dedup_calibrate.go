package neardup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// This file chooses the Similarity of a [Deduplicator] from pairs of documents that the caller has
// labelled. It computes precision and recall at every similarity from 0.20 to 1 in steps of 0.01,
// and takes the best one for the goal.

// A Label says of two stored documents, by their ids, whether they are near-duplicates. The order
// of A and B does not matter.
type Label[ID comparable] struct {
	A, B      ID
	Duplicate bool
}

// A Goal says what [Deduplicator.Calibrate] looks for. The zero value asks for the best F1, the
// harmonic mean of precision and recall. At most one of Precision and Recall may be set.
type Goal struct {
	// Precision, if not 0, is the fraction of the found pairs that must be duplicates, at most 1.
	// Calibrate then looks for the best recall at this precision.
	Precision float64

	// Recall, if not 0, is the fraction of the duplicates that must be found, at most 1. Calibrate
	// then looks for the best precision at this recall.
	Recall float64

	// Complete says that the labels name all duplicates. Then every other pair of documents counts
	// as no duplicate. Without it, pairs without a label do not count.
	Complete bool
}

// A Calibration is the result of [Deduplicator.Calibrate].
type Calibration struct {
	Options DeduplicatorOptions // the options of the Deduplicator, with the chosen Similarity
	Point   CurvePoint          // the point of the curve that was chosen
	Curve   []CurvePoint        // ascending by Similarity, from 0.20 to 1 in steps of 0.01
}

// A CurvePoint says how good a Similarity is, measured on the pairs that count (see [Goal]). A pair
// is found if its cosine is at least the Similarity.
type CurvePoint struct {
	Similarity            float64
	Precision, Recall, F1 float64 // in [0, 1]; Precision is 1 if nothing is found
	Found, Right          int     // pairs found, and how many of them are duplicates
}

// String returns the curve as a table of one line for each point, with a mark at the chosen one.
func (c Calibration) String() string {
	var b strings.Builder
	b.WriteString("similarity  precision  recall     F1    found\n")
	for _, p := range c.Curve {
		mark := ""
		if p.Similarity == c.Point.Similarity {
			mark = "  <"
		}
		fmt.Fprintf(&b, "      %.2f     %.4f  %.4f  %.4f  %7d%s\n", p.Similarity, p.Precision, p.Recall, p.F1, p.Found, mark)
	}
	return b.String()
}

// leastCurve is the similarity at which curves begin. Documents below it have little in common, and
// the exact join gets slower with every step down.
const leastCurve = 0.2

// Calibrate returns the options that reach a goal on labelled pairs of stored documents. They take
// effect in a new Deduplicator; d does not change. Where several similarities in a row do equally
// well, it takes the middle one, which has the most room on both sides.
//
// Labels should include hard cases: pairs that look alike and are no duplicates. How good the
// options really are, only other documents of the same kind can tell.
//
// Calibrate weighs features by all documents. With Complete it finds all pairs with a cosine of at
// least 0.2, which takes longer than Pairs; otherwise it compares the labelled pairs only, and d
// cannot be changed meanwhile.
//
// It returns an error if the goal is out of range, if an id is unknown, if a label names one
// document twice or contradicts another label, if no label is a duplicate, if all are and Complete
// is not set, and if no similarity of 0.2 or more reaches the goal. Another error is that of the
// context.
func (d *Deduplicator[ID]) Calibrate(ctx context.Context, labels []Label[ID], goal Goal) (Calibration, error) {
	var cal Calibration
	if err := goal.check(); err != nil {
		return cal, err
	}
	right, total, all, err := d.labelled(ctx, labels, goal.Complete)
	if err != nil {
		return cal, err
	}
	cal.Curve = curveOf(right, total, all)
	best := slices.MaxFunc(cal.Curve, func(a, b CurvePoint) int { return cmp.Compare(goal.value(a), goal.value(b)) })
	if goal.value(best) < 0 {
		return cal, fmt.Errorf("neardup: Calibrate: no similarity from %g on has %+v; the curve is\n%v", leastCurve, goal, cal)
	}
	if best.Right == 0 {
		return cal, fmt.Errorf("neardup: Calibrate: no duplicate has a similarity of %g or more", leastCurve)
	}
	// MaxFunc returned the first of the best points; the points from..to do as well.
	from := slices.IndexFunc(cal.Curve, func(p CurvePoint) bool { return p == best })
	to := from
	for to+1 < len(cal.Curve) && goal.value(cal.Curve[to+1]) == goal.value(best) {
		to++
	}
	cal.Point = cal.Curve[(from+to)/2]
	cal.Options = *d.options()
	cal.Options.Similarity = cal.Point.Similarity
	return cal, nil
}

// check returns an error if a goal is out of range, or asks for two things.
func (g Goal) check() error {
	isShare := func(x float64) bool { return x >= 0 && x <= 1 }
	if g.Precision != 0 && g.Recall != 0 || !isShare(g.Precision) || !isShare(g.Recall) {
		return fmt.Errorf("neardup: Calibrate: a goal is a precision or a recall of at most 1, and not %+v", g)
	}
	return nil
}

// value returns what the goal wants to be largest at a point, or −∞ where the point misses the
// goal. A point that finds no duplicate has the precision 1, but reaches no goal.
func (g Goal) value(p CurvePoint) float64 {
	switch {
	case g.Precision > 0 && p.Precision >= g.Precision && p.Right > 0:
		return p.Recall
	case g.Recall > 0 && p.Recall >= g.Recall:
		return p.Precision
	case g.Precision > 0 || g.Recall > 0:
		return math.Inf(-1)
	}
	return p.F1
}

// curveOf returns the points of a calibration. right has the similarities of the duplicates, all those
// of all pairs that count, both ascending; total is the number of duplicates. Steps are counted in
// whole hundredths, so similarities are exactly 0.20, 0.21 and so on.
func curveOf(right []float64, total int, all []float64) (points []CurvePoint) {
	for step := int(math.Round(leastCurve * 100)); step <= 100; step++ {
		p := CurvePoint{Similarity: float64(step) / 100}
		p.Found, p.Right = atLeastCount(all, p.Similarity), atLeastCount(right, p.Similarity)
		p.Precision = 1
		if p.Found > 0 {
			p.Precision = float64(p.Right) / float64(p.Found)
		}
		p.Recall = float64(p.Right) / float64(total)
		p.F1 = 2 * float64(p.Right) / float64(p.Found+total)
		points = append(points, p)
	}
	return points
}

// numbers returns two document numbers as the key of a pair: the smaller one first.
func numbers(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// atLeastCount returns how many of the ascending numbers are at least x.
func atLeastCount(ascending []float64, x float64) int {
	i, _ := slices.BinarySearch(ascending, x)
	return len(ascending) - i
}

// labelled returns the similarities of the pairs that count, ascending: right those of the
// duplicates, all those of all pairs. Pairs below leastCurve may be missing from both. total is the
// number of duplicates, these included.
func (d *Deduplicator[ID]) labelled(ctx context.Context, labels []Label[ID], complete bool) (right []float64, total int, all []float64, err error) {
	duplicate, total, err := d.duplicates(labels, complete)
	if err != nil {
		return nil, 0, nil, err
	}
	// take counts a pair if it is labelled, or if all pairs are.
	take := func(pair [2]int, similarity float64) {
		is, labelled := duplicate[pair]
		if !labelled && !complete {
			return
		}
		if all = append(all, similarity); is {
			right = append(right, similarity)
		}
	}
	// Duplicates that are not among these pairs lie below the curve; total counts them.
	if complete {
		c := d.collect(0)
		for p := range c.documentPairs(ctx, leastCurve, 1, AllKinds) {
			take([2]int{c.docs[p.A].number, c.docs[p.B].number}, p.Similarity)
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, nil, err
		}
	} else {
		d.mu.RLock()
		defer d.mu.RUnlock()
		h, err := d.learned()
		if err != nil {
			return nil, 0, nil, err
		}
		// Vectors as Search would compare them now, with fresh weights.
		vector := func(id ID) Vector { return h.vector(&d.contents[d.docs[d.ids[id]].content].profile) }
		taken := map[[2]int]bool{} // a pair may be labelled more than once
		for _, l := range labels {
			i, okA := d.ids[l.A]
			j, okB := d.ids[l.B]
			if !okA || !okB {
				continue // deleted since the labels were checked
			}
			pair := numbers(d.docs[i].number, d.docs[j].number)
			if !taken[pair] {
				taken[pair] = true
				take(pair, vector(l.A).Cosine(vector(l.B)))
			}
		}
	}
	slices.Sort(right)
	slices.Sort(all)
	return right, total, all, nil
}

// duplicates checks the labels and returns, for each labelled pair by the numbers of its documents,
// whether it is a duplicate, and how many are.
func (d *Deduplicator[ID]) duplicates(labels []Label[ID], complete bool) (duplicate map[[2]int]bool, total int, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	duplicate = map[[2]int]bool{}
	for n, l := range labels {
		i, okA := d.ids[l.A]
		j, okB := d.ids[l.B]
		if !okA || !okB || i == j {
			return nil, 0, fmt.Errorf("neardup: Calibrate: label %d, of %v and %v: two documents are needed", n, l.A, l.B)
		}
		pair := numbers(d.docs[i].number, d.docs[j].number)
		if is, ok := duplicate[pair]; ok && is != l.Duplicate {
			return nil, 0, fmt.Errorf("neardup: Calibrate: label %d, of %v and %v, contradicts an earlier one", n, l.A, l.B)
		}
		duplicate[pair] = l.Duplicate
	}
	for _, is := range duplicate {
		if is {
			total++
		}
	}
	switch {
	case total == 0:
		return nil, 0, errors.New("neardup: Calibrate: no label is a duplicate")
	case !complete && total == len(duplicate):
		return nil, 0, errors.New("neardup: Calibrate: all labels are duplicates; label pairs that are not too, or say that the labels are Complete")
	}
	return duplicate, total, nil
}
