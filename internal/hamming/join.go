package hamming

import (
	"context"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup/internal/kernel"
	"github.com/neardup/neardup/internal/parallel"
)

// This file finds all pairs within a distance: within one set, or between two sets.
//
// The join rests on the pigeonhole principle (june 2013 §3; Manku et al. 2007). Cut the bits into
// k+1 blocks. Two fingerprints that differ in at most k bits agree on at least one block. So for
// each block the join partitions the fingerprints by the value of the block, and compares only
// those in the same part. A pair that agrees on several blocks is reported at the first of them.
//
// A part may still be large, because there are many fingerprints or because many share a block
// (templates, poor hashes). Such a part is partitioned again in the same way. Its members agree on
// the block, so all their differences lie in the remaining bits, and the principle holds for those
// bits alone. Wang 2019 does this once, for overfull buckets. Here it is a recursion of any depth,
// and it misses nothing.
//
// A key has only as many bits of its block as the number of fingerprints calls for. The other bits
// of the block stay free for the next level. If blocks would save no work, because there are few
// fingerprints or k is large, all pairs are compared.
//
// The parts of the first level are distributed over the processors. Each part hands on its pairs
// in portions, and the consumer takes one part after the other, so the order of the pairs does not
// depend on which processor was faster.

// A Pair is two fingerprints by position, and their Hamming distance in bits. In a join within one
// set I < J. In a join of a with b, I is a position in a and J one in b.
type Pair struct{ I, J, Distance int }

// Words is a fingerprint of 64 or 128 bits. The order of the two words does not matter.
type Words interface{ [1]uint64 | [2]uint64 }

// records holds fingerprints with their positions in the input, side by side. If i is nil they
// have not been moved: the positions are first, first+1, and so on.
type records[W Words] struct {
	w     []W
	i     []uint32
	first uint32
}

// newRecords returns room for n records.
func newRecords[W Words](n int) records[W] {
	return records[W]{w: make([]W, n), i: make([]uint32, n)}
}

// len returns the number of records.
func (r records[W]) len() int { return len(r.w) }

// slice returns the records from..to, which share memory with r.
func (r records[W]) slice(from, to int) records[W] {
	if r.i == nil {
		return records[W]{r.w[from:to], nil, r.first + uint32(from)}
	}
	return records[W]{r.w[from:to], r.i[from:to], 0}
}

// position returns the position in the input of a record.
func (r records[W]) position(at int) uint32 {
	if r.i == nil {
		return r.first + uint32(at)
	}
	return r.i[at]
}

// An input is what all workers of a join share. Positions count through a and then through b. An
// empty b means a join of a with itself.
type input[W Words] struct {
	a, b []W
	k    int
	stop atomic.Bool // the consumer has had enough, or the context is done
}

// len returns the number of fingerprints in a and b.
func (s *input[W]) len() int { return len(s.a) + len(s.b) }

// A joiner is the state of one worker. Its methods return false once the join is to stop.
type joiner[W Words] struct {
	*input[W]
	yield func(Pair) bool
	path  []level      // the levels of partitioning that led to the current part
	spare []records[W] // buffers, two for each level; see split
}

// A level of partitioning has a key for each block. keys[cur] is the one in use.
type level struct {
	keys []key
	cur  int
}

// A key is the bits shift to shift+width−1 of one word; width is 1 to 16. It is partitioned by in
// two passes of at most 8 bits, first by the high bits and then by the low ones.
type key struct{ word, shift, width int }

// mask returns the bits of the key in its word.
func (k key) mask() uint64 { return (1<<k.width - 1) << k.shift }

// alone is the number of fingerprints up to which one processor does it all: more would spend
// their time on starting.
const alone = 1 << 15

// Join calls yield for every pair within k bits, each once: pairs of a with itself if b is empty,
// and pairs of one of a and one of b otherwise. The order is unspecified, but it is the same
// whenever a, b and k are the same. Join returns when yield returns false, or soon after ctx is
// done. It calls yield from its own goroutine only. k must not be negative, a must not be empty,
// and together a and b may have at most 2³²−1 fingerprints. They must not change during the join.
//
// It uses all processors, and memory for a copy of a and b with positions. For n random
// fingerprints its time is nearly linear in n as long as the blocks have log₂ n bits or more. With
// shorter blocks, so for a large k, it compares every pair.
func Join[W Words](ctx context.Context, a, b []W, k int, yield func(Pair) bool) {
	s := &input[W]{a: a, b: b, k: k}
	defer context.AfterFunc(ctx, func() { s.stop.Store(true) })()
	if ctx.Err() != nil {
		return
	}
	j := joiner[W]{input: s, yield: func(p Pair) bool {
		if !yield(p) {
			s.stop.Store(true)
		}
		return !s.stop.Load()
	}}
	var all W
	for i := range len(all) {
		all[i] = math.MaxUint64
	}
	pairs := float64(len(a)) * float64(len(a)) / 2
	if len(b) > 0 {
		pairs = float64(len(a)) * float64(len(b))
	}
	keys, free := j.plan(a, b, all, pairs) // nil: comparing all is faster
	workers := runtime.GOMAXPROCS(0)
	if s.len() <= alone {
		workers = 1
	}
	if keys == nil {
		j.compareInput(workers)
		return
	}
	// This is byKeys for the first level, with the first pass of each key in parallel.
	buffer := newRecords[W](s.len())
	for cur, key := range keys {
		low := max(0, key.width-8)
		ends := s.scatter(buffer, key.word, key.shift+low, key.width-low, workers)
		rest := free
		rest[key.word] &^= key.mask()
		ok := j.share(workers, 1<<(key.width-low), func(j *joiner[W], part int) {
			j.path = append(j.path[:0], level{keys, cur})
			from := 0
			if part > 0 {
				from = int(ends[part-1])
			}
			j.lowBits(buffer.slice(from, int(ends[part])), key, low, rest, 0)
		})
		if !ok {
			return
		}
	}
}

