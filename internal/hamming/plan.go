package hamming

import (
	"math"
	"math/bits"
	"slices"
)

// The pigeonhole principle (S001 §3, S002 §1, S003 §2.1), in its general form. Cut
// the bits into m blocks and give block i a radius rᵢ ≥ 0 such that all rᵢ+1 add up
// to k+1. Then two fingerprints at a distance of at most k differ in at most rᵢ bits
// of some block i: if they differed in rᵢ+1 or more of every block, that would be k+1
// or more bits. A table for each block leads from its value to the fingerprints that
// have it, and a search looks at all values within rᵢ bits of its own.
//
//   - With m = k+1 all radii are 0: the tables of the source documents, 4 by 16 bits
//     for 64 bits and k = 3. It is the design that needs fewest steps while the
//     blocks are about as long as the number of fingerprints, log₂ n.
//   - With fewer blocks, which are longer, a search has more values to look at and
//     fewer fingerprints at each: for a hundred million fingerprints 3 blocks with the
//     radii 1, 0, 0. This is also how distances far beyond 3 are searched.
//   - With more blocks, m > k+1, at least m−k of them agree, so tables keyed by every
//     combination of m−k blocks will do (Manku, Jain, Das Sarma 2007): 10 tables for
//     m = 5, 20 for m = 6. They need memory.
//
// A key need not use all bits of its block. If it uses fewer, it only has more
// fingerprints at each value, and misses none.

// A plan is how to search one set of fingerprints.
type plan struct {
	Keys   [][]int // the bits in the key of each table
	Combos bool    // tables by combinations of blocks, for distances up to k only
	cost   float64 // of a search, in nanoseconds
}

// The cost model: nanoseconds on a server of 2025 with kernels, for sets larger than
// its caches. They decide how a search is done, never what it finds, and are the same on
// every machine so that indexes are.
const (
	probeCost     = 85   // one value of one table: two lines of memory, of many fetched side by side
	candidateCost = 0.55 // to compare a tag
	fetchCost     = 60   // to compare a fingerprint whose tag is near
	scanCost      = 0.15 // to compare a fingerprint, by each word of it, in order
)

const (
	MaxKeyBits = 26
	MaxTables  = 1024
	EntryBytes = 9 // of a table, about: tag, ordinal, a share of the bucket's start
)

// NewPlan chooses the plan of the least cost for n fingerprints and distances up to k
// whose tables take at most so many. bits are those in which the fingerprints differ,
// with the probability that any two agree in them. blocks is 0, or the number of
// blocks wanted. No keys mean that all fingerprints are to be compared.
func NewPlan(n, words, k, tables, blocks int, free []FreeBit) plan {
	best := plan{cost: scanCost * float64(words*n)}
	if k >= len(free) || n < 2 {
		if blocks == 0 {
			return best
		}
	}
	keyBits := min(MaxKeyBits, max(1, bits.Len(uint(n))-3)) // at least four fingerprints for each value
	consider := func(m int) {
		p := plan{Combos: m > k+1}
		if p.Combos {
			cut := cutBlocks(free, equalSizes(free, m))
			for choice := range Combinations(m, m-k) {
				var key []FreeBit
				for _, b := range choice {
					key = append(key, cut[b]...)
				}
				p.add(key, keyBits, n, 0, k)
			}
		} else {
			sizes := equalSizes(free, m)
			if wide := (k + 1) % m; wide > 0 && m <= k {
				// The first ones have a radius that is greater by one. They are longer,
				// so that they have fewer fingerprints at each of their many values.
				unequalSizes(sizes, wide, func(block, size int) float64 {
					size = min(size, keyBits)
					return probeCosts(size, Radius(block, m, k), k, math.Ldexp(float64(n), -size))
				})
			}
			for i, block := range cutBlocks(free, sizes) {
				p.add(block, keyBits, n, Radius(i, m, k), k)
			}
		}
		if blocks != 0 || p.cost < best.cost {
			best = p
		}
	}
	if blocks != 0 {
		consider(blocks)
		return best
	}
	for m := 1; m <= min(k+1, tables, len(free)) && best.least(m); m++ {
		consider(m)
	}
	for m := k + 2; m <= len(free) && Binomial(m, k) <= tables; m++ {
		consider(m)
	}
	return best
}

// least reports whether a plan with so many tables may cost less, each of which has one
// value at the least.
func (p *plan) least(tables int) bool { return probeCost*float64(tables) < p.cost }

