package hamming

import (
	"math"
	"math/bits"
	"slices"
)

// This file chooses the tables of a node.
//
// The tables rest on the pigeonhole principle (june 2013 §3, Wang 2019 §1, Li 2015 §2.1), here in
// its general form. Cut the bits into m blocks. Give block i a radius rᵢ ≥ 0, such that all rᵢ+1
// add up to k+1. Then two fingerprints at a distance of at most k differ in at most rᵢ bits of
// some block i. Otherwise they would differ in rᵢ+1 or more bits of every block, which makes k+1
// or more bits together. So there is a table for each block, keyed by the bits of the block, and a
// search probes the keys within rᵢ bits of its own.
//
//   - With m = k+1 blocks all radii are 0. These are the tables of the papers: 4 of 16 bits for
//     64 bits and k = 3. This design takes the fewest steps while a block has about log₂ n bits,
//     for n fingerprints.
//   - With fewer and longer blocks, a search probes more keys and finds fewer fingerprints at
//     each. For a hundred million fingerprints 3 blocks with the radii 1, 0, 0 are best. This is
//     also how distances far beyond 3 are searched.
//   - With more blocks, m > k+1, two fingerprints within k bits agree on at least m−k blocks. So
//     there is a table for every combination of m−k blocks (Manku, Jain, Das Sarma 2007): 10
//     tables for m = 5, 20 for m = 6, both at k = 3. Keys are longer, but the tables need memory.
//
// A key need not use all bits of its block. With fewer bits its buckets hold more fingerprints,
// but it misses none.

// A plan says which tables a node has.
type plan struct {
	Keys   [][]int // the bits in the key of each table, ascending
	Combos bool    // the tables are for combinations of blocks, and find distances up to k only
	cost   float64 // the expected time of a search at distance k, in nanoseconds
}

// The cost model, in nanoseconds. It was measured on a server of 2025 with the vector kernels, on
// sets larger than its caches. Costs decide how a search is done and never what it finds. They are
// the same on every machine, so the same fingerprints give the same index everywhere.
const (
	probeCost     = 85   // to probe one key of one table: two cache misses that overlap with others
	candidateCost = 0.55 // to compare one tag
	fetchCost     = 60   // to load and compare a fingerprint whose tag is near
	scanCost      = 0.15 // to compare one word of a fingerprint in a scan
)

const (
	MaxKeyBits = 26   // bits of a key: a table has at most 2²⁶ buckets
	MaxTables  = 1024 // tables of a node
	EntryBytes = 9    // memory of one entry, about: tag, ordinal, a share of the bucket's start
)

// NewPlan chooses the cheapest plan for n fingerprints and distances up to k, with at most the
// given number of tables. free holds the bits in which the fingerprints differ, those that tell
// them apart well first. If blocks is not 0, NewPlan takes exactly so many blocks instead, at any
// cost; Binomial(blocks, k) must then be at most [MaxTables]. A plan without keys means that a
// scan is cheaper than any tables.
func NewPlan(n, words, k, tables, blocks int, free []FreeBit) plan {
	best := plan{cost: scanCost * float64(words*n)}
	// Keys are so short that a bucket has at least four fingerprints on average. So Starts adds at
	// most one byte to each entry.
	keyBits := min(MaxKeyBits, max(1, bits.Len(uint(n))-3))
	if blocks != 0 {
		return planOf(blocks, n, k, keyBits, free)
	}
	if k >= len(free) || n < 2 {
		return best
	}
	consider := func(m int) {
		if p := planOf(m, n, k, keyBits, free); p.cost < best.cost {
			best = p
		}
	}
	for m := 1; m <= min(k+1, tables, len(free)) && best.least(m); m++ {
		consider(m)
	}
	for m := k + 2; m <= len(free) && Binomial(m, k) <= tables; m++ {
		consider(m)
	}
	return best
}

// planOf returns the plan that cuts the bits into m blocks, with keys of at most keyBits bits. The
// number of blocks decides which kind of plan it is; see the head of this file.
func planOf(m, n, k, keyBits int, free []FreeBit) plan {
	if m > k+1 {
		return planOfCombos(m, n, k, keyBits, free)
	}
	var p plan
	sizes := equalSizes(free, m)
	if wide := (k + 1) % m; wide > 0 && m <= k {
		// The radius of the first blocks is greater by one. So they get more bits, which makes the
		// buckets at their many keys smaller.
		unequalSizes(sizes, wide, func(block, size int) float64 {
			size = min(size, keyBits)
			return probeCosts(size, Radius(block, m, k), k, math.Ldexp(float64(n), -size))
		})
	}
	for i, block := range cutBlocks(free, sizes) {
		p.add(block, keyBits, n, Radius(i, m, k), k)
	}
	return p
}

// planOfCombos is planOf for more than k+1 blocks: a table for every combination of m−k blocks.
func planOfCombos(m, n, k, keyBits int, free []FreeBit) plan {
	p := plan{Combos: true}
	cut := cutBlocks(free, equalSizes(free, m))
	for choice := range Combinations(m, m-k) {
		var key []FreeBit
		for _, b := range choice {
			key = append(key, cut[b]...)
		}
		p.add(key, keyBits, n, 0, k)
	}
	return p
}

// least reports whether a plan with this many tables can cost less than p: each table costs at
// least one probe.
func (p *plan) least(tables int) bool { return probeCost*float64(tables) < p.cost }

