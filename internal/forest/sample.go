package forest

import (
	"math"
	"math/bits"

	"github.com/neardup/neardup/internal/exact"
)

// This file samples features consistently. A random number u of a feature, which is a hash of it, and its
// weight w make the cost −ln(u)/w, and of several features the cheapest one is taken. So a feature is taken
// with a probability proportional to its weight, and two sets take the same one with about the probability
// of their weighted Jaccard similarity (Moulton and Jiang, "Maximally consistent sampling and the Jaccard
// index of probability distributions", 2018). The features are first spread over as many bins as values
// are needed, by the same hash (one permutation hashing, Li, Owen and Zhang 2012).
//
//	keys    have three values for each tree. The weight of a feature is 1/df, so that buckets are small.
//	sketch  has 64 values of eight bits. The weight is the square of the weight in the vector, so that the
//	        share of equal values follows the cosine.
//
// Logarithms are binary, in 1/2¹⁰, and computed with integers, so keys are the same on every platform.

// A Sampler makes the keys of sets, one after the other. It is for one goroutine.
type Sampler struct {
	least    [3][]uint64 // of the features in a tree: the smallest cost, and then the value
	frequent [3][]uint64 // the same for features that more than limit sets have
	limit    uint32
	sketch   [Values]uint64 // the same for the values of the sketch
}

// none is what a tree has without a feature.
const none = 1<<64 - 1

// NewSampler returns a sampler for so many trees, a power of two and at least 2. Features with a document
// frequency above limit are in keys only if a set has no others. Otherwise a text that many others have
// but for a few words would have them all for candidates.
func NewSampler(trees int, limit uint32) *Sampler {
	s := &Sampler{limit: limit}
	for v := range s.least {
		s.least[v], s.frequent[v] = make([]uint64, trees), make([]uint64, trees)
	}
	return s
}

const (
	valueBits = first // of the value in least
	logBits   = 10
	maxLevel  = 18 // of what is more frequent, all is equally unlikely

	// The bits of a hash for a sketch, from the lowest: the bin, the value; the highest ones are u.
	bitsOfBin         = 6
	valueBitsOfSketch = 8
)

// logs has the binary logarithm of 1+i/1024 in 1/1024.
var logs = func() (logs [1 << logBits]uint16) {
	for i := range logs {
		logs[i] = uint16(exact.Ln(1+float64(i)/(1<<logBits))*(1<<logBits)/exact.Ln(2) + 0.5)
	}
	return logs
}()

// Reset begins a new set.
func (s *Sampler) Reset() {
	for v := range s.least {
		for t := range s.least[v] {
			s.least[v][t], s.frequent[v][t] = none, none
		}
	}
	for i := range s.sketch {
		s.sketch[i] = none
	}
}

// A Part says which trees get a feature.
type Part int

const (
	All  Part = iota // all trees
	Even             // every other tree; what All gives to the others is left out
	Odd              // the others
)

// Add adds a feature to the keys. It is known by a hash, and df sets have it.
func (s *Sampler) Add(feature uint64, df uint32, in Part) {
	level := min(bits.Len32(df|1)-1, maxLevel)
	where := &s.least
	if df > s.limit {
		where = &s.frequent
	}
	for v, bins := range where {
		x := exact.SplitMix(feature + uint64(v)*0x9E3779B97F4A7C15)
		tree := x & uint64(len(bins)-1)
		if in == Even && tree&1 != 0 || in == Odd && tree&1 == 0 {
			continue
		}
		value := feature * 0xD6E8FEB86659FD93 >> (64 - valueBits) // by other bits than those of u
		if cost := minusLog(x)<<level<<valueBits | value; cost < bins[tree] {
			bins[tree] = cost
		}
	}
}

// minusLog returns −log₂(x/2⁶⁴) in 1/2¹⁰, at most 65·2¹⁰.
func minusLog(x uint64) uint64 {
	zeros := bits.LeadingZeros64(x)
	fraction := x << (zeros + 1) >> (64 - logBits)
	return uint64(zeros+1)<<logBits - uint64(logs[fraction])
}

// AddWeighted adds a feature to the sketch. Its weight is a share of all, from 0 to 1.
func (s *Sampler) AddWeighted(feature uint64, share float64) {
	x := exact.SplitMix(^feature)
	bin := x % Values
	weight := uint64(share*(1<<20)) + 1
	log := minusLog(x) << 32
	// Nearly all features cost more than one before. To see that takes no division.
	if over, most := bits.Mul64(s.sketch[bin]>>valueBitsOfSketch+1, weight); over == 0 && log >= most {
		return
	}
	if cost := log/weight<<valueBitsOfSketch | x>>bitsOfBin&(1<<valueBitsOfSketch-1); cost < s.sketch[bin] {
		s.sketch[bin] = cost
	}
}

// Keys sets the key of the set for each tree. A tree without a feature borrows the value of another one, as
// signatures by one permutation do.
func (s *Sampler) Keys(keys []Key) {
	clear(keys)
	for v, width := range [3]int{first, second, third} {
		bins := s.least[v]
		if borrow(bins, 0) == none {
			bins = s.frequent[v]
		}
		for t := range keys {
			keys[t] = keys[t]<<width | Key(borrow(bins, t)&(1<<width-1))
		}
	}
}

// borrow returns what bin i has, or what another one has: the first one that has anything in an order that
// depends on nothing but i.
func borrow(bins []uint64, i int) uint64 {
	for try := uint64(0); bins[i] == none && try < 16; try++ {
		if x := bins[exact.SplitMix(uint64(i)<<32|try)%uint64(len(bins))]; x != none {
			return x
		}
	}
	for n := 0; bins[i] == none && n < len(bins); n++ {
		if x := bins[(i+n)%len(bins)]; x != none {
			return x
		}
	}
	return bins[i]
}

// Values is the number of values in a sketch.
const Values = 1 << bitsOfBin

// A Sketch has the values of a set, of which it estimates the cosine with another.
type Sketch [Values / 8]uint64

// Sketch returns the sketch of the set. A bin without a feature borrows the value of another one.
func (s *Sampler) Sketch() (sketch Sketch) {
	for i := range Values {
		sketch[i/8] |= borrow(s.sketch[:], i) & 0xFF << (i % 8 * 8)
	}
	return sketch
}

// Agreement returns how many values two sketches have in common.
func (a *Sketch) Agreement(b *Sketch) (n int) {
	const low = 0x7F7F7F7F7F7F7F7F
	for i, x := range a {
		x ^= b[i]
		n += bits.OnesCount64(^((x&low + low) | x | low)) // a bit for each byte that is 0
	}
	return n
}

// LeastAgreement returns in how many values the sketches of two sets with a cosine c agree at least, but
// for one pair in a thousand. If one set contains the other, they have the same value with the probability
// c², and otherwise with a greater one.
func LeastAgreement(c float64) int {
	square := float64(c * c) // conversions forbid to fuse operations
	mean := Values * square
	return int(mean - float64(3*math.Sqrt(mean*float64(1-square))))
}
