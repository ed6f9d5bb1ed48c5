package seen

import (
	"math"
	"math/bits"
	"slices"
)

// This file has a Bloom filter (Bloom 1970) whose bits of one key are in one block of the size of a cache line, so that a key costs one access to memory (Putze, Sanders and
// Singler 2007). Blocks get different numbers of keys, so it takes a tenth to a fifth more bits than one without blocks.

const (
	blockWords = 8
	blockBytes = 8 * blockWords
	blockBits  = 8 * blockBytes
	mostProbes = 14 // of 9 bits each, from two numbers of 64 bits
)

// A bloom is a set of keys, without false negatives.
type bloom struct {
	words  []uint64
	probes int
}

func newBloom(blocks int64, probes int) *bloom {
	return &bloom{words: make([]uint64, blocks*blockWords), probes: probes}
}

// block returns the block of a key.
func (b *bloom) block(key uint64) []uint64 {
	n, _ := bits.Mul64(key, uint64(len(b.words)/blockWords))
	return b.words[n*blockWords : (n+1)*blockWords]
}

// mix returns other bits of a key: those that do not choose its block (the finaliser of SplitMix64).
func mix(key uint64) uint64 {
	key = (key ^ key>>30) * 0xBF58476D1CE4E5B9
	key = (key ^ key>>27) * 0x94D049BB133111EB
	return key ^ key>>31
}

// mask returns the bits of a key in its block.
func (b *bloom) mask(key uint64) (mask [blockWords]uint64) {
	x := mix(key)
	for n := range b.probes {
		if n == 7 {
			x = mix(^key)
		}
		bit := x & (blockBits - 1)
		mask[bit>>6] |= 1 << (bit & 63)
		x >>= 9
	}
	return mask
}

func (b *bloom) add(key uint64) {
	block, mask := b.block(key), b.mask(key)
	for n := range block {
		block[n] |= mask[n]
	}
}

// hasAny reports whether one of some keys is there.
func (b *bloom) hasAny(keys []uint64) bool { return slices.ContainsFunc(keys, b.has) }

func (b *bloom) has(key uint64) bool {
	block, mask := b.block(key), b.mask(key)
	missing := uint64(0)
	for n := range block {
		missing |= mask[n] &^ block[n]
	}
	return missing == 0
}

func (b *bloom) clear() { clear(b.words) }

func (b *bloom) clone() *bloom { return &bloom{slices.Clone(b.words), b.probes} }

// merge adds the keys of another one of the same size.
func (b *bloom) merge(other *bloom) {
	for n, w := range other.words {
		b.words[n] |= w
	}
}

// rate returns how often a key that was not added is there by chance.
func (b *bloom) rate() float64 {
	sum := 0.0
	for n := 0; n < len(b.words); n += blockWords {
		ones := 0
		for _, w := range b.words[n : n+blockWords] {
			ones += bits.OnesCount64(w)
		}
		sum += power(float64(ones)/blockBits, b.probes)
	}
	return sum / float64(len(b.words)/blockWords)
}

// fill returns the number of probes with which blocks hold the most keys at a rate of false ones, and that number of keys, on average, in quarters.
func fill(rate float64) (probes int, quarters int64) {
	for k := 1; k <= mostProbes; k++ {
		n := int64(0)
		for n < 4*blockBits && rateAt(float64(n+1)/4, k) <= rate {
			n++
		}
		if n > quarters {
			probes, quarters = k, n
		}
	}
	return max(probes, 1), quarters
}

// rateAt returns the rate of false keys if blocks have some keys on average: their numbers are of a Poisson distribution.
func rateAt(keys float64, probes int) (rate float64) {
	share := math.Exp(-keys) // of blocks with n keys
	free := 1.0              // bits of these
	for n := 0; n < 4*int(keys)+60; n++ {
		rate += float64(share * power(1-free, probes))
		share *= keys / float64(n+1)
		free *= float64(power(1-1.0/blockBits, probes))
	}
	return rate
}
