// Package compare compares texts by several measures side by side, as Wang 2016 does.
package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
)

// A Comparison is two texts of some, by their positions, and how similar they are by several measures.
type Comparison struct {
	I, J      int
	Cosine    float64 // of their vectors
	Jaccard   float64 // of their sets; NaN if neither has features
	Distances []int   // of their fingerprints, by width
}

// Comparisons are every two of some texts.
type Comparisons struct {
	Widths []int
	Rows   []Comparison // by J, then I; I is smaller
}

// Compare compares every two of some texts by cosine, by the Jaccard similarity, and by
// fingerprints of the widths, 1 to 128 bits each: up to 64 they are parts of Sum64
// ([neardup.Fingerprint64.Truncate]), beyond of Sum128. S000 does so with four texts and 50, 64 and 128
// bits. It takes time for all pairs; for more than some hundred texts use a [neardup.Deduplicator]. A
// width out of range panics.
func Compare(f *neardup.Fingerprinter, texts []string, widths ...int) Comparisons {
	c := Comparisons{Widths: slices.Clone(widths)}
	vectors, sets := make([]neardup.Vector, len(texts)), make([]neardup.Set, len(texts))
	fps := make([][]neardup.Fingerprint128, len(texts))
	for i, text := range texts {
		vectors[i], sets[i] = f.Vector(text), f.Set(text)
		for _, w := range widths {
			if w < 1 || w > 128 {
				panic(fmt.Sprintf("compare: a fingerprint of %d bits", w))
			}
			fp := neardup.Fingerprint128{}
			if w <= 64 {
				fp.Lo = uint64(f.Sum64(text).Truncate(w))
			} else {
				fp = f.Sum128(text).Truncate(w)
			}
			fps[i] = append(fps[i], fp)
		}
		for j := range i {
			row := Comparison{I: j, J: i, Cosine: vectors[j].Cosine(vectors[i]), Jaccard: sets[j].Jaccard(sets[i])}
			for n := range widths {
				row.Distances = append(row.Distances, fps[j][n].Distance(fps[i][n]))
			}
			c.Rows = append(c.Rows, row)
		}
	}
	return c
}

// String returns the comparisons as a table. Of a fingerprint it has the distance, and behind it the
// [HammingSimilarity].
func (c Comparisons) String() string {
	var b strings.Builder
	b.WriteString("   I    J  cosine  Jaccard")
	for _, w := range c.Widths {
		fmt.Fprintf(&b, "  %9s", fmt.Sprint(w, " bits"))
	}
	b.WriteByte('\n')
	for _, r := range c.Rows {
		fmt.Fprintf(&b, "%4d %4d  %6.4f   %6.4f", r.I, r.J, r.Cosine, r.Jaccard)
		for n, d := range r.Distances {
			fmt.Fprintf(&b, "  %3d %5.3f", d, HammingSimilarity(d, c.Widths[n]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// HammingSimilarity returns 1 − distance/width, the share of equal bits of two
// fingerprints of width bits: 1 for equal ones, about 0.5 for unrelated ones. A
// distance outside 0 to width gives NaN.
func HammingSimilarity(distance, width int) float64 {
	if distance < 0 || distance > width || width == 0 {
		return math.NaN()
	}
	return 1 - float64(distance)/float64(width)
}

// HammingCosine returns cos(π·distance/width), which estimates the cosine of
// the weighted feature vectors of two texts from their fingerprints of width
// bits: two vectors at the angle θ differ in each bit with the probability θ/π
// (Charikar 2002; S000 §3.1). The standard error of the angle is
// π·√(p(1−p)/width) with p = distance/width.
//
// A distance outside 0 to width gives NaN. The result is the same on every
// platform, which [math.Cos] does not promise.
func HammingCosine(distance, width int) float64 {
	if distance < 0 || distance > width || width == 0 {
		return math.NaN()
	}
	if distance == 0 || distance == width {
		return float64(1 - 2*(distance/width))
	}
	// With x = 2·distance/width − 1 in [−1, 1], cos(π·distance/width) is
	// −sin(πx/2). Conversions forbid fused multiply-adds.
	x := float64(2*distance-width) / float64(width) * (math.Pi / 2)
	xx := float64(x * x)
	sum := 0.0
	for n := 27; n >= 3; n -= 2 { // Horner's rule on the Taylor series
		sum = float64((1 + sum) * -xx / float64(n*(n-1)))
	}
	return 0 - float64(x*(1+sum)) // 0 − x so that there is no −0
}
