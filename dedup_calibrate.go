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

// A Label says of two documents whether they are near-duplicates.
type Label[ID comparable] struct {
	A, B      ID
	Duplicate bool
}

// A Goal is what [Deduplicator.Calibrate] looks for. The zero value is the best F1, the harmonic
// mean of precision and recall.
type Goal struct {
	// Precision, if it is not 0, is the share of right pairs among those that are found, and recall is
	// to be the best there is with it.
	Precision float64

	// Recall, if it is not 0, is the share of the right pairs that are found, and precision is
	// to be the best there is with it.
	Recall float64

	// Complete says that the labels have all duplicates: all other pairs of documents are
	// labelled by not being there. Otherwise pairs without a label do not count.
	Complete bool
}

// A Calibration is settings and what they were chosen from.
type Calibration struct {
	Options DeduplicatorOptions // with the Similarity that was chosen
	Point   CurvePoint
	Curve   []CurvePoint // ascending by Similarity, in steps of 0.01
}

// A CurvePoint is what a least similarity finds of the pairs that have labels.
type CurvePoint struct {
	Similarity            float64
	Precision, Recall, F1 float64 // Precision is 1 if nothing is found
	Found, Right          int     // pairs
}

// String returns the curve as a table, with the point that was chosen marked.
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

// leastCurve is the similarity at which curves begin.
const leastCurve = 0.2

// Calibrate returns the settings that reach a goal on labelled pairs of the documents. Labels
// should have hard cases, pairs that look alike and are not; and what the settings are worth,
// other documents of the same kind tell. The similarity is the middle of those that do equally
// well. It is an error if an id is unknown, if no label is a duplicate, if all are and Complete
// is not said, or if the goal cannot be reached with a similarity of 0.2 or more.
func (d *Deduplicator[ID]) Calibrate(ctx context.Context, labels []Label[ID], goal Goal) (Calibration, error) {
	var cal Calibration
	if goal.Precision != 0 && goal.Recall != 0 || !(goal.Precision >= 0 && goal.Precision <= 1 && goal.Recall >= 0 && goal.Recall <= 1) {
		return cal, fmt.Errorf("neardup: Calibrate: a goal is a precision or a recall of at most 1, and not %+v", goal)
	}
	right, total, all, err := d.labelled(ctx, labels, goal.Complete)
	if err != nil {
		return cal, err
	}
	for step := int(math.Round(leastCurve * 100)); step <= 100; step++ {
		p := CurvePoint{Similarity: float64(step) / 100}
		p.Found, p.Right = atLeastCount(all, p.Similarity), atLeastCount(right, p.Similarity)
		p.Precision = 1
		if p.Found > 0 {
			p.Precision = float64(p.Right) / float64(p.Found)
		}
		p.Recall = float64(p.Right) / float64(total)
		p.F1 = 2 * float64(p.Right) / float64(p.Found+total)
		cal.Curve = append(cal.Curve, p)
	}
	value := func(p CurvePoint) float64 {
		switch {
		case goal.Precision > 0 && p.Precision >= goal.Precision && p.Right > 0:
			return p.Recall
		case goal.Recall > 0 && p.Recall >= goal.Recall:
			return p.Precision
		case goal.Precision > 0 || goal.Recall > 0:
			return math.Inf(-1)
		}
		return p.F1
	}
	best := slices.MaxFunc(cal.Curve, func(a, b CurvePoint) int { return cmp.Compare(value(a), value(b)) })
	if value(best) < 0 {
		return cal, fmt.Errorf("neardup: Calibrate: no similarity from %g on has %+v; the curve is\n%v", leastCurve, goal, cal)
	}
	if best.Right == 0 {
		return cal, fmt.Errorf("neardup: Calibrate: no duplicate has a similarity of %g or more", leastCurve)
	}
	from := slices.IndexFunc(cal.Curve, func(p CurvePoint) bool { return p == best })
	to := from
	for to+1 < len(cal.Curve) && value(cal.Curve[to+1]) == value(best) {
		to++
	}
	cal.Point = cal.Curve[(from+to)/2]
	cal.Options = *d.options()
	cal.Options.Similarity = cal.Point.Similarity
	return cal, nil
}

// numbers returns a pair of documents, the one that was added first in front.
func numbers(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// atLeastCount returns how many of ascending numbers are at least x.
func atLeastCount(ascending []float64, x float64) int {
	i, _ := slices.BinarySearch(ascending, x)
	return len(ascending) - i
}

// labelled returns the similarities, ascending, of the duplicates and of all pairs that count,
// and how many duplicates there are, those that share nothing too.
func (d *Deduplicator[ID]) labelled(ctx context.Context, labels []Label[ID], complete bool) (right []float64, total int, all []float64, err error) {
	duplicate, total, err := d.duplicates(labels, complete)
	if err != nil {
		return nil, 0, nil, err
	}
	take := func(pair [2]int, similarity float64) {
		is, labelled := duplicate[pair]
		if !labelled && !complete {
			return
		}
		if all = append(all, similarity); is {
			right = append(right, similarity)
		}
	}
	if complete {
		c := d.collect(0)
		for p := range c.documentPairs(ctx, leastCurve, 1) {
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
		vector := func(id ID) Vector { return h.vector(&d.contents[d.docs[d.ids[id]].content].profile) }
		taken := map[[2]int]bool{}
		for _, l := range labels {
			i, okA := d.ids[l.A]
			j, okB := d.ids[l.B]
			if !okA || !okB {
				continue // deleted meanwhile
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

// duplicates returns of the pairs that have labels, by position, whether they are duplicates, and how many
// are.
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
