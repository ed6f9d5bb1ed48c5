package neardup

import (
	"fmt"
	"slices"
	"strings"
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
// ([Fingerprint64.Truncate]), beyond of Sum128. S000 does so with four texts and 50, 64 and 128
// bits. It takes time for all pairs; for more than some hundred texts use a [Deduplicator]. A
// width out of range panics.
func (f *Fingerprinter) Compare(texts []string, widths ...int) Comparisons {
	c := Comparisons{Widths: slices.Clone(widths)}
	vectors, sets := make([]Vector, len(texts)), make([]Set, len(texts))
	fps := make([][]Fingerprint128, len(texts))
	for i, text := range texts {
		vectors[i], sets[i] = f.Vector(text), f.Set(text)
		for _, w := range widths {
			if w < 1 || w > 128 {
				panic(fmt.Sprintf("neardup: a fingerprint of %d bits", w))
			}
			fp := Fingerprint128{}
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
