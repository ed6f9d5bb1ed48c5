package hamming

import (
	"math/bits"
)

// This file chooses the bits by which a join partitions fingerprints. planKeys makes keys that are
// right for random fingerprints. plan tries them on a sample of the real ones, and leaves out the
// bits on which too many agree.

// plan chooses the keys to partition the fingerprints of ws and more by. It returns them with the
// bits of free in which the fingerprints really differ; the other bits need no block. pairs is the
// number of comparisons without keys. It returns no keys if they would not save enough of those.
func (j *joiner[W]) plan(ws, more []W, free W, pairs float64) ([]key, W) {
	n := len(ws) + len(more)
	at := func(i int) W {
		if i < len(ws) {
			return ws[i]
		}
		return more[i-len(ws)]
	}
	// A bit in which all agree with the first one is in no difference. A block of such bits would
	// be agreed on by all.
	var differ W
	first := at(0)
	for _, ws := range [2][]W{ws, more} {
		for i := range ws {
			for c := range len(differ) {
				differ[c] |= ws[i][c] ^ first[c]
			}
		}
	}
	for c := range len(free) {
		free[c] &= differ[c]
	}
	// Fingerprints may be far from random, and then too many may agree on a key. So the keys must
	// pass a test: of a sample of pairs, at most half may agree on a key, counting a pair once for
	// each key. The pairs left to compare then get fewer from level to level, and the join is never
	// much slower than comparing all. If the keys fail, the bits of the worst one are left out of
	// the blocks and planKeys tries again. That is allowed because the pigeonhole principle holds
	// for blocks of any choice of bits.
	for use := free; ; {
		keys := planKeys(use, j.k, n, pairs)
		if keys == nil {
			return nil, free
		}
		sample := min(n, 512)
		total, worst, most := 0, 0, 0
		agree := make([]int, len(keys))
		for i, random := 0, uint64(n); i < sample; i++ {
			// A linear congruential generator (Knuth's MMIX) with a fixed seed, so that the same
			// input is always joined in the same way.
			random = random*6364136223846793005 + 1442695040888963407
			p := int(random >> 32 * uint64(n) >> 32)
			q := (p + 1 + int(random<<32>>32*uint64(n-1)>>32)) % n // any but p
			a, b := at(p), at(q)
			for i, key := range keys {
				if (a[key.word]^b[key.word])&key.mask() == 0 {
					agree[i]++
				}
			}
		}
		for i, count := range agree {
			if total += count; count > most {
				worst, most = i, count
			}
		}
		if total <= sample/2 {
			return keys, free
		}
		use[keys[worst].word] &^= keys[worst].mask()
	}
}

// planKeys cuts the free bits into k+1 blocks and returns a key inside each of them. It returns nil
// if there are too few bits, or if it is cheaper to compare all pairs, which all is the number of.
// The unit of cost is one comparison, about half a nanosecond. It assumes random fingerprints, for
// which one of 2^width pairs agrees on a key of width bits.
func planKeys[W Words](free W, k, n int, all float64) []key {
	const move = 10 // the cost of moving one record, in all passes for one key
	total := 0
	for i := range len(free) {
		total += bits.OnesCount64(free[i])
	}
	if k+1 > total {
		return nil
	}
	wanted := min(16, max(1, bits.Len(uint(n))-3)) // for parts of four to eight fingerprints
	keys := make([]key, 0, k+1)
	cost := 0.0
	word, shift := 0, 0
	for b := range k + 1 {
		size := total*(b+1)/(k+1) - total*b/(k+1) // as even as integers allow
		// The key is the longest run of neighbouring bits in the block, so that one shift and one
		// mask extract it. A run may stop early at the end of a word.
		var best key
		for size > 0 {
			for free[word]>>shift&1 == 0 {
				if shift++; shift == 64 {
					word, shift = word+1, 0
				}
			}
			run := min(size, 64-shift, bits.TrailingZeros64(^(free[word] >> shift)))
			if run > best.width {
				best = key{word, shift, run}
			}
			size -= run
			if shift += run; shift == 64 {
				word, shift = word+1, 0
			}
		}
		best.width = min(best.width, wanted)
		keys = append(keys, best)
		cost += float64(n)*move + all/float64(uint64(1)<<best.width)
	}
	if cost >= all {
		return nil
	}
	return keys
}
