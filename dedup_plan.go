package neardup

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/minhash"
)

// This file decides how Pairs and Groups find the pairs to verify, and finds them.
//
// The exact join by vectors finds all pairs. If the caller is content with a Recall below 1, it may
// be faster to verify only pairs that a cheaper hash suggests. Which hash suffices depends on the
// documents. So a plan is measured: the exact join finds all pairs that involve some sampled
// documents, and the plan is the first generator, from cheap to expensive, that would have found
// enough of these pairs. The generators are 128-bit SimHash fingerprints within a distance of 3 to
// 16, and then bands of MinHash signatures for lower and lower similarities. If none finds enough,
// the exact join does the work.

// A Plan says how a [Deduplicator] finds the pairs to verify:
//
//   - If Banding is not zero: the pairs whose MinHash signatures of 128 values agree in a band.
//   - Otherwise, if Distance is above 0: the pairs whose 128-bit SimHash fingerprints differ in at
//     most so many bits.
//   - Otherwise: all pairs that can be similar enough, by the exact join of [VectorPairs].
type Plan struct {
	Distance int     // in bits, 3 to 16; 0 if fingerprints are not used
	Banding  Banding // zero if signatures are not used

	// Recall is the fraction of the similar pairs that are found. It is 1 for the exact join.
	// Otherwise it is a lower bound, measured on the pairs of a sample, with a confidence of 95 %.
	Recall  float64
	Sampled int // pairs of the sample; 0 if none was taken
}

// String describes the plan in a line.
func (p Plan) String() string {
	how := "by vectors, exactly"
	switch {
	case p.Banding != Banding{}:
		how = fmt.Sprintf("by signatures, %d bands of %d", p.Banding.Bands, p.Banding.Rows)
	case p.Distance > 0:
		how = fmt.Sprintf("by fingerprints of 128 bits within %d", p.Distance)
	}
	return fmt.Sprintf("%s; recall at least %.3f, from %d sampled pairs", how, p.Recall, p.Sampled)
}

const (
	planFrom      = 100_000 // contents; fewer are joined exactly without a sample
	planSample    = 1000    // about how many contents the sample has
	planPairs     = 100     // pairs that a sample must have to measure anything
	maxPlanReach  = 16      // the largest distance at which joining fingerprints is fast
	planSimilar   = 0.05    // the smallest Jaccard similarity that bands are made for
	planBandPrice = 0.1     // of a candidate in vain; see NewBanding
)

// Plan returns how Pairs would find the pairs of the documents that are there now. With a Recall of
// 1, or fewer than 100,000 documents with different features, this is the exact join. Otherwise
// Plan finds the pairs of about 1,000 sampled documents with documents that were added later, and
// returns the cheapest generator that would have found enough of them. If the sample has fewer than
// 100 pairs, or no generator finds enough, it is the exact join again. Plan weighs all documents
// first, so it always takes time for all of them.
func (d *Deduplicator[ID]) Plan() Plan {
	c := d.collect(0)
	return c.plan(c.number(planFrom), c.least(context.Background()), c.settings.Recall, planFrom)
}

// number weighs the vectors and numbers their features, for joins. With a recall below 1 and at least
// from contents it also makes the fingerprints that a plan may need.
func (c *collection[ID]) number(from int) *cosine.Numbered {
	if c.numbered == nil {
		if c.settings.Recall < 1 && len(c.contents) >= from {
			c.fps = make([]Fingerprint128, len(c.contents))
		}
		c.numbered = cosine.Number(c, 2)
	}
	return c.numbered
}

// fingerprint is the 128-bit SimHash of a vector. Features are hashes already; SplitMix makes two
// independent words of each. Weights are those of the unit vector, in 1/1024.
func (v Vector) fingerprint() Fingerprint128 {
	unit := cosine.UnitFactor(cosine.Square(v))
	hi, lo, weights := make([]uint64, len(v)), make([]uint64, len(v)), make([]int64, len(v))
	for i, t := range v {
		hi[i], lo[i], weights[i] = exact.SplitMix(t.Feature), exact.SplitMix(^t.Feature), Quantize(float64(t.Weight)*unit*(1<<10))
	}
	var a Accumulator128
	a.AddWeighted(hi, lo, weights)
	return a.Sum()
}