// share calls do for the parts 0 to parts−1, on several workers, and yields the pairs in the order
// of the parts. Each call of do gets the joiner of its worker. It returns false if the consumer has
// had enough.
func (j *joiner[W]) share(workers, parts int, do func(j *joiner[W], part int)) bool {
	if workers == 1 {
		for p := range parts {
			if do(j, p); j.stop.Load() {
				return false
			}
		}
		return true
	}
	const portion = 1 << 10 // pairs that a worker collects before it hands them on
	worker := func() *joiner[W] { return &joiner[W]{input: j.input} }
	parallel.InOrder(parts, worker, func(w *joiner[W], p int, emit func([]Pair) bool) {
		var pairs []Pair
		w.yield = func(x Pair) bool {
			if pairs = append(pairs, x); len(pairs) < portion {
				return true
			}
			full := pairs
			pairs = nil
			return emit(full)
		}
		if !j.stop.Load() {
			do(w, p)
		}
		if len(pairs) > 0 {
			emit(pairs)
		}
	}, func(pairs []Pair) bool {
		finished := false
		defer func() {
			// The workers must stop also if yield panics, because InOrder waits for them.
			if !finished {
				j.stop.Store(true)
			}
		}()
		for _, p := range pairs {
			if !j.yield(p) {
				return false
			}
		}
		finished = true
		return true
	})
	return !j.stop.Load() // a worker may have left early because the context was done
}

// directly is the size up to which a part is compared at once. To partition it further would take
// longer.
const directly = 256

// part reports the pairs among r. Its members agree on all bits outside free, so only free has
// bits to partition by. It changes the order of r.
func (j *joiner[W]) part(r records[W], free W) bool {
	if j.stop.Load() {
		return false
	}
	n := r.len()
	pairs := float64(n) * float64(n) / 2
	split := 0 // in a join of a with b: the number of records from a, which then come first
	if len(j.b) > 0 {
		split = j.separate(r)
		if split == 0 || split == n {
			return true // all are of one side
		}
		pairs = float64(split) * float64(n-split)
	}
	if pairs > directly*directly/2 {
		if keys, free := j.plan(r.w, nil, free, pairs); keys != nil {
			return j.byKeys(r, keys, free)
		}
	}
	if len(j.b) > 0 {
		return j.compareSides(r.slice(0, split), r.slice(split, n))
	}
	return j.compareAll(r)
}

// lonely reports whether a part certainly has no pair. Most parts are tiny and have none, so this
// test saves most of the work. Where it would not be fast it returns false for a part of two or
// more.
func (j *joiner[W]) lonely(w []W) bool {
	var one W
	return len(w) < 2 || len(one) == 1 && len(w) <= directly && len(j.b) == 0 && !kernel.AnyPair(singles(w), j.k)
}

// separate moves the records from a before those from b, and returns the number of the former.
func (j *joiner[W]) separate(r records[W]) int {
	n := 0
	for i, at := range r.i {
		if int(at) < len(j.a) {
			r.w[i], r.w[n] = r.w[n], r.w[i]
			r.i[i], r.i[n] = r.i[n], r.i[i]
			n++
		}
	}
	return n
}

// compareSides compares all of x with all of y, in tiles.
func (j *joiner[W]) compareSides(x, y records[W]) bool {
	for from := 0; from < x.len(); from += tileSize {
		tile := x.slice(from, min(x.len(), from+tileSize))
		for from := 0; from < y.len(); from += tileSize {
			if !j.compareTiles(tile, y.slice(from, min(y.len(), from+tileSize))) {
				return false
			}
		}
	}
	return true
}

// byKeys reports the pairs among r: for each key it partitions r by the key, and takes up every
// part. By the pigeonhole principle each pair agrees on a key and so shares a part. free are the
// bits in which members of r differ.
func (j *joiner[W]) byKeys(r records[W], keys []key, free W) bool {
	depth := len(j.path)
	j.path = append(j.path, level{keys: keys}) // removed at the end
	for i, key := range keys {
		j.path[depth].cur = i // report skips pairs that agree on a key before this one
		rest := free
		rest[key.word] &^= key.mask()
		low := max(0, key.width-8)
		parts, ends := j.split(r, 2*depth, key.word, key.shift+low, key.width-low)
		first := 0
		for _, end := range ends[:1<<(key.width-low)] {
			part := parts.slice(first, int(end))
			first = int(end)
			if !j.lowBits(part, key, low, rest, depth) {
				return false
			}
		}
	}
	j.path = j.path[:depth]
	return true
}

