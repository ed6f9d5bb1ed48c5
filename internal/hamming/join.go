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
//
// The parts of the first level are shared out among the processors. Each part hands on
// its pairs in portions, and the consumer takes up one part after the other, so the order
// does not depend on who was faster.

// A Pair is two fingerprints by position, I < J, and their distance.
type Pair struct{ I, J, Distance int }

// Words is a fingerprint as the join sees it.
type Words interface{ [1]uint64 | [2]uint64 }

// records are fingerprints with their positions in the input: those of i, or, if that is
// nil, from first on.
type records[W Words] struct {
	w     []W
	i     []uint32
	first uint32
}

func newRecords[W Words](n int) records[W] {
	return records[W]{w: make([]W, n), i: make([]uint32, n)}
}

func (r records[W]) len() int { return len(r.w) }

func (r records[W]) slice(from, to int) records[W] {
	if r.i == nil {
		return records[W]{r.w[from:to], nil, r.first + uint32(from)}
	}
	return records[W]{r.w[from:to], r.i[from:to], 0}
}

func (r records[W]) position(at int) uint32 {
	if r.i == nil {
		return r.first + uint32(at)
	}
	return r.i[at]
}

// An input is that of a join: the fingerprints of a and then those of b.
type input[W Words] struct {
	a, b []W
	k    int
	stop atomic.Bool
}

func (s *input[W]) len() int { return len(s.a) + len(s.b) }

// A joiner holds the state of one join, or of the share of one processor.
type joiner[W Words] struct {
	*input[W]
	yield func(Pair) bool
	path  []level      // the levels of partitioning that lead to the current part
	spare []records[W] // buffers, two for each level
}

// A level is one partitioning: its keys and the one in use.
type level struct {
	keys []key
	cur  int
}

// A key is the bits shift to shift+width−1 of one word, 1 to 16 of them.
type key struct{ word, shift, width int }

func (k key) mask() uint64 { return (1<<k.width - 1) << k.shift }

// alone is the number of fingerprints up to which one processor does it all.
const alone = 1 << 15

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
	keys, free := j.plan(a, b, all, pairs)
	workers := runtime.GOMAXPROCS(0)
	if s.len() <= alone {
		workers = 1
	}
	if keys == nil {
		j.compareInput(workers)
		return
	}
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

// share has parts done by some workers, and yields their pairs in the order of the parts.
// It returns false if the consumer has had enough.
func (j *joiner[W]) share(workers, parts int, do func(j *joiner[W], part int)) bool {
	if workers == 1 {
		for p := range parts {
			if do(j, p); j.stop.Load() {
				return false
			}
		}
		return true
	}
	const portion = 1 << 10
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
			if !finished { // the consumer has had enough, or panics
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
	return !j.stop.Load()
}

// directly is the size up to which a part is compared without further ado.
const directly = 256

// part reports the pairs among r, whose members agree on all bits but those in
// free. It returns false if the consumer has had enough.
func (j *joiner[W]) part(r records[W], free W) bool {
	if j.stop.Load() {
		return false
	}
	n := r.len()
	pairs := float64(n) * float64(n) / 2
	split := 0 // how many are of a, if pairs between a and b are meant
	if len(j.b) > 0 {
		split = j.separate(r)
		if split == 0 || split == n {
			return true
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

// lonely reports whether it is easily seen that no two of some fingerprints are near.
func (j *joiner[W]) lonely(w []W) bool {
	var one W
	return len(w) < 2 || len(one) == 1 && len(w) <= directly && len(j.b) == 0 && !kernel.AnyPair(singles(w), j.k)
}

// separate puts those of a before those of b, and returns how many they are.
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

// compareSides compares every one of x with every one of y, in tiles.
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

// byKeys reports the pairs among r that agree on a key.
func (j *joiner[W]) byKeys(r records[W], keys []key, free W) bool {
	depth := len(j.path)
	j.path = append(j.path, level{keys: keys})
	for i, key := range keys {
		j.path[depth].cur = i
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

// lowBits partitions r, whose members agree on all but the lowest bits of a key, by those,
// and takes up every part.
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
			continue // like most
		}
		if !j.part(parts.slice(from, to), rest) {
			return false
		}
	}
	return true
}

// tileSize is how many fingerprints are compared with as many others at a time: what
// stays in the cache.
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

// compareInput compares every pair of the input.
func (j *joiner[W]) compareInput(workers int) {
	a, b := records[W]{w: j.a}, records[W]{w: j.b, first: uint32(len(j.a))}
	if a.len() < b.len() {
		a, b = b, a // so that there is something to share out
	}
	j.share(workers, (a.len()+tileSize-1)/tileSize, func(j *joiner[W], part int) {
		if b.len() == 0 {
			j.compareTile(a, part*tileSize)
			return
		}
		j.compareSides(a.slice(part*tileSize, min(a.len(), (part+1)*tileSize)), b)
	})
}

// compareTile compares the tile of r that begins somewhere with itself and with all behind
// it.
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

// compareOne compares one fingerprint of x with those of y from a place on.
func (j *joiner[W]) compareOne(x records[W], i int, y records[W], from int) bool {
	a := x.w[i]
	for at := from; ; at += kernel.NearBlock {
		var mask uint64
		if len(a) == 1 {
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

// report yields a pair unless an earlier key finds it, or it is not between a and b where
// those are meant.
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

// singles returns fingerprints of one word as such.
func singles[W Words](w []W) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
}

// doubles returns fingerprints of two words as such.
func doubles[W Words](w []W) [][2]uint64 {
	return unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
}

func Distance[W Words](a, b W) int {
	d := 0
	for c := range len(a) {
		d += bits.OnesCount64(a[c] ^ b[c])
	}
	return d
}
