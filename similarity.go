package neardup

import (
	"fmt"
	"math"
	"strings"
)

// A Blend decides whether two documents are near-duplicates by their contents and by their
// metadata together: keywords, tags, references (S002 §2.1, eq. 1). Their score is
//
//	μ/(H+1) + (1−μ)·S
//
// where H is the Hamming distance of the fingerprints of their contents, and S the
// similarity of their metadata: Jaccard of the sets, or its estimate. It is 1 for equal
// documents, and unrelated ones of 64 bits score about 0.03.
//
// The zero value has S002's weight and threshold. At distance 3 and with them a pair needs
// S ≥ 0.25, at 4 it needs 0.7 and at 5 all; see [Blend.Needs].
type Blend struct {
	// Content is μ, the weight of the content, above 0 and at most 1; 0 means 0.9. S002: 0.8 to 0.9.
	Content float64

	// Threshold is the least score of near-duplicates; 0 means 0.25, which is that of the
	// distance 3. S002 says that documents are similar if the score is less than 0.25, but
	// then those that differ most would be; so it is read as a slip.
	Threshold float64
}

// scoreTolerance is within which scores are equal: 0.9/6 + (1−0.9)·1 is not quite 0.25 in
// floating point.
const scoreTolerance = 1e-12

func (b Blend) content() float64 {
	if b.Content == 0 {
		return 0.9
	}
	return b.Content
}

func (b Blend) threshold() float64 {
	if b.Threshold == 0 {
		return 0.25
	}
	return b.Threshold
}

// Check returns an error if the weight or the threshold is not above 0 and at most 1.
func (b Blend) Check() error {
	mu, least := b.content(), b.threshold()
	switch {
	case !(mu > 0 && mu <= 1):
		return fmt.Errorf("neardup: Blend.Content %g is not above 0 and at most 1", mu)
	case !(least > 0 && least <= 1):
		return fmt.Errorf("neardup: Blend.Threshold %g is not above 0 and at most 1", least)
	}
	return nil
}

// Score returns the score of two documents at a Hamming distance, 0 or more, and with a
// similarity of their metadata, 0 to 1, or NaN if neither has any: that is what
// [Set.Jaccard] and [Signature.Jaccard] return then.
func (b Blend) Score(distance int, metadata float64) float64 {
	content := 1 / float64(distance+1)
	switch {
	case !math.IsNaN(metadata):
		return float64(b.content()*content) + float64((1-b.content())*metadata)
	}
	return content
}

// Similar reports whether a score is at least the threshold, or below it by no more than 10⁻¹².
func (b Blend) Similar(score float64) bool { return score >= b.threshold()-scoreTolerance }

// Reach returns the largest Hamming distance, up to width, at which any two documents can
// be near-duplicates: that for [NewIndex] or [Pairs], so that none is lost. It is 5 for the
// zero value and 15 for a Content of 0.8. If metadata alone can decide it is the
// width: then all pairs have to be compared, or candidates be found by metadata. It is −1 if no
// two documents can be.
func (b Blend) Reach(width int) int {
	for d := width; d >= 0; d-- {
		for _, s := range []float64{0, 1, math.NaN()} {
			if b.Similar(b.Score(d, s)) {
				return d
			}
		}
	}
	return -1
}

// Needs returns the similarity of metadata from which on documents at a distance are
// near-duplicates, or NaN if none is enough.
func (b Blend) Needs(distance int) float64 {
	at := b.Score(distance, 0)
	if b.Similar(at) {
		return 0
	}
	if !b.Similar(b.Score(distance, 1)) {
		return math.NaN()
	}
	return min(1, float64(b.threshold()-at)/(1-b.content()))
}

// String returns the table of decisions: what metadata documents need at each distance.
//
//	content 0.9, score ≥ 0.25: up to distance 2 any metadata, 3 0.250, 4 0.700, 5 1.000
func (b Blend) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "content %g, score ≥ %g:", b.content(), b.threshold())
	free := -1
	for free < 128 && b.Needs(free+1) == 0 {
		free++
	}
	if free >= 0 {
		fmt.Fprintf(&s, " up to distance %d any metadata,", free)
	}
	for d := free + 1; !math.IsNaN(b.Needs(d)); d++ {
		if d == free+20 {
			return s.String() + " …"
		}
		fmt.Fprintf(&s, " %d %.3f,", d, b.Needs(d))
	}
	return strings.TrimSuffix(s.String(), ",")
}
