package cosine

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/parallel"
)

// How cosines are searched. Vectors are made unit vectors, in 24 bits, and for every term there
// is the list of those that have it, with their weights (an inverted index, S003 §1). Most of
// the work would lie in the lists of frequent terms, which say little. So terms have
// levels by their document frequency, from the rarest to those that most vectors have,
// and of every vector it is known how long its part above each level is. If the
// lists have been read up to a level, what a vector may still gain is, by Cauchy
// and Schwarz, at most the product of what the query and the vector have above it:
//
//	cosine ≤ what was summed up + |query above level| · |vector above level|
//
// (as in L2AP, Anastasiu and Karypis 2014, but by levels instead of single terms). When
// that is less than what is asked for, the vector is out; and when |query above level| alone is,
// all that were never met are. So the lists of frequent terms are mostly left unread.
//
// For a join, a vector enters only the lists up to the level above which it is shorter than the
// threshold: of two that are similar enough, both have a term in common up to the lower of
// their levels. And most vectors are much alike in how long they are above each level. So those that
// are longer than nearly all have lists of their own, and in the lists of the others a
// query reads only up to the level above which it is shorter than the threshold divided by what
// they have there at most.
//
// Sums of products of rounded numbers, in any order, are used for nothing but bounds, with
// room for their errors. What passes is compared exactly, as Vector.Cosine does: no result
// depends on how it was found.

// levels is the number of levels. The highest is of the terms that more than a half of the
// vectors have, the next lower one of those that more than a quarter have, and so on.
const levels = 16

// termLevel returns the level of a term that df of n vectors have.
func termLevel(df, n uint32) int { return levels - 1 - min(bits.Len32(n/df)-1, levels-1) }

// above has for each level, and for each vector of a unit vector, how long the part above
// that level is, in 1/255, rounded up.
type above struct {
	n  int
	in []uint8
}

func newAbove(n int) above { return above{n, make([]uint8, levels*n)} }

// at returns those of a level.
func (a above) at(l int) []uint8 { return a.in[l*a.n:][:a.n] }

// A Source has vectors, each of which it makes in buf or has already. weigh makes the
// weights of one final, when it is known how many vectors have each of its features.
type Source interface {
	Len() int
	Vector(i int, buf []Term) []Term
	Weigh(i int, v []Term, df []uint32) []Term

	// Counts says whether a vector counts for the document frequencies, or is too much like another.
	Counts(i int) bool
}

// Slice is the source of vectors that there are.
type Slice[V ~[]Term] []V

func (v Slice[V]) Len() int { return len(v) }

func (v Slice[V]) Vector(i int, _ []Term) []Term { return v[i] }

func (v Slice[V]) Weigh(_ int, w []Term, _ []uint32) []Term { return w }

func (v Slice[V]) Counts(int) bool { return true }

// Numbered are vectors of which the features have numbers, in the order of their hashes.
type Numbered struct {
	N        int
	features []uint64 // by number
	df       []uint32 // by number: how many of the vectors that count have it
	parts    []numberedPart
}

// A numberedPart is the vectors of a chunk.
type numberedPart struct {
	ends    []int
	ids     []uint32 // of the features
	weights []float32
	squares []float64 // of the vectors, with the terms that are not there
}

// Number numbers the features that at least so many vectors have, and leaves out the others.
func Number(src Source, least uint32) *Numbered {
	v := &Numbered{N: src.Len()}
	v.parts = make([]numberedPart, (v.N+parallel.Chunk-1)/parallel.Chunk)
	table := Count(src)
	v.enter(table, least)
	parallel.Chunks(v.N, func(c, from, to int) {
		part := &v.parts[c]
		var buf []Term
		var ids, df []uint32
		for i := from; i < to; i++ {
			buf = src.Vector(i, buf)
			ids, df = ids[:0], df[:0]
			for _, t := range buf {
				id := table.Find(t.Feature, 0)
				ids = append(ids, id)
				if id == 0 {
					df = append(df, 1)
				} else {
					df = append(df, v.df[id-1])
				}
			}
			w := src.Weigh(i, buf, df)
			for k, id := range ids {
				if id > 0 {
					part.ids, part.weights = append(part.ids, id-1), append(part.weights, w[k].Weight)
				}
			}
			part.ends, part.squares = append(part.ends, len(part.ids)), append(part.squares, Square(w))
		}
		part.ids, part.weights = slices.Clip(part.ids), slices.Clip(part.weights)
	})
	return v
}

// Count counts how many vectors have each feature.
func Count(src Source) *frequency.Table {
	var table frequency.Table
	table.Prepare()
	for _, which := range []bool{true, false} {
		parallel.Chunks(src.Len(), func(_, from, to int) {
			var buf []Term
			var keys, sorted []uint64
			for i := from; i < to; i++ {
				if src.Counts(i) != which {
					continue
				}
				buf = src.Vector(i, buf)
				keys = keys[:0]
				for _, t := range buf {
					keys = append(keys, t.Feature)
				}
				if which {
					sorted = slices.Grow(sorted[:0], len(keys))[:len(keys)]
					table.Count(keys, sorted)
				} else {
					table.Mark(keys)
				}
			}
		})
	}
	return &table
}

