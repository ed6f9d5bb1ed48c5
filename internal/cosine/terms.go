package cosine

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A Term is a feature of a document and what it weighs there.
type Term struct {
	Feature uint64 // the hash by which [Statistics] know it too; never 0
	Weight  float32
}

// Merge makes a vector of terms, which it keeps and sorts. The weights of equal features are
// added up in their order, NaN counts as 0, and what is 0 then is left out.
func Merge(terms []Term) []Term {
	for i := range terms {
		terms[i].Feature = max(terms[i].Feature, 1)
		if terms[i].Weight != terms[i].Weight {
			terms[i].Weight = 0
		}
		terms[i].Weight = min(max(terms[i].Weight, -math.MaxFloat32), math.MaxFloat32)
	}
	if !slices.IsSortedFunc(terms, byFeature) {
		slices.SortStableFunc(terms, byFeature)
	}
	n := 0
	for i := 0; i < len(terms); {
		t, sum := terms[i], 0.0
		for ; i < len(terms) && terms[i].Feature == t.Feature; i++ {
			sum += float64(terms[i].Weight)
		}
		if t.Weight = float32(min(max(sum, -math.MaxFloat32), math.MaxFloat32)); t.Weight != 0 {
			terms[n] = t
			n++
		}
	}
	return slices.Clip(terms[:n])
}

// IsVector reports whether features are ascending and weights finite.
func IsVector(a []Term) bool {
	before := uint64(0)
	for _, t := range a {
		if t.Feature <= before || !isFinite(t.Weight) {
			return false
		}
		before = t.Feature
	}
	return true
}

func isFinite(x float32) bool { return x-x == 0 }

func byFeature(a, b Term) int { return cmp.Compare(a.Feature, b.Feature) }

// Sort sorts terms with different features. Those are hashes, so nearly all find their place by
// the highest bits.
func Sort(terms []Term) []Term {
	if len(terms) < 64 {
		slices.SortFunc(terms, byFeature)
		return slices.Clip(terms)
	}
	shift := 64 - bits.Len(uint(len(terms)))
	starts := make([]uint32, 1<<(64-shift)+1)
	for _, t := range terms {
		starts[t.Feature>>shift+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	sorted := make([]Term, len(terms))
	for _, t := range terms { // each start becomes the end
		at := &starts[t.Feature>>shift]
		sorted[*at] = t
		*at++
	}
	from := uint32(0)
	for _, to := range starts {
		if to > from+1 {
			slices.SortFunc(sorted[from:to], byFeature)
		}
		from = to
	}
	return sorted
}

// Dot returns the inner product of two vectors, in time linear in both.
func Dot(a, b []Term) float64 {
	sum := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch x, y := a[i].Feature, b[j].Feature; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			sum += float64(a[i].Weight) * float64(b[j].Weight)
			i++
			j++
		}
	}
	return sum
}

// Square is the inner product of a vector with itself.
func Square(a []Term) float64 {
	sum := 0.0
	for _, t := range a {
		sum += float64(t.Weight) * float64(t.Weight)
	}
	return sum
}

// Of returns the cosine of vectors by their inner products. That of a vector and itself is
// exactly 1.
func Of(dot, aa, bb float64) float64 {
	if aa == 0 || bb == 0 {
		return 0
	}
	return min(max(dot/math.Sqrt(aa*bb), -1), 1)
}