// add adds a table to the plan, keyed by the first bits of a block, at most keyBits of them.
func (p *plan) add(block []FreeBit, keyBits, n, radius, k int) {
	var key []int
	share := 1.0 // the expected fraction of the fingerprints that agree with the query on the key
	for _, b := range block[:min(len(block), keyBits)] {
		key = append(key, b.Bit)
		share *= b.Agree
	}
	slices.Sort(key)
	p.Keys = append(p.Keys, key)
	p.cost += probeCosts(len(key), radius, k, float64(n)*share)
}

// probeCosts returns the cost of searching one table at distance k: of all keys of the given
// number of bits within the radius, with the given number of candidates in each bucket.
func probeCosts(bits, radius, k int, candidates float64) float64 {
	probes := 0.0
	for j := range radius + 1 {
		probes += float64(Binomial(bits, j))
	}
	// The conversions forbid fused multiply-adds, so plans are the same on every platform.
	each := candidateCost + float64(fetchCost*passing(k-radius))
	return float64(probes * (probeCost + float64(candidates*each)))
}

// unequalSizes distributes the good bits anew over the blocks, in place. The first wide blocks get
// equal shares of some bits and the other blocks equal shares of the rest. It tries every division
// between the two and takes the cheapest. cost returns the cost of a block of a size.
func unequalSizes(sizes []int, wide int, cost func(block, size int) float64) {
	good := 0
	for _, s := range sizes {
		good += s
	}
	// share distributes bits evenly over some blocks and returns their cost.
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
	// all gives so many bits to the wide blocks and returns the cost of that.
	all := func(bits int) float64 { return share(0, wide, bits) + share(wide, len(sizes)-wide, good-bits) }
	best, least := 0, math.Inf(1)
	for bits := range good + 1 {
		if c := all(bits); c < least {
			best, least = bits, c
		}
	}
	all(best)
}

// Radius returns the radius of block i of m in a search at distance k. The radii are equal, except
// that the first ones may be greater by one. All radius+1 add up to k+1, as the pigeonhole
// principle asks for. If k+1 < m, the first k+1 blocks suffice, with radius 0; the radius of the
// others is negative.
func Radius(i, m, k int) int {
	if k < m { // the common case, without a division
		return min(0, k-i)
	}
	return (k+m-i)/m - 1
}

// passing returns the fraction of all tags, numbers of 32 bits, that are within k bits of a given
// one. It is how often the fingerprint of a random candidate has to be loaded.
func passing(k int) float64 {
	sum, term := 0.0, 1.0
	for i := 0; i <= min(k, 32); i++ {
		sum += term
		term = term * float64(32-i) / float64(i+1)
	}
	return sum / (1 << 32)
}

// A FreeBit is a bit in which the fingerprints of a node differ, and the probability that two of
// them agree in it. A good bit, which tells fingerprints apart well, has exactly ½; all others are
// poor.
type FreeBit struct {
	Bit   int
	Agree float64
}

// freeBits returns the bits of varying as FreeBits, first the good ones in ascending order, then
// the poor ones in ascending order. It estimates probabilities from a sample of evenly spaced
// fingerprints.
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
			good = append(good, FreeBit{bit, 0.5}) // not the estimate: it would only add noise
		}
	}
	return append(good, poor...)
}

// equalSizes distributes the good bits evenly over m blocks and returns the number for each. If
// they do not divide evenly, the first blocks have one more.
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

// cutBlocks cuts the bits into blocks: sizes[i] good bits for block i, and behind them the poor
// bits, evenly, from the last block on. Poor bits come last in a block, because a key takes bits
// from the front and may have no room for them. A bit that is in no key loses nothing.
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

// farthest returns the value of Reach: the largest distance at which a search of the tables is
// expected to take less time than a scan, or -1. Tables for combinations of blocks, anywhere in the
// tree, miss matches beyond the distance of the plan, so they never reach farther than that.
func (t *Tree) farthest() int {
	if len(t.Nodes) == 0 {
		return -1
	}
	root := &t.Nodes[0]
	if len(root.Tables) == 0 {
		return -1
	}
	combos := false // in any node
	for i := range t.Nodes {
		combos = combos || t.Nodes[i].Combos
	}
	// Radii grow with the distance, so tables of single blocks find any distance, at a price.
	reach := t.distance
	for !combos && reach < 64*t.words && t.cost(reach+1) < t.scanCost() {
		reach++
	}
	// Only a number of blocks that the caller chose can be much slower than a scan.
	for reach >= 0 && !root.Combos && t.cost(reach) > 1.5*t.scanCost() {
		reach--
	}
	return reach
}

// scanCost returns the expected time of comparing all fingerprints, in nanoseconds.
func (t *Tree) scanCost() float64 { return scanCost * float64(len(t.fps)) }

// cost returns the expected time of a search of the root's tables, in nanoseconds. It takes the
// fingerprints for random and so does not look at the nodes below.
func (t *Tree) cost(distance int) float64 {
	root := &t.Nodes[0]
	cost := 0.0
	for i := range root.Tables {
		r := root.Radius(i, distance)
		if r < 0 {
			break
		}
		bits := root.Tables[i].Bits
		cost += probeCosts(bits, r, distance, math.Ldexp(float64(root.count), -bits))
	}
	return cost
}
