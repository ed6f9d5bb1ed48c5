// Package compare compares texts by several measures side by side, as Wang 2016 does. It also
// estimates the cosine of two texts from the distance of their fingerprints.
package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
)

// A Comparison says how similar two texts are, by several measures.
type Comparison struct {
	I, J      int     // the positions of the texts; I is smaller
	Cosine    float64 // of the vectors
	Jaccard   float64 // of the sets; NaN if neither text has features
	Distances []int   // of the fingerprints, one for each width
}

// Comparisons has a Comparison for every two of some texts.
type Comparisons struct {
	Widths []int
	Rows   []Comparison // sorted by J, then by I
}

// Compare compares every two of some texts by cosine, by Jaccard similarity, and by fingerprints of
// the given widths. A fingerprint of up to 64 bits is a part of Sum64
// ([neardup.Fingerprint64.Truncate]), a longer one is a part of Sum128. Wang 2016 compares four
// texts in this way, with 50, 64 and 128 bits. Compare panics if a width is not from 1 to 128.
//
// Compare takes time for every pair. For more than some hundred texts use package dedup.
func Compare(f *neardup.Fingerprinter, texts []string, widths ...int) Comparisons {
	c := Comparisons{Widths: slices.Clone(widths)}
	vectors, sets := make([]neardup.Vector, len(texts)), make([]neardup.Set, len(texts))
	fps := make([][]neardup.Fingerprint128, len(texts))
	for i, text := range texts {
		vectors[i], sets[i] = f.Vector(neardup.Text(text)), f.Set(neardup.Text(text))
		for _, w := range widths {
			if w < 1 || w > 128 {
				panic(fmt.Sprintf("compare: a fingerprint cannot have %d bits, only 1 to 128", w))
			}
			fp := neardup.Fingerprint128{}
			if w <= 64 {
				fp.Lo = uint64(f.Sum64(neardup.Text(text)).Truncate(w))
			} else {
				fp = f.Sum128(neardup.Text(text)).Truncate(w)
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

// String returns the comparisons as a table. For each fingerprint it has the distance, followed by
// the [HammingSimilarity].
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

// Ratio returns the smaller of two fingerprints divided by the larger one, both taken as integers. It
// is 1 if they are equal, also if both are 0. It is what the programs of Wang 2016 most likely call
// similarity, since the Python class of that time does so. It is here to reproduce the paper: it
// follows the highest bit that differs, so it says next to nothing about two texts. The integers are
// rounded to 53 bits, as in that class.
func Ratio(a, b neardup.Fingerprint128) float64 {
	if a == b {
		return 1
	}
	x, y := math.Ldexp(float64(a.Hi), 64)+float64(a.Lo), math.Ldexp(float64(b.Hi), 64)+float64(b.Lo)
	return min(x, y) / max(x, y)
}

// HammingSimilarity returns 1 − distance/width, the fraction of equal bits of two fingerprints of
// width bits. It is 1 for equal fingerprints and about 0.5 for unrelated ones. If distance is not
// from 0 to width, the result is NaN.
func HammingSimilarity(distance, width int) float64 {
	if distance < 0 || distance > width || width == 0 {
		return math.NaN()
	}
	return 1 - float64(distance)/float64(width)
}

// HammingCosine returns cos(π·distance/width). It estimates the cosine of the weighted feature
// vectors of two texts from their fingerprints of width bits, because two vectors at the angle θ
// differ in each bit with the probability θ/π (Charikar 2002; Wang 2016 §3.1). The standard error
// of the angle is π·√(p(1−p)/width) with p = distance/width.
//
// If distance is not from 0 to width, the result is NaN. The result is the same on every platform,
// which [math.Cos] does not promise.
func HammingCosine(distance, width int) float64 {
	if distance < 0 || distance > width || width == 0 {
		return math.NaN()
	}
	if distance == 0 || distance == width {
		return float64(1 - 2*(distance/width))
	}
	// With x = 2·distance/width − 1, which is in [−1, 1], cos(π·distance/width) is −sin(πx/2).
	// Conversions prevent fused multiply-adds, whose results depend on the platform.
	x := float64(2*distance-width) / float64(width) * (math.Pi / 2)
	xx := float64(x * x)
	sum := 0.0
	for n := 27; n >= 3; n -= 2 { // Horner's rule on the Taylor series
		sum = float64((1 + sum) * -xx / float64(n*(n-1)))
	}
	return 0 - float64(x*(1+sum)) // 0 − x instead of −x, which could be −0
}
