package neardup

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
)

// A Term is a feature of a document and its weight there:
//
//	Feature uint64  // the hash by which Statistics know the feature too; never 0
//	Weight  float32
type Term = cosine.Term

// A Vector is a document of the vector space model (S000 §2, S003): the weights of its
// distinct features, in ascending order of their hashes. Features are known by 64-bit
// hashes, so a vocabulary never needs to be kept; among a million of them the chance that
// any two are confused is 3 in 10⁸.
//
// [NewVector] makes one of terms in any order. Whoever makes one otherwise keeps the features
// ascending, all different and none 0, and the weights finite; else indexes return an error, joins
// panic, and the measures are wrong.
//
// Weights are rounded to 24 bits, so a product of two is exact in 64, and sums are taken in
// the order of the features: the measures are the same on every platform.
type Vector []Term

// NewVector makes a vector of terms, which it keeps and sorts. The weights of equal features are
// added up in their order, NaN counts as 0, and what is 0 then is left out.
func NewVector(terms []Term) Vector {
	return cosine.Merge(terms)
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
	terms := make([]Term, len(r.bag.Keys))
	for i, key := range r.bag.Keys {
		terms[i] = Term{Feature: key, Weight: float32(float64(r.bag.Weights[i]) / (1 << weightBits))}
	}
	r.release()
	return NewVector(cosine.Sort(terms))
}

// Dot returns the inner product of two vectors, in time linear in both (S000 eq. 3).
func (a Vector) Dot(b Vector) float64 { return cosine.Dot(a, b) }

// Norm returns the Euclidean length of a vector (S000 eq. 2).
func (a Vector) Norm() float64 { return math.Sqrt(cosine.Square(a)) }

// Cosine returns the cosine of the angle between two vectors (S000 eq. 1): 1 for those of one
// direction, 0 for those that share no feature, and −1 at least. A vector without terms has
// no direction; its cosine with everything is 0, with itself too.
func (a Vector) Cosine(b Vector) float64 {
	return cosine.Of(cosine.Dot(a, b), cosine.Square(a), cosine.Square(b))
}

// check returns an error if it is no vector.
func (a Vector) check() error {
	if !cosine.IsVector(a) {
		return errors.New("neardup: a Vector with features that are not ascending, or weights that are not finite; NewVector sees to it")
	}
	return nil
}

// checkVectors panics if one of some vectors is none.
func checkVectors(vectors []Vector) {
	for _, v := range vectors {
		if err := v.check(); err != nil {
			panic(err.Error())
		}
	}
}

// VectorPairs yields all pairs of vectors with a cosine of at least least, which must be more than 0:
// each once, A before B, ordered by B and then by A. It is exact: what it yields is
// what comparing all by [Vector.Cosine] would (see inverted.go for how).
//
// It uses all processors, and keeps 8 bytes for each term that another vector has too, and as much
// for those that enter its lists; 24 bytes for each vector, and 4 more for each processor. The vectors
// must not be changed meanwhile.
func VectorPairs(ctx context.Context, vectors []Vector, least float64) iter.Seq[Pair[int]] {
	checkVectors(vectors)
	return similarPairs(ctx, cosine.Pairs(cosine.Slice[Vector](vectors), len(vectors), 0, least))
}

// VectorPairsBetween yields the pairs of a vector of old and one of fresh with a cosine of
// at least least: A is the position in old, B that in fresh. Else it is [VectorPairs].
func VectorPairsBetween(ctx context.Context, old, fresh []Vector, least float64) iter.Seq[Pair[int]] {
	all := slices.Concat(old, fresh)
	checkVectors(all)
	return func(yield func(Pair[int]) bool) {
		for p := range similarPairs(ctx, cosine.Pairs(cosine.Slice[Vector](all), len(old), len(old), least)) {
			if p.B -= len(old); !yield(p) {
				return
			}
		}
	}
}

// similarPairs turns pairs of the machinery into those of users, until the context is done.
func similarPairs(ctx context.Context, pairs iter.Seq[cosine.Pair]) iter.Seq[Pair[int]] {
	return func(yield func(Pair[int]) bool) {
		if ctx.Err() != nil {
			return
		}
		pairs(func(p cosine.Pair) bool {
			return ctx.Err() == nil && yield(Pair[int]{A: p.A, B: p.B, Similarity: p.Similarity})
		})
	}
}