// enter makes the counts of a table the numbers of the features, from 1, or 0 for those that are
// left out.
func (v *Numbered) enter(table *frequency.Table, least uint32) {
	type entry struct {
		key   uint64
		value *uint32
	}
	var entries [len(table.Shards)][]entry
	parallel.Each(len(entries), func(i int) {
		table.Shards[i].Each(func(key uint64, count *uint32) {
			if *count < least { // if it is marked, two or more have it
				*count = 0
			} else {
				entries[i] = append(entries[i], entry{key, count})
			}
		})
		slices.SortFunc(entries[i], func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	})
	for _, part := range entries { // shards are by the highest bits of the key
		for _, e := range part {
			v.features, v.df = append(v.features, e.key), append(v.df, max(*e.value&^frequency.Marked, 1))
			*e.value = uint32(len(v.features))
		}
	}
}

// vector returns a vector, without the terms that were left out, and its square.
func (v *Numbered) vector(i int) (ids []uint32, weights []float32, square float64) {
	part := &v.parts[i/parallel.Chunk]
	i %= parallel.Chunk
	from := 0
	if i > 0 {
		from = part.ends[i-1]
	}
	return part.ids[from:part.ends[i]], part.weights[from:part.ends[i]], part.squares[i]
}

// postings are the lists of the vectors that have a feature.
type postings struct {
	starts []uint32 // by the number of the feature, and the end
	lists  []posting
}

// A posting is a vector, in the lower half, and the bits of its weight as a unit vector. In
// a list, vectors are ascending.
type posting uint64

func newPosting(vector uint32, weight float64) posting {
	return posting(vector) | posting(math.Float32bits(float32(weight)))<<32
}

func (p posting) vector() uint32 { return uint32(p) }

func (p posting) weight() float32 { return math.Float32frombits(uint32(p >> 32)) }

// newPostings makes the lists of the vectors that are to be in them: of each, those of the terms
// up to a level.
func newPostings(v *Numbered, in func(i int) bool, upTo func(i int) int) postings {
	p := postings{starts: make([]uint32, len(v.features)+1)}
	counts := make([]atomic.Uint32, len(v.features))
	parallel.Chunks(v.N, func(_, from, to int) {
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
	for i := range v.N {
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

func (v *Numbered) level(id uint32) int { return termLevel(v.df[id], uint32(v.N)) }

// measure returns how long the vectors are above the levels.
func (v *Numbered) measure() above {
	a := newAbove(v.N)
	parallel.Chunks(v.N, func(_, from, to int) {
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

// UnitFactor makes a vector of a square a unit vector.
func UnitFactor(square float64) float64 {
	if square == 0 {
		return 0
	}
	return 1 / math.Sqrt(square)
}

// roundUp returns a length of at most 1 in 1/255.
func roundUp(x float64) uint8 { return uint8(min(math.Ceil(x*255*(1+1e-9)), 255)) }

// sumError bounds the error of a sum of n products of two numbers of unit vectors, all
// rounded to 24 bits.
func sumError(n int) float64 { return float64(n+8) * (1.0 / (1 << 23)) }

// touchedSum returns a sum that is not 0, by which it is known that it was begun.
func touchedSum(s float32) float32 {
	if s == 0 {
		return math.SmallestNonzeroFloat32
	}
	return s
}

// A weightTable finds the weights of one vector by its features, or their numbers. A key is in one of
// two places (cuckoo hashing), so that finding it, or that it is not there, takes no branches.
type weightTable[K uint32 | uint64] struct {
	slots   []weightSlot[K]
	shift   int
	factors [2]uint64 // of the hashes, so that nobody can choose keys that collide
}

type weightSlot[K uint32 | uint64] struct {
	key  K // 0 is none
	bits uint32
}

// set makes it the table of a vector. The keys differ and are not 0.
func (t *weightTable[K]) set(n int, term func(i int) (K, float32)) {
	for size := max(64, 1<<bits.Len(uint(3*n))); !t.fill(size, n, term); size *= 2 {
	}
}

func (t *weightTable[K]) fill(size, n int, term func(i int) (K, float32)) bool {
	t.factors = [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}
	t.shift = 64 - bits.Len(uint(size-1))
	t.slots = slices.Grow(t.slots[:0], size)[:size]
	clear(t.slots)
	for i := range n {
		key, w := term(i)
		s := weightSlot[K]{key, math.Float32bits(w)}
		at := t.slot(key, 0)
		if other := t.slot(key, 1); t.slots[at].key != 0 && t.slots[other].key == 0 {
			at = other
		}
		for kicks := 0; s.key != 0; kicks++ { // what is in the way goes to its other place
			if kicks == 64 {
				return false
			}
			s, t.slots[at] = t.slots[at], s
			if other := t.slot(s.key, 0); other != at {
				at = other
			} else {
				at = t.slot(s.key, 1)
			}
		}
	}
	return true
}

func (t *weightTable[K]) slot(key K, which int) int {
	return int(uint64(key) * t.factors[which] >> t.shift)
}

// find returns the weight of a key, or 0.
func (t *weightTable[K]) find(key K) float32 {
	a, b := &t.slots[t.slot(key, 0)], &t.slots[t.slot(key, 1)]
	x, y := a.bits, b.bits
	if a.key != key {
		x = 0
	}
	if b.key != key {
		y = 0
	}
	return math.Float32frombits(x | y)
}