// lowBits is the second pass of partitioning by a key. The members of r agree on all bits of the
// key but the lowest. It partitions r by these low bits and takes up every part. rest are the bits
// in which members of a part may differ.
func (j *joiner[W]) lowBits(r records[W], key key, low int, rest W, depth int) bool {
	if j.stop.Load() {
		return false
	}
	if low == 0 || r.len() < 2 {
		return j.lonely(r.w) || j.part(r, rest)
	}
	parts, ends := j.split(r, 2*depth+1, key.word, key.shift, low)
	first := 0
	for _, end := range ends[:1<<low] {
		from, to := first, int(end)
		first = to
		if j.lonely(parts.w[from:to]) {
			continue
		}
		if !j.part(parts.slice(from, to), rest) {
			return false
		}
	}
	return true
}

// tileSize is the number of fingerprints of a tile. Fingerprints are compared tile by tile, so that
// both tiles, of 8 or 16 KB, are in the cache.
const tileSize = 1024

// compareAll compares every pair of r, in tiles.
func (j *joiner[W]) compareAll(r records[W]) bool {
	for from := 0; from < r.len(); from += tileSize {
		if !j.compareTile(r, from) {
			return false
		}
	}
	return true
}

// compareInput compares every pair of the input, without copying it. Its parts are tiles of the
// larger side.
func (j *joiner[W]) compareInput(workers int) {
	a, b := records[W]{w: j.a}, records[W]{w: j.b, first: uint32(len(j.a))}
	if a.len() < b.len() {
		a, b = b, a // so that there are enough tiles to distribute; report turns the pairs round
	}
	j.share(workers, (a.len()+tileSize-1)/tileSize, func(j *joiner[W], part int) {
		if b.len() == 0 {
			j.compareTile(a, part*tileSize)
			return
		}
		j.compareSides(a.slice(part*tileSize, min(a.len(), (part+1)*tileSize)), b)
	})
}

// compareTile compares the tile of r that begins at from with itself and with every tile behind it.
func (j *joiner[W]) compareTile(r records[W], from int) bool {
	tile := r.slice(from, min(r.len(), from+tileSize))
	for i := range tile.w {
		if !j.compareOne(tile, i, tile, i+1) {
			return false
		}
	}
	for from += tileSize; from < r.len(); from += tileSize {
		if !j.compareTiles(tile, r.slice(from, min(r.len(), from+tileSize))) {
			return false
		}
	}
	return true
}

// compareTiles compares all of one tile with all of another.
func (j *joiner[W]) compareTiles(x, y records[W]) bool {
	if j.stop.Load() {
		return false
	}
	for i := range x.w {
		if !j.compareOne(x, i, y, 0) {
			return false
		}
	}
	return true
}

// compareOne compares fingerprint i of x with those of y, beginning at from.
func (j *joiner[W]) compareOne(x records[W], i int, y records[W], from int) bool {
	a := x.w[i]
	for at := from; ; at += kernel.NearBlock {
		var mask uint64
		if len(a) == 1 { // known when W is compiled
			at, mask = kernel.Next64(singles(y.w), at, a[0], j.k)
		} else {
			at, mask = kernel.Next128(doubles(y.w), at, [2]uint64{a[0], a[len(a)-1]}, j.k)
		}
		if mask == 0 {
			return true
		}
		for ; mask != 0; mask &= mask - 1 {
			n := at + bits.TrailingZeros64(mask)
			if !j.report(a, y.w[n], x.position(i), y.position(n)) {
				return false
			}
		}
	}
}

// report yields the pair of the fingerprints a and b at the positions i and k. It drops a pair that
// also agrees on an earlier key of any level, because it was reported there. In a join of a with b
// it drops pairs within one side.
func (j *joiner[W]) report(a, b W, i, k uint32) bool {
	for _, level := range j.path {
		for _, key := range level.keys[:level.cur] {
			if (a[key.word]^b[key.word])&key.mask() == 0 {
				return true
			}
		}
	}
	p := Pair{int(min(i, k)), int(max(i, k)), Distance(a, b)}
	if len(j.b) > 0 {
		if p.I >= len(j.a) || p.J < len(j.a) {
			return true
		}
		p.J -= len(j.a)
	}
	return j.yield(p)
}

// singles returns fingerprints of one word as numbers, as the kernels want them. The types have the
// same layout.
func singles[W Words](w []W) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
}

// doubles is singles for fingerprints of two words.
func doubles[W Words](w []W) [][2]uint64 {
	return unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
}

// Distance returns the Hamming distance of two fingerprints.
func Distance[W Words](a, b W) int {
	d := 0
	for c := range len(a) {
		d += bits.OnesCount64(a[c] ^ b[c])
	}
	return d
}
