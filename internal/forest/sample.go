package forest

import (
	"math/bits"

	"github.com/neardup/neardup/internal/exact"
)

// This file samples features consistently, where a feature is the more likely to be taken the rarer it
// is. A feature with a document frequency df has the weight 1/df, rounded to a power of two. Each of
// the three values has a hash of its own, which tells for each feature the tree (one permutation
// hashing, Li, Owen and Zhang 2012) and a random number u. Of the features in a tree, that with the
// smallest −ln(u)·df is taken: a feature wins with a probability proportional to its weight (Moulton and
// Jiang, "Maximally consistent sampling and the Jaccard index of probability distributions", 2018).
//
// Logarithms are binary, in 1/2¹⁰, and computed with integers, so keys are the same on every platform.

// A Sampler makes the keys of sets, one after the other. It is for one goroutine.
type Sampler struct {
	least [3][]uint64 // of the features in a tree: −log₂(u)·df, and then the value
}

// none is what a tree has without a feature.
const none = 1<<64 - 1

// NewSampler returns a sampler for so many trees, a power of two and at least 2.
func NewSampler(trees int) *Sampler {
	s := &Sampler{}
	for v := range s.least {
		s.least[v] = make([]uint64, trees)
	}
	return s
}

const (
	valueBits = first // of the value in least
	logBits   = 10
	maxLevel  = 18 // of what is more frequent, all is equally unlikely
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
			s.least[v][t] = none
		}
	}
}

// A Part says which trees get a feature.
type Part int

const (
	All  Part = iota // all trees
	Even             // every other tree; what All gives to the others is left out
	Odd              // the others
)

// Add adds a feature, known by a hash, which df sets have.
func (s *Sampler) Add(feature uint64, df uint32, in Part) {
	level := min(bits.Len32(df|1)-1, maxLevel)
	for v := range s.least {
		x := exact.SplitMix(feature + uint64(v)*0x9E3779B97F4A7C15)
		tree := x & uint64(len(s.least[v])-1)
		if in == Even && tree&1 != 0 || in == Odd && tree&1 == 0 {
			continue
		}
		zeros := bits.LeadingZeros64(x)
		fraction := x << (zeros + 1) >> (64 - logBits)
		log := uint64(zeros+1)<<logBits - uint64(logs[fraction])
		value := feature * 0xD6E8FEB86659FD93 >> (64 - valueBits) // by other bits than those of u
		if cost := log<<level<<valueBits | value; cost < s.least[v][tree] {
			s.least[v][tree] = cost
		}
	}
}

// Keys sets the key of the set for each tree. A tree without a feature borrows the value of another one, as
// signatures by one permutation do.
func (s *Sampler) Keys(keys []Key) {
	clear(keys)
	trees := uint64(len(keys))
	for v, width := range [3]int{first, second, third} {
		for t := range keys {
			x := s.least[v][t]
			for try := uint64(0); x == none && try < 4*trees; try++ {
				x = s.least[v][exact.SplitMix(uint64(t)<<32|try)%trees]
			}
			keys[t] = keys[t]<<width | Key(x&(1<<width-1))
		}
	}
}
