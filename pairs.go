package neardup

import (
	"iter"
	"math"
	"math/bits"
	"unsafe"
)

// The join rests on the pigeonhole principle (S001 §3; Manku et al. 2007): cut
// the bits into k+1 blocks, and two fingerprints that differ in at most k bits
// agree on at least one block. So for every block the fingerprints are
// partitioned by its value, and only those of one part are compared. A pair
// that agrees on several blocks is reported at the first of them.
//
// Where a part is still large, because there are many fingerprints or because
// they share a block (templates, poor hashes), it is partitioned again in the
// same way: its members agree on the block, so all their differences lie in the
// remaining bits, and the principle holds for those. S002 does this once, for
// overfull buckets; here it is the recursion itself, and it loses nothing.
//
// Keys use only as many bits of a block as the number of fingerprints calls
// for; the rest of the block stays available for the next level. Where blocks
// would save no work (few fingerprints, large k), all pairs are compared.

// A Pair is two fingerprints of a collection, by position, I < J, and their
// Hamming distance in bits.
type Pair struct{ I, J, Distance int }

// Pairs yields every pair of fps at a Hamming distance of at most k, exact
// duplicates (distance 0) included, each once. The order is unspecified but
// always the same. fps must not change meanwhile.
//
// A negative k gives no pairs; k of the full width or more gives all.
// It takes memory for two to three times fps, and up to seven times if very many
// share a block. Time: one million random fingerprints take 30 to 45 ms at
// k = 3; as k grows the blocks become short, and beyond k ≈ width/log₂(len(fps))
// every pair is compared. m equal fingerprints have m(m−1)/2 pairs; [Clusters]
// does not spell them out.
func Pairs[F Fingerprint](fps []F, k int) iter.Seq[Pair] {
	if uint64(len(fps)) > math.MaxUint32 {
		panic("neardup: Pairs: more than 2³²−1 fingerprints")
	}
	k = min(k, width[F]())
	return func(yield func(Pair) bool) {
		if k < 0 || len(fps) == 0 {
			return
		}
		// The join does not care in which order the two words are.
		p := unsafe.Pointer(unsafe.SliceData(fps))
		if width[F]() == 64 {
			join(unsafe.Slice((*[1]uint64)(p), len(fps)), k, yield)
		} else {
			join(unsafe.Slice((*[2]uint64)(p), len(fps)), k, yield)
		}
	}
}

// words is a fingerprint as the join sees it.
type words interface{ [1]uint64 | [2]uint64 }

// A record is a fingerprint with its position in the input.
type record[W words] struct {
	w W
	i uint32
}

// A joiner holds the state of one join.
type joiner[W words] struct {
	input []W
	k     int
	yield func(Pair) bool
	path  []level          // the levels of partitioning that lead to the current part
	spare [][2][]record[W] // buffers of each level
}

// A level is one partitioning: its keys and the one in use.
type level struct {
	keys []key
	cur  int
}

// A key is the bits shift to shift+width−1 of one word, 1 to 16 of them.
type key struct{ word, shift, width int }

func (k key) mask() uint64 { return (1<<k.width - 1) << k.shift }

func join[W words](input []W, k int, yield func(Pair) bool) {
	j := joiner[W]{input: input, k: k, yield: yield}
	var all W
	for i := range len(all) {
		all[i] = math.MaxUint64
	}
	if keys, free := j.plan(nil, all); keys != nil {
		j.byKeys(nil, keys, free)
		return
	}
	r := make([]record[W], len(input))
	for i, w := range input {
		r[i] = record[W]{w, uint32(i)}
	}
	j.compareAll(r)
}

// directly is the size up to which a part is compared without further ado.
const directly = 64

// part reports the pairs among r, whose members agree on all bits but those in
// free. It returns false if the consumer has had enough.
func (j *joiner[W]) part(r []record[W], free W) bool {
	if len(r) > directly {
		if keys, free := j.plan(r, free); keys != nil {
			return j.byKeys(r, keys, free)
		}
	}
	return j.compareAll(r)
}

