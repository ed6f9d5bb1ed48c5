package neardup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/cosine"
)

// This file chooses the Similarity of a [Deduplicator] from pairs of documents that the caller has
// labelled. It computes precision and recall at every similarity from 0.20 to 1 in steps of 0.01,
// and takes the best one for the goal. A few labels leave many that are equally good. If what the
// collection itself shows is among these, it stays.

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
type Calibration[ID comparable] struct {
	Options DeduplicatorOptions // the options of the Deduplicator, with the chosen Similarity
	Point   CurvePoint          // the point of the curve that was chosen; without labels only its Similarity
	Curve   []CurvePoint        // ascending by Similarity, from 0.20 to 1 in steps of 0.01; nil without labels

	// Threshold is what the collection shows without labels.
	Threshold Threshold

	// Ask has up to ten pairs that are worth labelling next: those without a label whose similarity is
	// closest to the chosen one. No two of them are about the same document or its near-copies.
	Ask []Pair[ID]
}

// maxAsk is how many pairs a Calibration asks about at most.
const maxAsk = 10

// A CurvePoint says how good a Similarity is, measured on the pairs that count (see [Goal]). A pair
// is found if its cosine is at least the Similarity.
type CurvePoint struct {
	Similarity            float64
	Precision, Recall, F1 float64 // in [0, 1]; Precision is 1 if nothing is found
	Found, Right          int     // pairs found, and how many of them are duplicates
}

// String returns the curve as a table of one line for each point, with a mark at the chosen one.
func (c Calibration[ID]) String() string {
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
// effect in a new Deduplicator; d does not change. Without labels it returns what the collection
// shows, as [Deduplicator.Threshold] does. Where several similarities do equally well, it takes that
// one if it is among them. Otherwise it takes the middle one, which has the most room on both sides,
// or the closest one if all labels say the same. If the labels are Complete it always takes the middle
// one.
//
// Labels should include hard cases: pairs that look alike and are no duplicates. Calibration.Ask has
// some. How good the options really are, only other documents of the same kind can tell.
//
// Calibrate weighs features by all documents. It finds all pairs near the chosen similarity, and with
// Complete all pairs with a cosine of at least 0.2, which takes longer than Pairs. A pair whose Kind
// does not count is not found at any similarity.
//
// It returns an error if the goal is out of range, if an id is unknown, if a label names one document
// twice or contradicts another label, and if no similarity of 0.2 or more reaches the goal. A goal of
// precision or recall needs labels of both sorts, and Complete a duplicate. Another error is that of
// the context or of the files.
func (d *Deduplicator[ID]) Calibrate(ctx context.Context, labels []Label[ID], goal Goal) (Calibration[ID], error) {
	var cal Calibration[ID]
	if err := goal.check(); err != nil {
		return cal, err
	}
	c, err := d.collect(ctx, 0)
	if err != nil {
		return cal, err
	}
	duplicate, err := c.duplicates(labels, goal)
	if err != nil {
		return cal, err
	}
	cal.Threshold = c.estimated(ctx)
	cal.Options = *d.options()
	if cal.Point.Similarity = cal.Threshold.Similarity; len(labels) > 0 {
		if err := c.choose(ctx, &cal, duplicate, goal); err != nil {
			return cal, err
		}
	}
	cal.Options.Similarity = cal.Point.Similarity
	cal.Ask = c.ask(ctx, cal.Point.Similarity, duplicate)
	return cal, ctx.Err()
}

// choose sets the curve of a calibration, and its best point.
func (c *collection[ID]) choose(ctx context.Context, cal *Calibration[ID], duplicate map[[2]int]bool, goal Goal) error {
	total := 0
	for _, is := range duplicate {
		if is {
			total++
		}
	}
	right, all := c.labelled(ctx, duplicate, goal.Complete)
	if err := ctx.Err(); err != nil {
		return err
	}
	cal.Curve = curveOf(right, total, all)
	value := goal.value
	if total == 0 { // the best that can be done is to find none of them
		value = func(p CurvePoint) float64 { return -float64(p.Found) }
	}
	best := slices.MaxFunc(cal.Curve, func(a, b CurvePoint) int { return cmp.Compare(value(a), value(b)) })
	if math.IsInf(value(best), -1) {
		return fmt.Errorf("neardup: Calibrate: no similarity from %g on has %+v; the curve is\n%v", leastCurve, goal, *cal)
	}
	if best.Right == 0 && total > 0 {
		return fmt.Errorf("neardup: Calibrate: no duplicate has a similarity of %g or more", leastCurve)
	}
	var good []CurvePoint
	for _, p := range cal.Curve {
		if value(p) == value(best) {
			good = append(good, p)
		}
	}
	distance := func(p CurvePoint) float64 { return math.Abs(p.Similarity - cal.Threshold.Similarity) }
	cal.Point = slices.MinFunc(good, func(a, b CurvePoint) int { return cmp.Compare(distance(a), distance(b)) })
	if goal.Complete || distance(cal.Point) > 0 && 0 < total && total < len(duplicate) {
		// The labels know better. The middle of the points in a row with the first one has the most room.
		n := 1
		for n < len(good) && good[n].Similarity-good[n-1].Similarity < 0.015 {
			n++
		}
		cal.Point = good[(n-1)/2]
	}
	return nil
}

// ask returns pairs without a label whose similarity is close to s, the closest first.
func (c *collection[ID]) ask(ctx context.Context, s float64, labelled map[[2]int]bool) (ask []Pair[ID]) {
	const (
		reach    = 0.1
		mostNear = 10_000 // more pairs than that are close enough to s without the others
	)
	// A label is about all copies of its two documents.
	content := c.contentsOf()
	known := map[[2]int]bool{}
	for pair := range labelled {
		known[numbers(content[pair[0]], content[pair[1]])] = true
	}
	var near []cosine.Pair
	for p := range c.pairs(ctx, max(s-reach, leastCurve), c.settings.Kinds) {
		if p.Similarity <= s+reach && !known[numbers(p.A, p.B)] {
			near = append(near, p)
		}
	}
	distance := func(p cosine.Pair) float64 { return math.Abs(p.Similarity - s) }
	slices.SortFunc(near, func(p, q cosine.Pair) int {
		return cmp.Or(cmp.Compare(distance(p), distance(q)), cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B))
	})
	near = near[:min(len(near), mostNear)]
	copies := c.copiesAmong(near)
	used := map[int]bool{}
	for _, p := range near {
		a, b := copies(p.A), copies(p.B)
		if used[a] || used[b] || a == b {
			continue
		}
		used[a], used[b] = true, true
		i, j := c.byText(c.contents[p.A].docs)[0], c.byText(c.contents[p.B].docs)[0]
		ask = append(ask, Pair[ID]{A: c.docs[min(i, j)].id, B: c.docs[max(i, j)].id, Similarity: p.Similarity, Kind: c.kind(p.A, p.B)})
		if len(ask) == maxAsk {
			break
		}
	}
	return ask
}

