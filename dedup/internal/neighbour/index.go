package neighbour

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/slots"
)

// This file finds the signatures of one level that share a band with another one.
//
// A band is three values of a signature. Each signature that is added gets a key for each band, a hash of its
// values. For searches there is a list for each band, sorted by these keys, so those that agree in the band are
// side by side: a bucket. Lists are kept in runs. Each run has the signatures that were added in one stretch of
// time. A run is made when a search first needs it, and merged with the one before it when that is not much
// longer. So there are few runs, and each signature is sorted a few times. Listing all neighbours of all
// contents needs no lists (join.go).
//
// Signatures have ordinals in the order of adding. A slot may be used again at once, but an ordinal never is:
// the lists still have the ordinal of a signature that was deleted, and must not take it for another one.
// Ordinals of deleted signatures go away when too many have piled up (renumber).
//
// # Crowds
//
// In a bucket of very many signatures, comparing each with each would take forever. There, a signature is
// compared only with those next to it in the order of all values from the band on: the window. Those that agree
// in most values are in a window of each other in some band. How large a bucket is, and what is in a window,
// depends on the set of the signatures, not on the order in which they came.

const (
	bands = 42
	rows  = 3 // values in a band: two texts with a similarity of 0.5 share a band with a probability of 0.996

	// window is how many signatures on each side are in the window of one. All 42 windows
	// together have some thousand.
	window = 32

	// A bucket of a list with more than fewest is in the order of [index.compare].
	fewest = 2 * window
)

// none is the ordinal of nothing.
const none = ^uint32(0)

// isDead is set where there is no slot. Slots are smaller.
const isDead = 1 << 31

// An index has the signatures of one level.
type index struct {
	level    signature.Level
	texts    Signatures
	sketches slots.Column[sketch] // by ordinal
	slots    slots.Column[uint32] // by ordinal; for one that was deleted, which of dead it is, and isDead
	dead     slots.Column[uint64] // the digests of those that were deleted, by which they are sorted still
	ordinals slots.Column[uint32] // by slot; none if the slot has no signature
	runs     []run                // of the ordinals from 0 on
	merging  int                  // how many runs there are up to the last one of a [Merge]; 0 if there is no Merge
	atOnce   int                  // [mostAtOnce], or less in tests
	listed   int64                // how many bytes the lists of a run may have in memory
	tail     keys                 // of the ordinals that are in no run
}

// A run has the ordinals from..to−1: for each band ascending by the key of the band, with the key in the upper
// half and the ordinal in the lower one. A bucket of more than fewest is in the order of [index.compare].
type run struct {
	from, to int
	lists    [bands]slots.Column[uint64]
}

func (r *run) len() int { return r.to - r.from }

// newIndex returns an empty index. What it knows is in memory as long as it takes no more than its part of memory.
func newIndex(l signature.Level, texts Signatures, memory int64) index {
	x := index{level: l, texts: texts, tail: keys{memory: min(max(memory/keyShare, leastMemory), mostKeys)}, listed: memory / runShare, atOnce: mostAtOnce}
	x.limit(memory)
	return x
}

// limit says how much of what will be appended may be in memory.
func (x *index) limit(memory int64) {
	x.sketches.Limit(max(memory/sketchShare, leastMemory))
	x.slots.Limit(memory / slotShare)
	x.ordinals.Limit(memory / slotShare)
}

// size returns the number of ordinals.
func (x *index) size() int { return x.slots.Len() }

// has reports whether a slot has a signature.
func (x *index) has(slot uint32) bool { return x.ordinal(slot) != none }

// ordinal returns the ordinal of a slot, or none.
func (x *index) ordinal(slot uint32) uint32 {
	if uint(slot) >= uint(x.ordinals.Len()) { // a guest has the largest slot, which is no int on 32 bits
		return none
	}
	return *x.ordinals.At(slot)
}

// slot returns the slot of an ordinal, or none.
func (x *index) slot(ord uint32) uint32 {
	if slot := *x.slots.At(ord); slot < isDead {
		return slot
	}
	return none
}

// digest returns the digest of the content of an ordinal, also if it was deleted.
func (x *index) digest(ord uint32) uint64 {
	slot := *x.slots.At(ord)
	if slot < isDead {
		return x.texts.Digest(slot)
	}
	return *x.dead.At(slot - isDead)
}

