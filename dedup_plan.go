package neardup

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/minhash"
)

// A Plan says how a [Deduplicator] finds the pairs to compare.
type Plan struct {
	Generator Generator
	Distance  int     // ByFingerprints: the largest
	Banding   Banding // BySignatures

	// Recall is the share of the pairs that are similar enough which the generator finds: 1 of an
	// exact one, and of others a lower bound, with a confidence of 95 %, by the pairs of a sample.
	Recall  float64
	Sampled int // pairs of the sample; 0 if there was none
}

// A Generator is what finds pairs to be compared exactly, the cheapest first.
type Generator uint8

const (
	ByFingerprints Generator = iota // 128-bit SimHash of the weighted features, within a distance
	BySignatures                    // MinHash of the features, 128 values, that agree in a band
	ByVectors                       // all that can be similar enough, see VectorPairs: exact
)

// String says in a line what the plan is.
func (p Plan) String() string {
	how := "by vectors, exactly"
	switch p.Generator {
	case ByFingerprints:
		how = fmt.Sprintf("by fingerprints of 128 bits within %d", p.Distance)
	case BySignatures:
		how = fmt.Sprintf("by signatures, %d bands of %d", p.Banding.Bands, p.Banding.Rows)
	}
	return fmt.Sprintf("%s; recall at least %.3f, by %d pairs", how, p.Recall, p.Sampled)
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
// different documents, it is ByVectors. Otherwise all pairs of a sample of 1,000 documents are
// found, and the plan is the cheapest generator that finds enough of those; ByVectors, if they
// are too few to tell.
func (d *Deduplicator[ID]) Plan() Plan {
	c := d.collect(0)
	return c.plan(c.number(d.settings.Recall), d.settings.Similarity, d.settings.Recall, planFrom)
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
	return a.Sum(TieZero)
}

// plan chooses a generator.
func (c *collection[ID]) plan(v *cosine.Numbered, least, recall float64, from int) Plan {
	exact := Plan{Generator: ByVectors, Recall: 1}
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
			return Plan{Generator: ByFingerprints, Distance: k, Recall: r, Sampled: len(similar)}
		}
	}
	for s := 0.95; s >= planSimilar; s -= 0.05 {
		b := NewBanding(minhash.DefaultValues, s, planBandPrice)
		mean := 0.0
		for _, j := range jaccards {
			mean += b.Probability(j) / float64(len(jaccards))
		}
		if r := lowerBound(mean, len(similar)); r >= recall {
			return Plan{Generator: BySignatures, Banding: b, Recall: r, Sampled: len(similar)}
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

// pairs yields the pairs of different contents of at least a similarity, or a share of them if
// there are so many contents that it is planned how.
func (c *collection[ID]) pairs(least, recall float64, from int) iter.Seq[cosine.Pair] {
	return func(yield func(cosine.Pair) bool) {
		if len(c.contents) == 0 {
			return
		}
		if len(c.contents) < from { // there is nothing to plan
			recall = 1
		}
		v := c.number(recall)
		plan := c.plan(v, least, recall, from)
		verify := func(i, j int) bool {
			if max(i, j) < c.old {
				return true
			}
			s := v.Cosine(i, j)
			return s < least || yield(cosine.Pair{A: min(i, j), B: max(i, j), Similarity: s})
		}
		switch plan.Generator {
		case ByFingerprints:
			for p := range Pairs(c.fps, plan.Distance) {
				if !verify(p.I, p.J) {
					return
				}
			}
		case BySignatures:
			ix, err := NewSignatureIndex[int](least, &SignatureIndexOptions{Values: minhash.DefaultValues, Banding: plan.Banding})
			if err != nil {
				panic(err) // the bands fit
			}
			ix.AddAll(slices.All(signAll(len(c.contents), c.terms, MinHash{})))
			for p := range ix.CandidatePairs() {
				if !verify(p.A, p.B) {
					return
				}
			}
		default:
			cosine.NewJoin(v, least, func(int) bool { return true }).Pairs(c.old)(yield)
		}
	}
}
