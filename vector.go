package neardup

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

// A Vector is a document of the vector space model (S000 §2, S003): the weights of its
// distinct features, in ascending order of their hashes. Features are known by 64-bit
// hashes, so a vocabulary never needs to be kept; among a million of them the chance that
// any two are confused is 3 in 10⁸.
//
// [NewVector] makes one of terms in any order. Whoever makes one otherwise keeps the features
// ascending, all different and none 0, and the weights finite; else indexes and joins panic, and
// the measures are wrong.
//
// Weights are rounded to 24 bits, so a product of two is exact in 64, and sums are taken in
// the order of the features: the measures are the same on every platform.
type Vector []Term

// NewVector makes a vector of terms, which it keeps and sorts. The weights of equal features are
// added up in their order, NaN counts as 0, and what is 0 then is left out.
func NewVector(terms []Term) Vector {
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

// check panics if it is no vector.
func (a Vector) check() {
	before := uint64(0)
	for _, t := range a {
		if t.Feature <= before || !isFinite(t.Weight) {
			panic("neardup: a Vector with features that are not ascending, or weights that are not finite; NewVector sees to it")
		}
		before = t.Feature
	}
}

func isFinite(x float32) bool { return x-x == 0 }

func byFeature(a, b Term) int { return cmp.Compare(a.Feature, b.Feature) }

// sortTerms sorts terms with different features. Those are hashes, so nearly all find their place by
// the highest bits.
func sortTerms(terms []Term) Vector {
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
	sorted := make(Vector, len(terms))
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

// Vector returns the vector of a text: of each distinct feature the weight that Features
// has. The hash of a feature is xxh3, seeded if Hash is ([SeededHash]), whatever
// else Hash is.
func (f *Fingerprinter) Vector(text string) Vector {
	r := f.reading(toTerms)
	r.text(text)
	return r.vector()
}

// RecordVector is [Fingerprinter.Vector] for a record.
func (f *Fingerprinter) RecordVector(rec Record) Vector {
	r := f.reading(toTerms)
	r.record(rec)
	return r.vector()
}

// vector returns what was read, and releases r.
func (r *reading) vector() Vector {
	terms := make([]Term, len(r.bag.keys))
	for i, key := range r.bag.keys {
		terms[i] = Term{key, float32(float64(r.bag.weights[i]) / (1 << weightBits))}
	}
	r.release()
	return NewVector(sortTerms(terms))
}

// Dot returns the inner product of two vectors, in time linear in both (S000 eq. 3).
func (a Vector) Dot(b Vector) float64 {
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

// square is the inner product of a with itself.
func (a Vector) square() float64 {
	sum := 0.0
	for _, t := range a {
		sum += float64(t.Weight) * float64(t.Weight)
	}
	return sum
}

// Norm returns the Euclidean length of a vector (S000 eq. 2).
func (a Vector) Norm() float64 { return math.Sqrt(a.square()) }

// Cosine returns the cosine of the angle between two vectors (S000 eq. 1): 1 for those of one
// direction, 0 for those that share no feature, and −1 at least. A vector without terms has
// no direction; its cosine with everything is 0, with itself too.
func (a Vector) Cosine(b Vector) float64 { return cosine(a.Dot(b), a.square(), b.square()) }

// cosine returns the cosine of vectors by their inner products. That of a vector and itself is
// exactly 1.
func cosine(dot, aa, bb float64) float64 {
	if aa == 0 || bb == 0 {
		return 0
	}
	return min(max(dot/math.Sqrt(aa*bb), -1), 1)
}
