package neardup

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
)

// This file finds out from which similarity on two documents of a collection are near-duplicates.
//
// No fixed number serves all collections: versions of an article may be alike from 0.5 on, and
// records of one journal up to 0.75. But the collection shows where the border is. The number of
// pairs falls with the similarity as long as pairs are alike by chance or by template, and rises
// again where they are copies. So the border is the valley between.
//
// The curve of a collection is the number of pairs by similarity. It is read through a window, from
// left to right. The lowest window so far is the bottom of a valley as soon as a window to its right,
// from 0.60 on, has more pairs by more than chance explains. Where the bottom is flat, the similarity
// of it that is closest to the usual threshold is taken. If the curve only falls, there is no valley,
// and the usual threshold holds.
//
// Near-copies are one document here. Otherwise a page in a thousand versions would decide for all
// others. Pairs of one form that is filled in differently are left out: they are a hump of their own,
// which is neither chance nor copies. In a large collection a sample of the documents is compared with
// all others. It is chosen by a hash of their features and words, so that the order of adding does not
// matter.

// A Threshold says from which similarity on a [Deduplicator] takes documents for near-duplicates,
// and why.
type Threshold struct {
	Similarity float64 // the smallest cosine of near-duplicates

	// Reason says where it comes from:
	//
	//	given          the Similarity of the options
	//	valley         the valley in the curve of the collection
	//	no valley      the usual threshold of 0.7, because the curve shows no valley
	//	too few pairs  0.57, because there are fewer than 20 pairs above 0.40: in a small collection
	//	               few documents are alike by chance
	Reason string

	// Curve has the number of pairs by similarity, in steps of 0.01 from 0.40 on: Curve[0] is the
	// number of pairs with a cosine from 0.40 to 0.41, and Curve[59] that from 0.99 to 1. Near-copies
	// are one document. If Sampled is less than Documents, the numbers are estimates. Curve is nil if
	// the threshold is given.
	Curve []float64

	// Precision estimates which share of the pairs from Similarity on are near-duplicates. It is 0 if
	// the curve cannot tell, because there is no valley.
	Precision float64

	Documents int // that are no near-copies of each other; an estimate in a large collection
	Sampled   int // of these, how many were compared with all others
}

// String describes the threshold in a line.
func (t Threshold) String() string {
	why := ""
	switch t.Reason {
	case "given":
		why = "as given"
	case "valley":
		why = fmt.Sprintf("where the curve of this collection has a valley; by an estimate %.0f %% of the pairs are right", 100*t.Precision)
	case "no valley":
		why = "the best for most collections, since the curve of this one has no valley"
	case "too few pairs":
		why = "the best for small collections, since this one has too few pairs for a curve"
	}
	return fmt.Sprintf("near-duplicates from a similarity of %.2f on, %s", t.Similarity, why)
}

const (
	usualThreshold  = 0.7       // without a valley: the best fixed threshold over all collections that were measured
	fewThreshold    = 0.57      // for too few pairs: small collections have few pairs that are alike by chance
	leastThreshold  = 50        // in hundredths: documents that have less than half in common are no near-duplicates
	mostThreshold   = 85        // in hundredths: what is more alike than that is hardly ever alike by chance
	curveFrom       = 40        // where the curve begins, in hundredths; joins are slow below
	curvePairs      = 20        // pairs that a curve must have to show anything
	leastSample     = 200       // at least about so many documents are compared with all others
	freeComparisons = 1_000_000 // and so many that there are about so many comparisons, which take no time
	mostSample      = 1000      // and after how many no more are
	copiesFrom      = 60        // in hundredths: a hump to the left of it is no copies, but texts of one sort
	enoughPairs     = 300       // pairs that end the sample

	// By how much pairs that are alike by chance fall, at least and at most: over 0.1 of similarity,
	// to 61 % and to 14 %.
	minRate, maxRate = 5, 20
)

// A valleyRule says what a valley is.
type valleyRule struct {
	window     int     // the width of the window, in hundredths; an even number
	confidence float64 // by how many standard deviations the right side of a valley must be higher
	flat       float64 // what is less higher than so many standard deviations is still the bottom
}

var usualRule = valleyRule{window: 10, confidence: 2.5, flat: 0.5}

// Threshold returns the threshold of Pairs and Groups for the documents that are there now. Unless
// the options have a Similarity, it weighs all documents and compares a sample with all. It takes no
// time if Pairs, Groups or Threshold were called since the last change. The error is that of the
// context or of the files.
func (d *Deduplicator[ID]) Threshold(ctx context.Context) (Threshold, error) {
	if err := d.rlock(); err != nil {
		return Threshold{}, err
	}
	changes := d.changes
	d.mu.RUnlock()
	t, ok := d.saidAt(changes)
	if !ok {
		c, err := d.collect(ctx, 0)
		if err != nil {
			return t, err
		}
		t = c.threshold(ctx)
	}
	t.Curve = slices.Clone(t.Curve) // the caller may change it
	return t, ctx.Err()
}

