package cosine

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// This file has sparse vectors. A vector is a slice of terms with ascending features and finite
// weights, like the type Vector of the root package.
//
// Sums are the same on every machine. They are in float64, in the order of the features. The
// product of two float32 is exact in float64, so it does not matter whether a compiler fuses a
// multiplication with an addition. Nor can products or squares overflow or vanish: squares of
// float32 are between 10⁻⁹⁰ and 10⁷⁸.

// A Term is a feature of a document and the weight it has there.
type Term struct {
	Feature uint64 // the hash by which DocumentFrequencies of the root package know the feature; never 0
	Weight  float32
}

// Merge makes a vector of terms, in their memory. It adds the weights of equal features in the
// order in which they come. NaN counts as 0, infinite weights and sums become the largest finite
// number, and feature 0 becomes 1. Terms whose weight is 0 in the end are left out.
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

// IsVector reports whether terms form a vector: features ascend and are above 0, and weights are
// finite.
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

// isFinite reports whether x is neither infinite nor NaN: for these x−x is NaN.
func isFinite(x float32) bool { return x-x == 0 }

// byFeature compares terms for sorting.
func byFeature(a, b Term) int { return cmp.Compare(a.Feature, b.Feature) }

// Sort returns the terms sorted by feature. The features must differ. For few terms it sorts in
// place; otherwise the result is a new slice. It is a bucket sort, in linear time on average:
// features are hashes, so their highest bits spread them evenly over about as many buckets as there
// are terms.
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
	for _, t := range terms { // advances each start to the end of its bucket
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

// SortKeys sorts keys, which are hashes, in the way of [Sort]. It returns them in the memory of buf, or
// sorted in place, and the other of the two slices for the next call.
func SortKeys(keys, buf []uint64) (sorted, other []uint64) {
	if len(keys) < 64 {
		slices.Sort(keys)
		return keys, buf
	}
	sorted = slices.Grow(buf[:0], len(keys))[:len(keys)]
	if len(keys) <= mostAtOnce {
		sortKeys(sorted, keys, 0)
		return sorted, keys
	}
	// First by the highest bits, and then each part by itself, back into the memory of keys.
	const width = 8
	var ends [1 << width]int
	for _, k := range keys {
		ends[k>>(64-width)]++
	}
	sum := 0
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	for _, k := range keys {
		at := &ends[k>>(64-width)]
		sorted[*at] = k
		*at++
	}
	from := 0
	for _, to := range ends {
		if to-from > mostAtOnce {
			slices.Sort(sorted[from:to])
			copy(keys[from:to], sorted[from:to])
		} else {
			sortKeys(keys[from:to], sorted[from:to], width)
		}
		from = to
	}
	return keys, sorted
}

// mostAtOnce is how many keys have buckets on the stack.
const mostAtOnce = 4096

// sortKeys sorts keys into another slice. They have the highest bits skipped in common.
func sortKeys(sorted, keys []uint64, skipped int) {
	shift := 64 - bits.Len(uint(len(keys)))
	var ends [2 * mostAtOnce]uint16
	for _, k := range keys {
		ends[k<<skipped>>shift&(2*mostAtOnce-1)]++
	}
	sum := uint16(0)
	for i := range ends[:1<<(64-shift)] {
		sum, ends[i] = sum+ends[i], sum // where the bucket begins
	}
	for _, k := range keys { // turns each beginning into the end
		at := &ends[k<<skipped>>shift&(2*mostAtOnce-1)]
		sorted[*at] = k
		*at++
	}
	// Buckets have one key on average, so insertion has little to move. Many equal keys do not move.
	for i := 1; i < len(sorted); i++ {
		k, j := sorted[i], i
		for ; j > 0 && sorted[j-1] > k; j-- {
			sorted[j] = sorted[j-1]
		}
		sorted[j] = k
	}
}

// Dot returns the inner product of two vectors. It merges them, in time linear in both.
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

// Square returns the inner product of a vector with itself, the square of its length.
func Square(a []Term) float64 {
	sum := 0.0
	for _, t := range a {
		sum += float64(t.Weight) * float64(t.Weight)
	}
	return sum
}

// Of returns the cosine of two vectors a and b from their inner products dot = a·b, aa = a·a and
// bb = b·b. It is 0 if a vector is 0, never outside [−1, 1], and exactly 1 for a vector and itself:
// the root of a rounded square is the number itself.
func Of(dot, aa, bb float64) float64 {
	if aa == 0 || bb == 0 {
		return 0
	}
	return min(max(dot/math.Sqrt(aa*bb), -1), 1)
}
