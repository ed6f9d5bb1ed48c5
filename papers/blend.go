// Package papers has methods of single papers that the library itself does not use: the weights of Wang 2019 and Zhang 2020
// (S002, S004), and the score of Wang 2019 by contents and metadata ([Blend]). They stay as long as the library does, and
// their results do not change unless their Version changes; https://github.com/neardup/neardup/blob/main/docs/weights.md
// shows how much they find. Example_zhang2020 runs the whole method of a paper.
//
// Two things are only mentioned in the documents, and are not here. Wang 2019 names bitmaps as a third family alongside
// shingles and fingerprints, without a method. june 2013 (S001) asks whether signatures can be subtracted: sums can
// ([neardup.Accumulator64.Subtract]), but not fingerprints, which no longer have the sums.
package papers

import (
	"fmt"
	"math"
	"strings"
)

// This file combines the similarity of contents, a Hamming distance, with that of metadata, such as
// tags.

// A Blend decides by contents and metadata together whether two documents are near-duplicates.
// Metadata is keywords, tags or references (Wang 2019 §2.1, eq. 1). The score of two documents is
//
//	μ/(H+1) + (1−μ)·S
//
// H is the Hamming distance of the fingerprints of their contents. S is the similarity of their
// metadata, the Jaccard similarity of the sets or its estimate. The score is 1 for equal documents,
// and about 0.03 for unrelated ones with fingerprints of 64 bits.
//
// The zero value has the weight and the threshold of Wang 2019. With these, a pair at distance 3
// needs S ≥ 0.25, at 4 it needs 0.7, and at 5 it needs 1; see [Blend.MinMetadata]. Only Check tests
// whether the fields are in range.
type Blend struct {
	// Content is μ, the weight of the content, above 0 and at most 1; 0 means 0.9. Wang 2019
	// suggests 0.8 to 0.9.
	Content float64

	// Threshold is the smallest score of near-duplicates, above 0 and at most 1; 0 means 0.25,
	// which is what the content alone scores at distance 3. Wang 2019 calls documents similar if
	// the score is less than 0.25. Then those that differ most would be similar, so this is read as
	// a slip.
	Threshold float64
}

// scoreTolerance is how far scores may be apart and still count as equal: in floating point, 0.9/6
// + (1−0.9)·1 is not quite 0.25.
const scoreTolerance = 1e-12

// content returns Content, or its default.
func (b Blend) content() float64 {
	if b.Content == 0 {
		return 0.9
	}
	return b.Content
}

// threshold returns Threshold, or its default.
func (b Blend) threshold() float64 {
	if b.Threshold == 0 {
		return 0.25
	}
	return b.Threshold
}

// Check returns an error if the weight or the threshold is not above 0 and at most 1, or is NaN.
func (b Blend) Check() error {
	mu, least := b.content(), b.threshold()
	switch {
	case !(mu > 0 && mu <= 1):
		return fmt.Errorf("papers: Blend.Content %g is not above 0 and at most 1", mu)
	case !(least > 0 && least <= 1):
		return fmt.Errorf("papers: Blend.Threshold %g is not above 0 and at most 1", least)
	}
	return nil
}

// Score returns the score of two documents. distance is the Hamming distance of their fingerprints,
// 0 or more. metadata is the similarity of their metadata, from 0 to 1, or NaN if neither has any,
// as [neardup.Set.Jaccard] and [neardup.Signature.Jaccard] return it. With NaN the score is that of the content
// alone, 1/(distance+1). The result is the same on every platform.
func (b Blend) Score(distance int, metadata float64) float64 {
	content := 1 / float64(distance+1)
	switch {
	case !math.IsNaN(metadata):
		return float64(b.content()*content) + float64((1-b.content())*metadata)
	}
	return content
}

// Similar reports whether a score is at least the threshold. It allows for rounding: a score may be
// below by 10⁻¹². NaN is not similar.
func (b Blend) Similar(score float64) bool { return score >= b.threshold()-scoreTolerance }

// MaxDistance returns the largest Hamming distance, up to width, at which two documents can be
// near-duplicates. With this distance for [neardup.NewIndex] or [neardup.Pairs], none is lost. It is 5 for the zero
// value, and 15 for a Content of 0.8. It is width if metadata alone can decide; then all pairs must
// be compared, or candidates found by metadata. It is −1 if no two documents can be
// near-duplicates.
func (b Blend) MaxDistance(width int) int {
	for d := width; d >= 0; d-- {
		// The score is largest at one of these.
		for _, s := range []float64{0, 1, math.NaN()} {
			if b.Similar(b.Score(d, s)) {
				return d
			}
		}
	}
	return -1
}

// MinMetadata returns the smallest similarity of metadata, 0 to 1, with which two documents at a
// distance are near-duplicates. It is 0 if they always are, and NaN if nothing is enough. It does not
// apply to documents without metadata, whose similarity is NaN.
func (b Blend) MinMetadata(distance int) float64 {
	at := b.Score(distance, 0)
	if b.Similar(at) {
		return 0
	}
	if !b.Similar(b.Score(distance, 1)) {
		return math.NaN()
	}
	return min(1, float64(b.threshold()-at)/(1-b.content()))
}

// String returns the table of decisions: which similarity of metadata documents need at each
// distance.
//
//	content 0.9, score ≥ 0.25: up to distance 2 any metadata, 3 0.250, 4 0.700, 5 1.000
func (b Blend) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "content %g, score ≥ %g:", b.content(), b.threshold())
	free := -1 // up to this distance, no metadata is needed
	for free < 128 && b.MinMetadata(free+1) == 0 {
		free++
	}
	if free >= 0 {
		fmt.Fprintf(&s, " up to distance %d any metadata,", free)
	}
	for d := free + 1; !math.IsNaN(b.MinMetadata(d)); d++ {
		if d == free+20 {
			return s.String() + " …"
		}
		fmt.Fprintf(&s, " %d %.3f,", d, b.MinMetadata(d))
	}
	return strings.TrimSuffix(s.String(), ",")
}
