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

// A Plan says how a [Deduplicator] finds the pairs to verify. With a Banding these are the pairs
// whose MinHash signatures of 128 values agree in a band; else with a Distance, the pairs whose
// 128-bit SimHash fingerprints are within it; else all pairs that can be similar enough, by the
// exact join of [VectorPairs].
type Plan struct {
	Distance int
	Banding  Banding

	// Recall is the fraction of the similar pairs that are found: 1 for the exact join, else a lower
	// bound from the pairs of a sample, with a confidence of 95 %.
	Recall  float64
	Sampled int // pairs of the sample; 0 if none was taken
}

// String says in a line what the plan is.
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
	planFrom      = 100_000 // documents; fewer are compared exactly at once
	planSample    = 1000    // documents of which all pairs are found, to measure generators by
	planPairs     = 100     // pairs that a sample must have
	maxPlanReach  = 16      // distances up to which fingerprints are joined fast
	planSimilar   = 0.05    // the smallest Jaccard similarity that bands are made for
	planBandPrice = 0.1     // of candidates that are in vain; see NewBanding
)

// Plan returns how Pairs would find the pairs now. With a Recall of 1, and for fewer than 100,000
// different documents, it is exact. Otherwise all pairs of a sample of 1,000 documents are
// found, and the plan is the cheapest generator that finds enough of those; the exact join, if
// they are too few to tell.
func (d *Deduplicator[ID]) Plan() Plan {
	c := d.collect(0)
	return c.plan(c.number(d.options().Recall), d.options().Similarity, d.options().Recall, planFrom)
}

// number numbers the features, and makes fingerprints too if the recall is less than 1.
func (c *collection[ID]) number(recall float64) *cosine.Numbered {
	if recall < 1 {
		c.fps = make([]Fingerprint128, len(c.contents))
	}
	return cosine.Number(c, 2)
}

// fingerprint is the SimHash of a vector.
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

// plan chooses a generator.
func (c *collection[ID]) plan(v *cosine.Numbered, least, recall float64, from int) Plan {
	exact := Plan{Recall: 1}
	if recall >= 1 || len(c.contents) < from {
		return exact
	}
	similar := c.sample(v, least)
	if exact.Sampled = len(similar); len(similar) < planPairs {
		return exact
	}
	distances := make([]int, len(similar))
	jaccards := make([]float64, len(similar))
	for i, p := range similar {
		distances[i] = c.fps[p.A].Distance(c.fps[p.B])
		jaccards[i] = featureSet(c.terms(p.A)).Jaccard(featureSet(c.terms(p.B)))
	}
	slices.Sort(distances)
	for k := 3; k <= maxPlanReach; k++ {
		within, _ := slices.BinarySearch(distances, k+1)
		if r := lowerBound(float64(within)/float64(len(similar)), len(similar)); r >= recall {
			return Plan{Distance: k, Recall: r, Sampled: len(similar)}
		}
	}
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

// lowerBound is that of a share of n, with a confidence of 95 % (Wilson 1927).
func lowerBound(share float64, n int) float64 {
	const z = 1.6449
	x := float64(n)
	return (share + z*z/(2*x) - z*math.Sqrt(share*(1-share)/x+z*z/(4*x*x))) / (1 + z*z/x)
}

// sample returns the pairs of which one is of the sample.
func (c *collection[ID]) sample(v *cosine.Numbered, least float64) []cosine.Pair {
	step := max(1, v.N/planSample)
	return slices.Collect(cosine.NewJoin(v, least, func(i int) bool { return i%step == 0 }).Pairs(0))
}

// pairs yields the pairs of different contents of at least a similarity, or a fraction recall of
// them, if there are at least from contents, so that a plan pays. It ends when the context does.
func (c *collection[ID]) pairs(ctx context.Context, least, recall float64, from int) iter.Seq[cosine.Pair] {
	return func(yield func(cosine.Pair) bool) {
		if len(c.contents) == 0 || ctx.Err() != nil {
			return
		}
		if len(c.contents) < from { // there is nothing to plan
			recall = 1
		}
		v := c.number(recall)
		plan := c.plan(v, least, recall, from)
		verify := func(i, j int) bool {
			if ctx.Err() != nil {
				return false
			}
			if max(i, j) < c.old {
				return true
			}
			s := v.Cosine(i, j)
			return s < least || yield(cosine.Pair{A: min(i, j), B: max(i, j), Similarity: s})
		}
		switch {
		case plan.Banding != Banding{}:
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
			join.Pairs(c.old)(func(p cosine.Pair) bool { return ctx.Err() == nil && yield(p) })
		}
	}
}

// candidates yields the pairs of contents whose signatures agree in a band.
func (c *collection[ID]) candidates(ctx context.Context, b Banding, least float64) iter.Seq[Pair[int]] {
	return func(yield func(Pair[int]) bool) {
		ix, err := NewSignatureIndex[int](least, SignatureIndexOptions{Values: minhash.DefaultValues, Banding: b})
		if err != nil {
			panic(err) // the plan chose bands that do not fit
		}
		if ix.AddAll(ctx, slices.All(signAll(len(c.contents), c.terms, MinHash{}))) != nil {
			return // the context is done; an index in memory has no other error
		}
		for p, err := range ix.CandidatePairs(ctx) {
			if err != nil || !yield(p) {
				return
			}
		}
	}
}