// copiesAmong returns a function that says which near-copies a content of some pairs belongs to. In a large
// collection only the contents of these pairs are looked at.
func (c *collection[ID]) copiesAmong(pairs []cosine.Pair) func(i int) int {
	if !c.isLarge {
		return func(i int) int { return c.nearCopies[i] }
	}
	s := c.subset()
	for _, p := range pairs {
		s.enter(p.A)
		s.enter(p.B)
	}
	s.learnCopies()
	return func(i int) int { return s.nearCopies[s.at[i]] }
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

// numbers returns two positions as the key of a pair: the smaller one first.
func numbers(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// atLeastCount returns how many of the ascending numbers are at least x.
func atLeastCount(ascending []float64, x float64) int {
	i, _ := slices.BinarySearch(ascending, x)
	return len(ascending) - i
}

// labelled returns the similarities of the pairs that count, ascending: right those of the
// duplicates, all those of all pairs. Pairs below leastCurve may be missing from both, and pairs
// whose kind does not count are.
func (c *collection[ID]) labelled(ctx context.Context, duplicate map[[2]int]bool, complete bool) (right, all []float64) {
	take := func(pair [2]int, similarity float64) {
		if all = append(all, similarity); duplicate[pair] {
			right = append(right, similarity)
		}
	}
	if complete {
		for p := range c.documentPairs(ctx, leastCurve, c.settings.Kinds) {
			take([2]int{p.A, p.B}, p.Similarity)
		}
	} else {
		content := c.contentsOf()
		for pair := range duplicate {
			i, j := content[pair[0]], content[pair[1]]
			switch {
			case i < 0 || j < 0: // nothing is like a document without features
			case i == j:
				if c.equalKind(pair[0], pair[1])&c.settings.Kinds != 0 {
					take(pair, 1)
				}
			case c.kind(i, j)&c.settings.Kinds != 0:
				take(pair, c.cosine(i, j))
			}
		}
	}
	slices.Sort(right)
	slices.Sort(all)
	return right, all
}

// duplicates checks the labels and returns, for each labelled pair of documents by their positions,
// whether it is a duplicate.
func (c *collection[ID]) duplicates(labels []Label[ID], goal Goal) (map[[2]int]bool, error) {
	position := map[ID]int{}
	if len(labels) > 0 {
		for at := range c.docs {
			position[c.docs[at].id] = at
		}
	}
	duplicate := map[[2]int]bool{}
	sorts := [2]int{}
	for n, l := range labels {
		i, okA := position[l.A]
		j, okB := position[l.B]
		if !okA || !okB || i == j {
			return nil, fmt.Errorf("neardup: Calibrate: label %d, of %v and %v: two documents are needed", n, l.A, l.B)
		}
		pair := numbers(i, j)
		if is, ok := duplicate[pair]; ok && is != l.Duplicate {
			return nil, fmt.Errorf("neardup: Calibrate: label %d, of %v and %v, contradicts an earlier one", n, l.A, l.B)
		}
		duplicate[pair] = l.Duplicate
		if sorts[0]++; l.Duplicate {
			sorts[1]++
		}
	}
	switch wants := goal.Precision > 0 || goal.Recall > 0; {
	case (goal.Complete || wants) && sorts[1] == 0:
		return nil, errors.New("neardup: Calibrate: no label is a duplicate")
	case !goal.Complete && wants && sorts[1] == sorts[0]:
		return nil, errors.New("neardup: Calibrate: all labels are duplicates; label pairs that are not too, or say that the labels are Complete")
	}
	return duplicate, nil
}