// saidAt returns the threshold of the options, or the last one if nothing has changed since.
func (d *Deduplicator[ID]) saidAt(changes int) (Threshold, bool) {
	if s := d.options().Similarity; s > 0 {
		return Threshold{Similarity: s, Reason: "given"}, true
	}
	d.said.Lock()
	defer d.said.Unlock()
	return d.said.threshold.value, d.said.threshold.changes == changes+1
}

// least returns the similarity of the threshold.
func (c *collection[ID]) least(ctx context.Context) float64 { return c.threshold(ctx).Similarity }

// threshold returns the threshold that is known, or a new one.
func (c *collection[ID]) threshold(ctx context.Context) Threshold {
	t, ok := c.of.saidAt(c.changes)
	if ok || ctx.Err() != nil { // then the threshold is not used, and the collection may not be complete
		return t
	}
	t = c.estimated(ctx)
	if ctx.Err() == nil {
		c.of.said.Lock()
		c.of.said.threshold = said[Threshold]{t, c.changes + 1}
		c.of.said.Unlock()
	}
	return t
}

// estimated reads the threshold from the collection.
func (c *collection[ID]) estimated(ctx context.Context) Threshold {
	t := Threshold{Similarity: fewThreshold, Reason: "too few pairs"}
	var share float64
	if c.isLarge {
		share = c.forestCurve(&t)
	} else {
		documents := c.standing()
		t.Documents = len(documents)
		t.Curve, share = c.sampledCurve(ctx, documents, &t.Sampled)
	}
	total := 0.0
	for _, n := range t.Curve {
		total += n
	}
	if total >= curvePairs {
		t.Reason, t.Similarity = "no valley", usualThreshold
		if at, ok := usualRule.valley(t.Curve); ok {
			t.Reason, t.Similarity = "valley", float64(min(max(at, leastThreshold), mostThreshold))/100
			t.Precision = precisionOf(t.Curve, int(math.Round(t.Similarity*100)))
		}
	}
	for i := range t.Curve {
		t.Curve[i] /= share
	}
	return t
}

// sampledCurve counts the pairs of a sample of documents with all documents, by similarity. It also
// returns the share of all pairs that the sample sees. The sample doubles until it sees enough pairs.
// It is chosen by the digests, so it does not depend on the order of adding.
func (c *collection[ID]) sampledCurve(ctx context.Context, documents []int, sampled *int) (curve []float64, share float64) {
	step := uint64(1)
	least := max(leastSample, freeComparisons/max(len(documents), 1))
	for len(documents) >= 2*least*int(step) {
		step *= 2
	}
	const out, before, now = 0, 1, 2
	in := make([]uint8, len(c.contents)) // whether a content is in the sample, and since when
	curve = make([]float64, 100-curveFrom)
	for seen := 0.0; ; step /= 2 {
		for _, i := range documents {
			switch {
			case in[i] == now:
				in[i] = before
			case in[i] == out && c.contents[i].digest%step == 0:
				in[i] = now
				*sampled++
			}
		}
		join := cosine.NewJoin(c.number(), float64(curveFrom)/100, func(i int) bool { return in[i] == now })
		join.Skip = c.leavesOut(AllKinds &^ SameForm)
		next := 0
		join.Each(documents, func(i int) bool { return in[i] == before || ctx.Err() != nil }, func(found []cosine.Pair) {
			// A pair with an earlier member of the sample has been seen, so those find nothing. Of two new
			// ones, each finds the other.
			weight := 1.0
			if in[documents[next]] == now {
				weight = 0.5
			}
			next++
			for _, p := range found {
				curve[min(int(p.Similarity*100), 99)-curveFrom] += weight
				seen += weight
			}
		})
		isVain := seen*mostSample < curvePairs*float64(*sampled) // no sample will see enough
		if seen >= enoughPairs || step == 1 || *sampled >= mostSample || isVain || ctx.Err() != nil {
			miss := 1 - 1/float64(step)
			return curve, 1 - float64(miss*miss) // the conversion forbids to fuse the operations
		}
	}
}