// remove removes the signature of a slot, if there is one. It keeps the digest: a large bucket is in the order
// of digests where sketches are equal, and a search in it must still find its way past the signature.
func (x *index) remove(slot uint32) {
	if ord := x.ordinal(slot); ord != none {
		*x.slots.Change(ord), *x.ordinals.Change(slot) = isDead+uint32(x.dead.Len()), none
		x.dead.Append(x.texts.Digest(slot))
	}
}

// compare compares two of the signatures in a bucket by all their values from the band on, and equal
// ones by their digests.
func (x *index) compare(band int, a, b *sketch, ordA, ordB uint32) int {
	if c := compareFrom(a, b, band); c != 0 {
		return c
	}
	return cmp.Compare(x.digest(ordA), x.digest(ordB))
}

// makeRoom moves to files what takes more memory than it may, before n signatures are added. It also renumbers
// the index if more than a quarter of it was deleted. After an error nothing has changed.
func (x *index) makeRoom(n int) error {
	if x.dead.Len() > 1024 && x.dead.Len() > x.size()/4 {
		if err := x.renumber(); err != nil {
			return err
		}
	}
	return cmp.Or(x.slots.MakeRoom(n), x.ordinals.MakeRoom(n), x.sketches.MakeRoom(n), x.tail.makeRoom())
}

// snapshot returns the index as it is now. Columns copy a piece before they change it, lists never change, and
// the blocks of keys are only added to, so copying a few slices is enough.
func (x *index) snapshot() index {
	s := *x
	s.sketches, s.slots, s.dead, s.ordinals = x.sketches.Snapshot(), x.slots.Snapshot(), x.dead.Snapshot(), x.ordinals.Snapshot()
	s.runs, s.tail.blocks = slices.Clone(x.runs), slices.Clone(x.tail.blocks)
	return s
}

// only returns an index that has other lists, which have no signature that was deleted. It shares the sketches.
func (x *index) only(lists *[bands][]uint64) index {
	o := *x
	r := run{to: x.size()}
	for b, list := range lists {
		r.lists[b] = slots.Of(list)
	}
	o.runs, o.tail, o.dead = []run{r}, keys{from: x.size()}, slots.Column[uint64]{}
	return o
}

// A bucket is the part of a list with a key.
type bucket struct {
	list     *slots.Column[uint64]
	from, to int
}

func (b bucket) len() int         { return b.to - b.from }
func (b bucket) ord(i int) uint32 { return uint32(*b.list.At(uint32(b.from + i))) }

// guess guesses where keys are in the lists of a run. Keys are evenly spread, so the first guess is off by the
// root of the length, and the next ones by the root of that. The guesses of one round do not depend on each
// other, so the processor fetches what they need for all lists at the same time.
func (r *run) guess(keys, guesses *[bands]uint32) {
	n := int64(r.to - r.from)
	for b, key := range keys {
		guesses[b] = uint32(int64(key) * n >> 32)
	}
	for range refined {
		for b, key := range keys {
			list := &r.lists[b]
			n := int64(list.Len()) // those that were deleted are missing
			if n == 0 {
				continue
			}
			at := max(min(int64(guesses[b]), n-1), 0)
			off := int64(key) - int64(*list.At(uint32(at))>>32)
			guesses[b] = uint32(max(min(at+off*n>>32, n-1), 0))
		}
	}
}

// refined is how often a guess is made better.
const refined = 2

// bucketOf returns the bucket of a key, which begins about at guess. Most buckets are small, so it steps to the
// end, and searches for it only in a large one.
func bucketOf(list *slots.Column[uint64], key uint32, guess int) bucket {
	from := find(list, 0, uint64(key)<<32, guess)
	to := from
	for to < list.Len() && to < from+16 && uint32(*list.At(uint32(to))>>32) == key {
		to++
	}
	if to == from+16 {
		to = find(list, to, uint64(key)<<32|uint64(none), to) // no ordinal is none
	}
	return bucket{list, from, to}
}