// plan chooses a generator for the pairs with a cosine of at least least. Below from contents it
// takes no sample.
func (c *collection[ID]) plan(v *cosine.Numbered, least, recall float64, from int) Plan {
	exact := Plan{Recall: 1}
	if recall >= 1 || len(c.contents) < from {
		return exact
	}
	similar := c.sample(v, least)
	if exact.Sampled = len(similar); len(similar) < planPairs {
		return exact
	}
	// What each generator would have found of the sample.
	distances := make([]int, len(similar))
	jaccards := make([]float64, len(similar))
	for i, p := range similar {
		distances[i] = c.fps[p.A].Distance(c.fps[p.B])
		jaccards[i] = featureSet(c.terms(p.A)).Jaccard(featureSet(c.terms(p.B)))
	}
	slices.Sort(distances)
	// A smaller distance is a cheaper join, so the first one that suffices is taken.
	for k := 3; k <= maxPlanReach; k++ {
		within, _ := slices.BinarySearch(distances, k+1)
		if r := lowerBound(float64(within)/float64(len(similar)), len(similar)); r >= recall {
			return Plan{Distance: k, Recall: r, Sampled: len(similar)}
		}
	}
	// The sample tells how similar the pairs are as sets, and the S-curve how likely a pair is to
	// agree in a band. The mean is the expected recall, without making any signature.
	for s := 0.95; s >= planSimilar; s -= 0.05 {
		b := NewBanding(minhash.DefaultValues, s, planBandPrice)
		mean := 0.0
		for _, j := range jaccards {
			mean += b.Probability(j) / float64(len(jaccards))
		}
		if r := lowerBound(mean, len(similar)); r >= recall {
			return Plan{Banding: b, Recall: r, Sampled: len(similar)}
		}
	}
	return exact
}

// lowerBound returns the lower end of the confidence interval of a share that was measured on n, at
// 95 % on one side (Wilson 1927).
func lowerBound(share float64, n int) float64 {
	const z = 1.6449
	x := float64(n)
	return (share + z*z/(2*x) - z*math.Sqrt(share*(1-share)/x+z*z/(4*x*x))) / (1 + z*z/x)
}

// sample returns the similar pairs (A, B), A < B, where A is in the sample: one of every N/1000
// contents.
func (c *collection[ID]) sample(v *cosine.Numbered, least float64) []cosine.Pair {
	step := max(1, v.N/planSample)
	return slices.Collect(cosine.NewJoin(v, least, func(i int) bool { return i%step == 0 }).Pairs(0))
}

// pairs yields the pairs of different contents, A < B, of some kinds and with a cosine of at least
// least, or a fraction recall of them. Below from contents a plan does not pay, and it yields all. It
// leaves out pairs of two contents that only old documents have. It ends early when the context does.
func (c *collection[ID]) pairs(ctx context.Context, least, recall float64, from int, kinds Kind) iter.Seq[cosine.Pair] {
	return func(yield func(cosine.Pair) bool) {
		if len(c.contents) == 0 || ctx.Err() != nil {
			return
		}
		v, leftOut := c.number(from), c.leavesOut(kinds)
		plan := c.plan(v, least, recall, from)
		// verify yields a candidate pair if it is similar enough, and returns whether to go on.
		verify := func(i, j int) bool {
			if ctx.Err() != nil {
				return false
			}
			if max(i, j) < c.old {
				return true
			}
			if leftOut != nil && leftOut(i, j) {
				return true
			}
			s := v.Cosine(i, j)
			return s < least || yield(cosine.Pair{A: min(i, j), B: max(i, j), Similarity: s})
		}
		switch {
		case plan.Banding != Banding{}:
			// CandidatePairs yields each pair once, so a pair is verified once.
			for p := range c.candidates(ctx, plan.Banding, least) {
				if !verify(p.A, p.B) {
					return
				}
			}
		case plan.Distance > 0:
			for p := range Pairs(ctx, c.fps, plan.Distance) {
				if !verify(p.A, p.B) {
					return
				}
			}
		default:
			join := cosine.NewJoin(v, least, func(int) bool { return true })
			join.Skip = leftOut
			join.Pairs(c.old)(func(p cosine.Pair) bool { return ctx.Err() == nil && yield(p) })
		}
	}
}

// candidates yields the pairs of contents whose signatures agree in a band.
func (c *collection[ID]) candidates(ctx context.Context, b Banding, least float64) iter.Seq[Pair[int]] {
	return func(yield func(Pair[int]) bool) {
		ix, err := NewSignatureIndex[int](least, SignatureIndexOptions{Values: minhash.DefaultValues, Banding: b})
		if err != nil {
			panic(err.Error()) // the plan chose bands that do not fit
		}
		if ix.AddAll(ctx, slices.All(signAll(len(c.contents), c.terms, MinHash{}))) != nil {
			return // the context has ended; an index in memory has no other error
		}
		for p, err := range ix.CandidatePairs(ctx) {
			if err != nil || !yield(p) {
				return
			}
		}
	}
}
