// Package cosine finds vectors by exact cosine: the vectors most similar to a query ([Tables] and
// [Query]), and all pairs above a threshold ([Pairs]).
//
// Both use an inverted index (Li 2015 §1). Each term has a posting list: the vectors that have the
// term, each with its weight there. Vectors are scaled to unit length first, so a cosine is a sum
// of products of weights, and reading the posting lists of the query's terms adds up these sums.
//
// Most of that work would lie in the lists of frequent terms, which say little. So each term has a
// level by its document frequency, from 0 for the rarest terms to 15 for the terms that more than
// half of the vectors have. For each vector and each level the index stores how long the part of
// the vector is that lies above the level. Once the lists up to a level are read, the
// Cauchy–Schwarz inequality limits what a vector can still gain:
//
//	cosine ≤ sum so far + |query above the level| · |vector above the level|
//
// This is the bound of L2AP (Anastasiu and Karypis 2014), by levels instead of single terms. A
// vector is out once its bound is below the threshold. If |query above the level| alone is below
// it, all vectors that were not met so far are out. So the lists of frequent terms mostly stay
// unread.
//
// A join does more. It enters a vector only into the lists up to the level above which the vector
// is shorter than the threshold. That suffices: two vectors above the threshold share a term up to
// the lower of their two levels. Also, most vectors are much alike in how long they are above each
// level. So the few that are longer than nearly all get lists of their own. In the lists of all
// others a query reads only up to the level above which it is shorter than the threshold divided by
// the greatest length that they have there.
//
// Sums of rounded products serve as bounds only, with room for their rounding errors. A vector
// that passes is compared exactly, as Vector.Cosine of the root package does. So no result depends
// on the way in which it was found.
//
//	terms.go     vectors: terms sorted by feature, inner products
//	inverted.go  numbering of features, posting lists, levels, a hash table of weights
//	join.go      all pairs
//	tables.go    the index of one run of an index in files
//	query.go     the search of such an index
package cosine

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/parallel"
)

// levels is the number of levels. The highest level has the terms that more than a half of the
// vectors have, the next lower one those that more than a quarter have, and so on. The lowest has
// all terms that are rarer still.
const levels = 16

// termLevel returns the level of a term that df of n vectors have, 1 ≤ df ≤ n.
func termLevel(df, n uint32) int { return levels - 1 - min(bits.Len32(n/df)-1, levels-1) }

// An above tells, for each level and each vector, how long the part of the unit vector above the
// level is: the square root of the sum of the squares of its weights there. Lengths are in 1/255,
// rounded up, so bounds computed from them still hold. All vectors of a level lie side by side.
type above struct {
	n  int // vectors
	in []uint8
}

// newAbove returns lengths of 0 for n vectors.
func newAbove(n int) above { return above{n, make([]uint8, levels*n)} }

// at returns the lengths above a level, by vector.
func (a above) at(l int) []uint8 { return a.in[l*a.n:][:a.n] }

// A Source is a collection of vectors. Several goroutines call it at the same time.
type Source interface {
	// Len returns the number of vectors.
	Len() int

	// Vector returns vector i, sorted by feature. It may make the vector in the memory of buf,
	// which is a vector that the caller no longer needs, or nil.
	Vector(i int, buf []Term) []Term
}

// A Slice is a source of vectors in memory.
type Slice[V ~[]Term] []V

// Len implements [Source].
func (v Slice[V]) Len() int { return len(v) }

// Vector implements [Source].
func (v Slice[V]) Vector(i int, _ []Term) []Term { return v[i] }

// A numbered is a collection of vectors in memory whose features have numbers from 0, ascending
// with the hash of the feature. So the terms of a vector are sorted by number, and what belongs to
// a feature is an array.
type numbered struct {
	n        int      // vectors
	features []uint64 // the hash of each number
	df       []uint32 // the document frequency of each number, 1 or more
	parts    []numberedPart
}

// A numberedPart has the vectors of a chunk, one after the other, without the terms that were left
// out.
type numberedPart struct {
	ends    []int     // where each vector ends in ids and weights
	ids     []uint32  // the numbers of the features
	weights []float32 // not of unit vectors
	squares []float64 // of each vector with itself, including the terms that were left out
}

// number reads the vectors of src and numbers the features that at least so many vectors have. It
// leaves out the others: a feature of one vector only is in no pair, and matters for nothing but
// the length of that vector, which counts it.
func number(src Source, least uint32) *numbered {
	v := &numbered{n: src.Len()}
	v.parts = make([]numberedPart, (v.n+parallel.Chunk-1)/parallel.Chunk)
	table := frequencies(src)
	v.enter(table, least)
	parallel.Chunks(v.n, func(c, from, to int) {
		part := &v.parts[c]
		var buf []Term
		for i := from; i < to; i++ {
			buf = src.Vector(i, buf)
			for _, t := range buf {
				if id := table.Find(t.Feature, 0); id > 0 { // 0 is left out
					part.ids, part.weights = append(part.ids, id-1), append(part.weights, t.Weight)
				}
			}
			part.ends, part.squares = append(part.ends, len(part.ids)), append(part.squares, Square(buf))
		}
		part.ids, part.weights = slices.Clip(part.ids), slices.Clip(part.weights)
	})
	return v
}

// frequencies returns the document frequency of each feature.
func frequencies(src Source) *frequency.Table {
	var table frequency.Table
	parallel.Chunks(src.Len(), func(_, from, to int) {
		var buf []Term
		var keys, sorted []uint64
		for i := from; i < to; i++ {
			buf, keys = src.Vector(i, buf), keys[:0]
			for _, t := range buf {
				keys = append(keys, t.Feature)
			}
			sorted = slices.Grow(sorted[:0], len(keys))[:len(keys)]
			table.Count(keys, sorted)
		}
	})
	return &table
}