// plan chooses the keys by which to partition r, or the input if r is nil, and
// returns them with the bits in which its members really differ: the others
// need no block. It returns no keys if that would not save enough work.
func (j *joiner[W]) plan(r []record[W], free W) ([]key, W) {
	n := len(r)
	at := func(i int) W { return r[i].w }
	if r == nil {
		n = len(j.input)
		at = func(i int) W { return j.input[i] }
	}
	var differ W
	first := at(0)
	for i := range r {
		for c := range len(differ) {
			differ[c] |= r[i].w[c] ^ first[c]
		}
	}
	if r == nil {
		for i := range j.input {
			for c := range len(differ) {
				differ[c] |= j.input[i][c] ^ first[c]
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
		keys := planKeys(use, j.k, n)
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

// byKeys reports the pairs among r, or among the input if r is nil, that agree
// on a key.
func (j *joiner[W]) byKeys(r []record[W], keys []key, free W) bool {
	depth := len(j.path)
	j.path = append(j.path, level{keys: keys})
	if len(j.spare) == depth {
		j.spare = append(j.spare, [2][]record[W]{})
	}
	for i, key := range keys {
		j.path[depth].cur = i
		rest := free
		rest[key.word] &^= key.mask()
		if !j.byKey(r, key, rest, depth) {
			return false
		}
	}
	j.path = j.path[:depth]
	return true
}

// byKey partitions r by a key, with one pass for up to eight bits and two for
// more, and takes up every part.
func (j *joiner[W]) byKey(r []record[W], key key, rest W, depth int) bool {
	low := 0 // bits left for the second pass
	if key.width > 8 {
		low = 8
	}
	parts, ends := j.split(r, depth, 0, key.word, key.shift+low, key.width-low)
	first := uint32(0)
	for _, end := range ends[:1<<(key.width-low)] {
		part := parts[first:end]
		first = end
		if low == 0 || len(part) < 2 {
			if !j.part(part, rest) {
				return false
			}
			continue
		}
		parts, ends := j.split(part, depth, 1, key.word, key.shift, low)
		first := uint32(0)
		for _, end := range ends {
			part := parts[first:end]
			first = end
			if len(part) > 1 && !j.part(part, rest) {
				return false
			}
		}
	}
	return true
}

// split sorts r, or the input if r is nil, stably by width bits of a word, at
// most eight, into a buffer of the level, and returns it with the end of each
// part.
func (j *joiner[W]) split(r []record[W], depth, pass, word, shift, width int) ([]record[W], [256]uint32) {
	n := len(r)
	if r == nil {
		n = len(j.input)
	}
	buf := &j.spare[depth][pass]
	if cap(*buf) < n {
		*buf = make([]record[W], n+n/8*pass)
	}
	dst := (*buf)[:n]
	mask := uint8(1<<width - 1)
	var next [256]uint32
	for i := range r {
		next[uint8(r[i].w[word]>>(shift&63))&mask]++
	}
	if r == nil {
		for i := range j.input {
			next[uint8(j.input[i][word]>>(shift&63))&mask]++
		}
	}
	sum := uint32(0)
	for d, n := range next {
		next[d] = sum
		sum += n
	}
	for i := range r {
		at := &next[uint8(r[i].w[word]>>(shift&63))&mask]
		dst[*at] = r[i]
		*at++
	}
	if r == nil {
		for i, w := range j.input {
			at := &next[uint8(w[word]>>(shift&63))&mask]
			dst[*at] = record[W]{w, uint32(i)}
			*at++
		}
	}
	return dst, next
}

// compareAll compares every pair of r, in tiles that stay in the cache.
func (j *joiner[W]) compareAll(r []record[W]) bool {
	var w W
	if len(w) == 1 && len(r) <= directly { // most parts, and most have no pair
		var fps [directly]uint64
		for i := range r {
			fps[i] = r[i].w[0]
		}
		if !anyPair(fps[:len(r)], j.k) {
			return true
		}
	}
	const tile = 1024
	for from := 0; from < len(r); from += tile {
		to := min(from+tile, len(r))
		for i := range to {
			a := r[i].w
			rest := r[max(from, i+1):to]
			for n := range rest {
				b := &rest[n]
				d := bits.OnesCount64(a[0] ^ b.w[0])
				if len(a) == 2 {
					d += bits.OnesCount64(a[len(a)-1] ^ b.w[len(a)-1])
				}
				if d <= j.k && !j.report(&r[i], b, d) {
					return false
				}
			}
		}
	}
	return true
}

// report yields a pair unless an earlier key finds it.
func (j *joiner[W]) report(a, b *record[W], distance int) bool {
	for _, level := range j.path {
		for _, key := range level.keys[:level.cur] {
			if (a.w[key.word]^b.w[key.word])&key.mask() == 0 {
				return true
			}
		}
	}
	return j.yield(Pair{int(min(a.i, b.i)), int(max(a.i, b.i)), distance})
}

// planKeys cuts the free bits into k+1 blocks and returns a key inside each, or
// nil if comparing n fingerprints directly is cheaper. Costs are in the time of
// one comparison, about half a nanosecond; a record takes some ten of them to
// move for one key.
func planKeys[W words](free W, k, n int) []key {
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
	all := float64(n) * float64(n) / 2
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