// forestCurve is sampledCurve for a large collection. It sets the curve of t and the numbers of documents,
// and returns the share of all pairs that the sample sees.
func (c *collection[ID]) forestCurve(t *Threshold) (share float64) {
	s := c.subset()
	var pairs []forestPair
	for _, i := range c.seen.sampled {
		s.enter(i)
	}
	skip := c.leavesOut(AllKinds &^ SameForm)
	for _, p := range c.seen.pairs {
		if p.Similarity >= float64(curveFrom)/100 && !skip(p.A, p.B) {
			s.enter(p.A)
			pairs = append(pairs, p)
		}
	}
	// Near-copies are one document here too. All near-copies of a document are near each other.
	s.learnCopies()
	stands := make([]bool, len(s.contents))
	for _, i := range s.standing() {
		stands[i] = true
	}
	for _, i := range c.seen.sampled {
		if stands[s.at[i]] {
			t.Sampled++
		}
	}
	t.Documents = t.Sampled * int(c.seen.step)
	t.Curve = make([]float64, 100-curveFrom)
	for _, p := range pairs {
		if !stands[s.at[p.A]] || !stands[s.at[p.B]] {
			continue
		}
		weight := 1.0
		if c.contents[p.A].digest%c.seen.step == 0 { // both are in the sample, and find each other
			weight = 0.5
		}
		t.Curve[min(int(p.Similarity*100), 99)-curveFrom] += weight
	}
	miss := 1 - 1/float64(c.seen.step)
	return 1 - float64(miss*miss)
}

// A subset is some contents of a large collection, among which near-copies are looked for.
type subset[ID comparable] struct {
	collection[ID]
	in *collection[ID]
	at map[int]int // the positions of its contents, by those in the collection
}

// subset returns an empty subset.
func (c *collection[ID]) subset() *subset[ID] {
	return &subset[ID]{collection[ID]{of: c.of, settings: c.settings}, c, map[int]int{}}
}

// enter adds a content of the collection, unless it is there.
func (s *subset[ID]) enter(i int) {
	if _, ok := s.at[i]; !ok {
		s.at[i] = len(s.contents)
		s.contents = append(s.contents, s.in.contents[i])
		s.filled = append(s.filled, s.in.fill(i))
	}
}

// learnCopies finds the near-copies among the contents.
func (s *subset[ID]) learnCopies() {
	s.readAll()
	s.nearCopies, _ = s.settings.copiesOf(len(s.contents), s.terms, s.filled)
}

// standing returns one content for each group of near-copies, ascending: that with the smallest
// digest.
func (c *collection[ID]) standing() (contents []int) {
	stands := slices.Repeat([]int{-1}, len(c.contents))
	for i := range c.contents {
		if at := &stands[c.nearCopies[i]]; *at < 0 || c.contents[i].compare(&c.contents[*at].profile, &c.settings.Fingerprinter) < 0 {
			*at = i
		}
	}
	for i := range c.contents {
		if stands[c.nearCopies[i]] == i {
			contents = append(contents, i)
		}
	}
	return contents
}

// precisionOf estimates which share of the pairs from hundredth at on are copies, where at is the
// bottom of a valley. Pairs that are alike by chance fall exponentially, by the rate that the curve
// shows before the valley. At its bottom half of the pairs are such.
func precisionOf(curve []float64, at int) float64 {
	sum := func(from, to int) (n float64) {
		for _, x := range curve[max(from-curveFrom, 0):min(to-curveFrom, len(curve))] {
			n += x
		}
		return n
	}
	half := max((at-curveFrom)/2, 1)
	rate := float64(maxRate)
	if right := sum(at-half, at); right > 0 {
		rate = 100 * (exact.Ln(max(sum(at-2*half, at-half), 1)) - exact.Ln(right)) / float64(half)
	}
	rate = min(max(rate, minRate), maxRate)
	// With n·exp(−rate·x) of them x above the bottom, n/rate are above it, and the window
	// around it has (exp(rate·width)−exp(−rate·width))·n/rate, where width is half of its width.
	width := float64(usualRule.window) / 200
	chance := sum(at-usualRule.window/2, at+usualRule.window/2) / 2 / (exact.Exp(rate*width) - exact.Exp(-rate*width))
	all := sum(at, 100)
	if all == 0 {
		return 0
	}
	return min(max(1-chance/all, 0), 1)
}

// valley returns the first valley of a curve of pairs that were counted, in hundredths of
// similarity, and whether there is one.
func (r valleyRule) valley(curve []float64) (at int, ok bool) {
	// windows[i] is the number of pairs in the window that begins at curveFrom+i.
	windows := make([]float64, len(curve)-r.window+1)
	for i := range windows {
		for _, n := range curve[i : i+r.window] {
			windows[i] += n
		}
	}
	// isHigher reports whether window i is higher than window j by so many standard deviations.
	isHigher := func(i, j int, deviations float64) bool {
		return windows[i]-windows[j] > deviations*math.Sqrt(windows[i]+windows[j])
	}
	low := 0
	for i := range windows {
		switch {
		case windows[i] <= windows[low]:
			low = i
		case i >= low+r.window && curveFrom+i >= copiesFrom && isHigher(i, low, r.confidence): // the two windows share no pairs
			from, to := low, low
			for from > 0 && !isHigher(from-1, low, r.flat) {
				from--
			}
			for to+1 < i && !isHigher(to+1, low, r.flat) {
				to++
			}
			centre := func(i int) int { return curveFrom + i + r.window/2 }
			return min(max(int(100*usualThreshold), centre(from)), centre(to)), true
		}
	}
	return 0, false
}