// enter numbers the features of a table that have a count of at least least, and keeps their
// frequencies. In the table it replaces each count by 1 plus the number, or by 0 if the feature is
// left out. A table has no order, so the features are sorted: the numbers are always the same.
func (v *numbered) enter(table *frequency.Table, least uint32) {
	type entry struct {
		key   uint64
		value *uint32
	}
	var entries [len(table.Shards)][]entry
	parallel.Each(len(entries), func(i int) {
		table.Shards[i].Each(func(key uint64, count *uint32) {
			if *count < least {
				*count = 0
			} else {
				entries[i] = append(entries[i], entry{key, count})
			}
		})
		slices.SortFunc(entries[i], func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	})
	for _, part := range entries { // a shard has the keys whose highest bits are its number
		for _, e := range part {
			v.features, v.df = append(v.features, e.key), append(v.df, *e.value)
			*e.value = uint32(len(v.features))
		}
	}
}

// vector returns vector i without the terms that were left out, and its square with them.
func (v *numbered) vector(i int) (ids []uint32, weights []float32, square float64) {
	part := &v.parts[i/parallel.Chunk]
	i %= parallel.Chunk
	from := 0
	if i > 0 {
		from = part.ends[i-1]
	}
	return part.ids[from:part.ends[i]], part.weights[from:part.ends[i]], part.squares[i]
}

// postings holds posting lists, one after the other. The list of feature f is
// lists[starts[f]:starts[f+1]], by ascending vector.
type postings struct {
	starts []uint32
	lists  []posting
}

// A posting is an entry of a posting list: the number of a vector in the lower 32 bits, and in the
// upper ones the weight that the feature has in the unit vector, as a float32.
type posting uint64

// newPosting returns the posting of a vector, rounding the weight to 24 bits.
func newPosting(vector uint32, weight float64) posting {
	return posting(vector) | posting(math.Float32bits(float32(weight)))<<32
}

// vector returns the number of the vector.
func (p posting) vector() uint32 { return uint32(p) }

// weight returns the weight in the unit vector.
func (p posting) weight() float32 { return math.Float32frombits(uint32(p >> 32)) }

// newPostings makes posting lists of the vectors i with in(i), each for its terms up to level
// upTo(i). It counts in parallel, and then enters the vectors in ascending order. Positions are
// 32 bits, so it panics at 2³² postings.
func newPostings(v *numbered, in func(i int) bool, upTo func(i int) int) postings {
	p := postings{starts: make([]uint32, len(v.features)+1)}
	counts := make([]atomic.Uint32, len(v.features))
	parallel.Chunks(v.n, func(_, from, to int) {
		for i := from; i < to; i++ {
			if !in(i) {
				continue
			}
			ids, _, _ := v.vector(i)
			limit := upTo(i)
			for _, id := range ids {
				if v.level(id) <= limit {
					counts[id].Add(1)
				}
			}
		}
	})
	sum := uint64(0)
	for id := range counts {
		p.starts[id] = uint32(sum)
		sum += uint64(counts[id].Load())
	}
	if sum > math.MaxUint32 {
		panic("neardup: vectors with more than 4,294,967,295 terms")
	}
	p.starts[len(counts)] = uint32(sum)
	p.lists = make([]posting, sum)
	next := slices.Clone(p.starts)
	for i := range v.n {
		if !in(i) {
			continue
		}
		ids, weights, square := v.vector(i)
		unit, limit := UnitFactor(square), upTo(i)
		for k, id := range ids {
			if v.level(id) <= limit {
				p.lists[next[id]] = newPosting(uint32(i), float64(weights[k])*unit)
				next[id]++
			}
		}
	}
	return p
}

// level returns the level of a feature.
func (v *numbered) level(id uint32) int { return termLevel(v.df[id], uint32(v.n)) }

// measure returns how long each vector is above each level. It is 0 above the highest.
func (v *numbered) measure() above {
	a := newAbove(v.n)
	parallel.Chunks(v.n, func(_, from, to int) {
		for i := from; i < to; i++ {
			ids, weights, square := v.vector(i)
			unit := UnitFactor(square)
			var squares [levels]float64
			for k, id := range ids {
				squares[v.level(id)] += float64(weights[k]) * float64(weights[k])
			}
			sum := 0.0
			for l := levels - 2; l >= 0; l-- {
				sum += squares[l+1]
				a.at(l)[i] = roundUp(math.Sqrt(sum) * unit)
			}
		}
	})
	return a
}

// UnitFactor returns the factor that scales a vector with this square to length 1, or 0 for the
// zero vector.
func UnitFactor(square float64) float64 {
	if square == 0 {
		return 0
	}
	return 1 / math.Sqrt(square)
}

// roundUp returns a length of at most 1 in 1/255, rounded up. The factor makes up for the rounding
// errors of x itself.
func roundUp(x float64) uint8 { return uint8(min(math.Ceil(x*255*(1+1e-9)), 255)) }

// sumError is an upper bound of the error of a sum of n products in float32, where the factors are
// terms of two unit vectors, rounded to 24 bits as well. It holds in any order of the products.
func sumError(n int) float64 { return float64(n+8) * (1.0 / (1 << 23)) }

// touchedSum returns s, or the smallest positive number for 0. A sum of 0 thus always means a
// vector that was not met yet, also if positive and negative products cancel out.
func touchedSum(s float32) float32 {
	if s == 0 {
		return math.SmallestNonzeroFloat32
	}
	return s
}
