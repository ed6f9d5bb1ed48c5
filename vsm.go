package neardup

import (
	"context"
	"errors"
	"iter"
	"math"
	"unsafe"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
)

// This file has the vector space model: texts as vectors of weighted features, and their exact cosine, the sum of the products of
// the weights over the product of the lengths. In the example of S000, two texts have the weights (30, 20, 20, 10, 0) and (40, 0, 30, 20, 10):
//
//	dot product   30·40 + 20·0 + 20·30 + 10·20 + 0·10  = 2000
//	lengths       √(30² + 20² + 20² + 10²)             = √1800
//	              √(40² + 30² + 20² + 10²)             = √3000
//	cosine        2000 / √(1800 · 3000)                = 0.8606629658
//
// internal/cosine does the arithmetic and the joins; [VectorIndex] searches vectors, and a
// [github.com/neardup/neardup/dedup.Deduplicator] is built on them.

// A Term is a feature of a document and its weight there.
type Term struct {
	Feature uint64  // the hash that identifies the feature in DocumentFrequencies too; never 0
	Weight  float32 // finite
}

// A Vector is a document in the vector space model (Wang 2016 §2, Li 2015): the weights of its distinct features, in
// ascending order of their hashes. Features are known by 64-bit hashes only, so no vocabulary is kept. Among a million
// features, the chance that any two have the same hash is 3 in 10⁸.
//
// [NewVector] makes a vector from terms in any order. In a vector that you make in another way, features must be in
// ascending order, all different and none 0, and weights must be finite. If they are not, indexes return an error, joins
// panic, and the measures are wrong.
//
// Weights have 24 bits, so the product of two is exact in a float64, and sums are in the order of the features. So all
// measures are the same on every platform. They take time linear in both vectors, and do not change them.
type Vector []Term

// NewVector makes a vector of terms in any order. It sorts terms in place, and the Vector keeps that memory. Weights of
// equal features are added up in the order in which they come. A NaN weight counts as 0, infinite weights and sums
// become the largest finite number, and feature 0 becomes 1. Terms whose weight is 0 in the end are left out.
func NewVector(terms []Term) Vector {
	return asVector(cosine.Merge(asTerms(terms)))
}

// VectorOf makes a vector of features of your own from their names, which it hashes with [HashFeature]. Weights are
// rounded to 24 bits, and treated as in [NewVector].
func VectorOf(weights map[string]float64) Vector {
	terms := make([]Term, 0, len(weights))
	for feature, weight := range weights {
		terms = append(terms, Term{Feature: featureKey(feature, nil), Weight: float32(weight)})
	}
	return NewVector(terms)
}

// asTerms and asVector are conversions in the same memory, between slices of types with the same fields.
func asTerms(v []Term) []cosine.Term {
	return unsafe.Slice((*cosine.Term)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

func asVector(terms []cosine.Term) Vector {
	return unsafe.Slice((*Term)(unsafe.Pointer(unsafe.SliceData(terms))), len(terms))
}

var _ = Term(cosine.Term{}) // compiles only if the fields are the same, as the conversions need

// termsOf is asTerms for many vectors.
func termsOf(vectors []Vector) cosine.Slice[[]cosine.Term] {
	return unsafe.Slice((*[]cosine.Term)(unsafe.Pointer(unsafe.SliceData(vectors))), len(vectors))
}

// Vector returns the vector of a document, with the same features and weights as [Fingerprinter.Features]. The hash of
// a feature is always xxh3, with the seed if Hash is a [SeededHash]. A document without features has an empty vector.
func (f *Fingerprinter) Vector(doc Document) Vector {
	r := f.extractor(toTerms)
	r.document(doc)
	return r.vector()
}

// vector returns the features that were read as a vector, and releases r.
func (r *extractor) vector() Vector {
	terms := make([]Term, len(r.bag.Keys))
	for i, key := range r.bag.Keys {
		terms[i] = Term{Feature: key, Weight: float32(float64(r.bag.Weights[i]) / (1 << exact.WeightBits))}
	}
	r.release()
	return NewVector(asVector(cosine.Sort(asTerms(terms))))
}

// Dot returns the inner product of two vectors (Wang 2016 eq. 3).
func (a Vector) Dot(b Vector) float64 { return cosine.Dot(asTerms(a), asTerms(b)) }

// Norm returns the Euclidean length of a vector (Wang 2016 eq. 2). That of an empty vector is 0.
func (a Vector) Norm() float64 { return math.Sqrt(cosine.Square(asTerms(a))) }

// Cosine returns the cosine of the angle between two vectors (Wang 2016 eq. 1), from −1 to 1. It is exactly 1 for equal
// vectors, and 0 for vectors that share no feature; it is below 0 only if there are negative weights. A vector without
// terms has no direction: its cosine with everything is 0, even with itself.
func (a Vector) Cosine(b Vector) float64 {
	return cosine.Of(a.Dot(b), cosine.Square(asTerms(a)), cosine.Square(asTerms(b)))
}

// check returns an error if a does not have the form that [Vector] demands.
func (a Vector) check() error {
	if !cosine.IsVector(asTerms(a)) {
		return errors.New("neardup: a Vector must have ascending features and finite weights; NewVector makes such a Vector")
	}
	return nil
}

// checkVectors panics if one of the vectors does not pass check.
func checkVectors(vectors []Vector) {
	for _, v := range vectors {
		if err := v.check(); err != nil {
			panic(err.Error())
		}
	}
}

// VectorPairs yields all pairs of vectors whose cosine is least or more, each once. A and B are positions, A < B;
// pairs are ordered by B and then by A. It is exact: it yields what comparing all vectors by [Vector.Cosine] would. If
// the context ends, its error comes last, with an empty Pair.
//
// It panics if least is not above 0, or if a vector is not valid (see [Vector]). The vectors must not change while the
// loop runs.
//
// It uses all processors. It keeps 8 bytes for each term whose feature another vector has too, and 8 more if the term
// enters the lists of the join, 24 bytes for each vector, and 4 more for each vector and processor.
func VectorPairs(ctx context.Context, vectors []Vector, least float64) iter.Seq2[Pair[int], error] {
	checkVectors(vectors)
	return similarPairs(ctx, cosine.Pairs(termsOf(vectors), least))
}

// similarPairs turns the pairs of internal/cosine into those of this package, and ends when the context does.
func similarPairs(ctx context.Context, pairs iter.Seq[cosine.Pair]) iter.Seq2[Pair[int], error] {
	return func(yield func(Pair[int], error) bool) {
		stopped := false
		if ctx.Err() == nil {
			pairs(func(p cosine.Pair) bool {
				if ctx.Err() != nil {
					return false
				}
				stopped = !yield(Pair[int]{A: p.A, B: p.B, Similarity: p.Similarity}, nil)
				return !stopped
			})
		}
		if err := ctx.Err(); err != nil && !stopped {
			yield(Pair[int]{}, err)
		}
	}
}
