package hamming

import (
	"math/bits"
)

// plan chooses the keys by which to partition some fingerprints, ws and more, and
// returns them with the bits in which these really differ: the others need no block. pairs is
// the number of pairs to compare if there are no keys. It returns no keys if that would not save enough work.
func (j *joiner[W]) plan(ws, more []W, free W, pairs float64) ([]key, W) {
	n := len(ws) + len(more)
	at := func(i int) W {
		if i < len(ws) {
			return ws[i]
		}
		return more[i-len(ws)]
	}
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
	// Fingerprints may be far from random. On a sample of the pairs, few must
	// agree on a key: so the pairs left to compare get fewer from level to level
	// and the join is never much slower than comparing all. Bits on which most
	// agree are left out of the blocks: the principle holds for any choice of
	// bits.
	for use := free; ; {
		keys := planKeys(use, j.k, n, pairs)
		if keys == nil {
			return nil, free
		}
		sample := min(n, 512)
		total, worst, most := 0, 0, 0
		agree := make([]int, len(keys))
		for i, random := 0, uint64(n); i < sample; i++ {
			random = random*6364136223846793005 + 1442695040888963407
			p := int(random >> 32 * uint64(n) >> 32)
			q := (p + 1 + int(random<<32>>32*uint64(n-1)>>32)) % n // not p
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

// planKeys cuts the free bits into k+1 blocks and returns a key inside each, or
// nil if comparing n fingerprints directly is cheaper. Costs are in the time of
// one comparison, about half a nanosecond; a record takes some ten of them to
// move for one key.
func planKeys[W Words](free W, k, n int, all float64) []key {
	const move = 10
	total := 0
	for i := range len(free) {
		total += bits.OnesCount64(free[i])
	}
	if k+1 > total {
		return nil
	}
	wanted := min(16, max(1, bits.Len(uint(n))-3)) // parts of about eight
	keys := make([]key, 0, k+1)
	cost := 0.0
	word, shift := 0, 0
	for b := range k + 1 {
		size := total*(b+1)/(k+1) - total*b/(k+1)
		// The key is the longest run of neighbouring bits in the block.
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