// find returns the position of the first entry, from position from on, that is at least least. It begins to
// search at guess and doubles its steps, so it takes time for the logarithm of how wrong the guess is. A bad
// guess costs time only.
func find(list *slots.Column[uint64], from int, least uint64, guess int) int {
	isLess := func(i int) bool { return *list.At(uint32(i)) < least }
	n := list.Len()
	if from == n {
		return n
	}
	low, high, step := from, n, 4 // a guess is usually off by a few
	if guess = max(min(guess, n-1), from); isLess(guess) {
		low = guess
		for high = guess + step; high < n && isLess(high); high += step {
			low, step = high, 2*step
		}
		high = min(high, n)
	} else {
		high = guess
		for low = guess - step; low > from && !isLess(low); low -= step {
			high, step = low, 2*step
		}
		low = max(low, from)
	}
	for low < high {
		if m := (low + high) / 2; isLess(m) {
			low = m + 1
		} else {
			high = m
		}
	}
	return low
}

// A graph can be kept in the columns of a file, so that it can be searched at once when it is opened
// again: for each level the slots of the signatures, their ordinals, their sketches, and the lists of all
// bands, one after the other.

// columnsOfLevel is how many columns a level has.
const columnsOfLevel = 4

// Write returns the settings and columns of the graph for a file. It sorts what is not sorted yet, which takes
// a second for a million contents.
func (g *Graph) Write() (settings []uint64, columns [][][]byte, err error) {
	for l := range g.levels {
		x := &g.levels[l]
		if err := x.compact(); err != nil {
			return nil, nil, err
		}
		settings = append(settings, uint64(x.size()), uint64(x.ordinals.Len()))
		var lists [][]byte
		if len(x.runs) > 0 {
			for b := range x.runs[0].lists {
				lists = append(lists, x.runs[0].lists[b].Parts()...)
			}
		}
		columns = append(columns, x.slots.Parts(), x.ordinals.Parts(), x.sketches.Parts(), lists)
	}
	return settings, columns, g.Err()
}

// Attach gives an empty graph what Write returned, from a file, for a number of contents. It returns false if
// that does not fit together; then the graph must not be used. Values are checked when they are first used. The
// checks keep numbers in range and lists in order. They cannot tell whether a sketch or a key is right, for
// which the file has checksums.
func (g *Graph) Attach(f *slots.File, settings []uint64, columns [][]byte, contents int) bool {
	if len(settings) != 2*len(g.levels) || len(columns) != columnsOfLevel*len(g.levels) {
		return false
	}
	for l := range g.levels {
		x := &g.levels[l]
		n, slotted := int(min(settings[2*l], uint64(contents))), int(min(settings[2*l+1], uint64(contents)))
		of := columns[columnsOfLevel*l:]
		var ok [columnsOfLevel]bool
		x.slots, ok[0] = slots.In(f, of[0], n, func(_ int, values []uint32) bool { return areBelow(values, slotted, 0) })
		x.ordinals, ok[1] = slots.In(f, of[1], slotted, func(_ int, values []uint32) bool { return areBelow(values, n, none) })
		x.sketches, ok[2] = slots.In(f, of[2], n, func(int, []sketch) bool { return true })
		if ok[3] = len(of[3]) == bands*8*n; ok[3] && n > 0 {
			r := run{to: n}
			for b := range r.lists {
				r.lists[b], _ = slots.In(f, of[3][b*8*n:(b+1)*8*n], n, func(_ int, values []uint64) bool { return isList(values, n) })
			}
			x.runs = []run{r}
		}
		x.tail.forget(n)
		x.limit(g.memory)
		if ok != [columnsOfLevel]bool{true, true, true, true} {
			return false
		}
	}
	return true
}

// areBelow reports whether all values are below most, or are the other one that may be.
func areBelow(values []uint32, most int, other uint32) bool {
	return !slices.ContainsFunc(values, func(v uint32) bool { return uint(v) >= uint(most) && (v != other || other == 0) })
}

// isList reports whether values may be a part of a list of n entries. In a large bucket, entries of
// one key are in any order.
func isList(values []uint64, n int) bool {
	for i, e := range values {
		if uint(uint32(e)) >= uint(n) || i > 0 && e>>32 < values[i-1]>>32 {
			return false
		}
	}
	return true
}