// add adds a table with the block, or as many bits of it as a key may have.
func (p *plan) add(block []FreeBit, keyBits, n, radius, k int) {
	var key []int
	share := 1.0 // of the fingerprints at one value
	for _, b := range block[:min(len(block), keyBits)] {
		key = append(key, b.Bit)
		share *= b.Agree
	}
	slices.Sort(key)
	p.Keys = append(p.Keys, key)
	p.cost += probeCosts(len(key), radius, k, float64(n)*share)
}

// probeCosts returns the cost of looking at all values of so many bits within a radius,
// with so many fingerprints at each.
func probeCosts(bits, radius, k int, candidates float64) float64 {
	probes := 0.0
	for j := range radius + 1 {
		probes += float64(Binomial(bits, j))
	}
	// Conversions forbid fused multiply-adds, so plans are the same on every platform.
	each := candidateCost + float64(fetchCost*passing(k-radius))
	return float64(probes * (probeCost + float64(candidates*each)))
}

// unequalSizes shares out the good bits anew: so many for the first blocks, which are
// wide, and so many for the others, that the cost is least.
func unequalSizes(sizes []int, wide int, cost func(block, size int) float64) {
	good := 0
	for _, s := range sizes {
		good += s
	}
	share := func(first, blocks, bits int) (sum float64) {
		for i := range blocks {
			sizes[first+i] = (bits + blocks - 1 - i) / blocks
		}
		long := bits % blocks
		if long > 0 {
			sum += float64(float64(long) * cost(first, bits/blocks+1))
		}
		return sum + float64(float64(blocks-long)*cost(first, bits/blocks))
	}
	all := func(bits int) float64 { return share(0, wide, bits) + share(wide, len(sizes)-wide, good-bits) }
	best, least := 0, math.Inf(1)
	for bits := range good + 1 {
		if c := all(bits); c < least {
			best, least = bits, c
		}
	}
	all(best)
}

// Radius returns the radius of block i of m for the distance k; negative means that
// the block is not needed.
func Radius(i, m, k int) int {
	if k < m { // without a division
		return min(0, k-i)
	}
	return (k+m-i)/m - 1
}

// passing returns the share of random tags that are within k bits of another.
func passing(k int) float64 {
	sum, term := 0.0, 1.0
	for i := 0; i <= min(k, 32); i++ {
		sum += term
		term = term * float64(32-i) / float64(i+1)
	}
	return sum / (1 << 32)
}

// A FreeBit is a bit in which fingerprints differ, and the probability that two of
// them agree in it: ½ for a good one.
type FreeBit struct {
	Bit   int
	Agree float64
}

// freeBits finds the free bits of n fingerprints, from a sample, except for those that
// are taken: first those that tell fingerprints apart well, in ascending order.
func freeBits(n int, at func(i int) (lo, hi uint64), varying [2]uint64) []FreeBit {
	const sample = 2048
	var ones [128]int
	taken := min(n, sample)
	for i := range taken {
		lo, hi := at(int(int64(i) * int64(n) / int64(taken)))
		for w, x := range [2]uint64{lo & varying[0], hi & varying[1]} {
			for ; x != 0; x &= x - 1 {
				ones[64*w+bits.TrailingZeros64(x)]++
			}
		}
	}
	var good, poor []FreeBit
	for bit, c := range ones {
		if varying[bit/64]>>(bit%64)&1 == 0 {
			continue
		}
		p := float64(c) / float64(taken)
		if p < 0.1 || p > 0.9 {
			poor = append(poor, FreeBit{bit, min(float64(p*p)+float64((1-p)*(1-p)), 0.999)})
		} else {
			good = append(good, FreeBit{bit, 0.5}) // as if random: nothing to gain from a sample's noise
		}
	}
	return append(good, poor...)
}

// equalSizes returns the sizes of m blocks that have as many good bits, or nearly, the
// first ones one more.
func equalSizes(free []FreeBit, m int) []int {
	sizes := make([]int, m)
	for _, b := range free {
		if b.Agree == 0.5 {
			sizes[0]++
		}
	}
	good := sizes[0]
	for i := range sizes {
		sizes[i] = (good + m - 1 - i) / m
	}
	return sizes
}

// cutBlocks cuts the bits into blocks with so many good ones. The poor ones come behind
// them, evenly.
func cutBlocks(free []FreeBit, sizes []int) [][]FreeBit {
	blocks := make([][]FreeBit, len(sizes))
	for i, size := range sizes {
		blocks[i] = append(blocks[i], free[:size]...)
		free = free[size:]
	}
	for i, b := range free {
		at := len(sizes) - 1 - i%len(sizes)
		blocks[at] = append(blocks[at], b)
	}
	return blocks
}
