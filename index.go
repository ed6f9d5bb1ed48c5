package neardup

import (
	"cmp"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// An Index finds, among stored fingerprints, all those within a fixed Hamming
// distance of a query, each once, under the caller's own ids.
//
// It is the pigeonhole index of the source documents (S001 §3, S002 §1 and §2.3, S003
// §2), grown: see docs/index.md for how it searches, how long that takes, and what
// to choose. Within the distance it misses nothing, whatever its size, its options
// and the fingerprints in it: that is a theorem.
//
// NewIndex makes one in memory. OpenIndex makes one that is also in files, and outlives
// the program.
//
// All methods may be called from several goroutines at once. Those that change the
// index take turns. Those that read never wait: a search sees the index as it was when
// the loop over it began, with all changes that had returned by then, and each of
// them wholly or not at all, and may change the index itself. Now and then one addition
// among many builds a part of the index again, and rarely all of it: that takes a quarter
// of a second among a million, a minute among a hundred million. AddAll and Compact build
// the form that is searched fastest.
//
// A fingerprint takes 50 to 64 bytes with an id of 64 bits ([IndexOptions.Memory]), and
// for a while twice that when parts are built again. An index holds at most 2³⁰
// fingerprints; more panic. Ids that are not equal to themselves (NaN) can be added but
// not deleted.
type Index[ID comparable, F Fingerprint] struct {
	distance int
	tables   int // at most, for each run
	blocks   int
	ids      idType[ID]
	state    atomic.Pointer[state[ID]]
	live     atomic.Int64
	err      atomic.Pointer[error]

	mu      sync.Mutex // of those that change it
	inTail  map[ID]uint32
	serial  uint32
	now     func() time.Time
	seconds uint32 // of the last addition
	files   *indexFiles
}

// IndexOptions are the settings of an index. The zero value, or nil, means: all chosen
// by the index.
type IndexOptions struct {
	// Blocks is the number of blocks into which the bits are cut, more than the
	// distance. The index has then a table for every combination of Blocks−distance
	// blocks, at most 1024: 4 tables for the distance 3 and 4 blocks, 10 for 5, 20 for
	// 6. 0 lets the index choose by its size and by Memory, which is nearly always
	// better.
	Blocks int

	// Memory is about how many bytes a fingerprint may take, with its id if that has 64
	// bits: the more, the more tables there may be. 0 means 64, or 128 for fingerprints
	// of 128 bits. Buckets that are split take more.
	Memory int

	// Version says how the fingerprints are made ([Fingerprinter.Version]). OpenIndex
	// needs it, and refuses files with another one.
	Version string
}

// A Match is a stored fingerprint within the distance of an index.
type Match[ID comparable] struct {
	ID       ID
	Distance int // bits
}

// An IDPair is a pair of stored fingerprints; A was added before B.
type IDPair[ID comparable] struct {
	A, B     ID
	Distance int // bits
}

// NewIndex returns an empty index in memory for Hamming distances up to distance, 0 to
// the width of F. Any other distance is an error, and so are blocks that are not more
// than the distance, or too many.
func NewIndex[ID comparable, F Fingerprint](distance int, options *IndexOptions) (*Index[ID, F], error) {
	ix, err := newIndex[ID, F](distance, options)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewIndex: %w", err)
	}
	return ix, nil
}

func newIndex[ID comparable, F Fingerprint](distance int, options *IndexOptions) (*Index[ID, F], error) {
	var o IndexOptions
	if options != nil {
		o = *options
	}
	width := width[F]()
	switch {
	case distance < 0 || distance > width:
		return nil, fmt.Errorf("distance %d is not between 0 and %d", distance, width)
	case o.Blocks < 0 || o.Blocks > width:
		return nil, fmt.Errorf("%d blocks of %d bits", o.Blocks, width)
	case o.Blocks != 0 && o.Blocks <= distance:
		return nil, fmt.Errorf("%d blocks guarantee nothing at the distance %d: it needs %d or more", o.Blocks, distance, distance+1)
	case o.Blocks != 0 && binomial(o.Blocks, distance) > maxTables:
		return nil, fmt.Errorf("%d blocks at the distance %d need %d tables, more than %d", o.Blocks, distance, binomial(o.Blocks, distance), maxTables)
	case o.Memory < 0:
		return nil, fmt.Errorf("a fingerprint cannot take %d bytes", o.Memory)
	case o.Memory == 0:
		o.Memory = width
	}
	ix := &Index[ID, F]{distance: distance, blocks: o.Blocks, ids: idTypeOf[ID](), now: time.Now}
	ix.tables = min(maxTables, (o.Memory-width/8-8-4-6)/entryBytes) // what a document has besides: fingerprint, id, time, a place among the ids
	ix.swap(nil)
	return ix, nil
}

// words returns the number of words of a fingerprint.
func (ix *Index[ID, F]) words() int { return width[F]() / 64 }

// swap makes runs and an empty tail the state.
func (ix *Index[ID, F]) swap(runs []*run[ID]) {
	next := &state[ID]{runs: runs, tail: &tail[ID]{fps: make([]uint64, tailSize*ix.words())}}
	if old := ix.state.Load(); old != nil {
		old.tail.next.Store(next.tail)
	}
	ix.state.Store(next)
	ix.inTail = make(map[ID]uint32, tailSize)
}

// Len returns the number of stored fingerprints.
func (ix *Index[ID, F]) Len() int { return int(ix.live.Load()) }

// All returns the ids and fingerprints in the order of adding.
func (ix *Index[ID, F]) All() iter.Seq2[ID, F] {
	return func(yield func(ID, F) bool) {
		st := ix.state.Load()
		for d := range ix.each(st, st.runs) {
			if !yield(d.id, fromWords[F](d.lo, d.hi)) {
				return
			}
		}
	}
}

// An entry is a stored fingerprint, and where it is: in a run, or in the tail if that
// is nil.
type entry[ID comparable] struct {
	id     ID
	lo, hi uint64
	time   uint32
	run    *run[ID]
	ord    uint32
}

// each yields the entries of some runs of a state and of its tail, in the order of adding.
func (ix *Index[ID, F]) each(st *state[ID], runs []*run[ID]) iter.Seq[entry[ID]] {
	return func(yield func(entry[ID]) bool) {
		defer runtime.KeepAlive(st)
		v := st.view()
		for _, r := range runs {
			for ord := range uint32(r.tree.len()) {
				if !v.sees(r, ord) {
					continue
				}
				d := entry[ID]{run: r, ord: ord}
				var err error
				if d.id, err = r.ids.at(ord); err == nil {
					err = r.tree.file.check(unsafe.Pointer(&r.tree.fps[int(ord)*r.tree.words]), 8*r.tree.words)
				}
				if err == nil {
					err = r.tree.file.check(unsafe.Pointer(&r.times[ord]), 4)
				}
				if err != nil {
					ix.fail(err)
					return
				}
				d.lo, d.hi = r.tree.at(ord)
				d.time = r.times[ord]
				if !yield(d) {
					return
				}
			}
		}
		t := st.tail
		words := ix.words()
		for i := range v.changes {
			if v.seesTail(i) {
				d := entry[ID]{id: t.ids[i], lo: t.fps[int(i)*words], time: t.times[i], ord: i}
				if words == 2 {
					d.hi = t.fps[int(i)*2+1]
				}
				if !yield(d) {
					return
				}
			}
		}
	}
}

// Exists reports whether any stored fingerprint is within the distance of fp.
// It stops at the first.
func (ix *Index[ID, F]) Exists(fp F) bool {
	for range ix.Search(fp) {
		return true
	}
	return false
}

// Search yields every stored fingerprint within the distance of fp, each once, exact
// duplicates included, in no particular order.
func (ix *Index[ID, F]) Search(fp F) iter.Seq[Match[ID]] {
	return func(yield func(Match[ID]) bool) {
		ix.search(fp, ix.distance, func(m Match[ID], _ uint64) int {
			if !yield(m) {
				return -1
			}
			return ix.distance
		})
	}
}

// search calls yield with every match within a distance, and its place in the order of
// adding. yield returns the distance within which to go on, not more than before, or a
// negative one.
func (ix *Index[ID, F]) search(fp F, distance int, yield func(m Match[ID], place uint64) int) {
	v := ix.state.Load().view()
	defer runtime.KeepAlive(v.state)
	lo, hi := split(fp)
	for i, r := range v.runs {
		err := r.tree.search(lo, hi, distance, func(ord uint32, d int) int {
			if !v.sees(r, ord) {
				return distance
			}
			id, err := r.ids.at(ord)
			if err != nil {
				ix.fail(err)
				distance = -1
			} else {
				distance = yield(Match[ID]{id, d}, uint64(i)<<32|uint64(ord))
			}
			return distance
		})
		if err != nil {
			ix.fail(err)
			return
		}
		if distance < 0 {
			return
		}
	}
	if v.changes == 0 {
		return
	}
	t := v.tail
	last := tree{words: ix.words(), fps: t.fps[:int(v.changes)*ix.words()], reach: -1}
	last.search(lo, hi, distance, func(i uint32, d int) int {
		if v.seesTail(i) {
			distance = yield(Match[ID]{t.ids[i], d}, uint64(len(v.runs))<<32|uint64(i))
		}
		return distance
	})
}

// Nearest returns the n stored fingerprints that are nearest to fp, at any distance, the
// nearest first, and of equally near ones those that were added first. It is exact. If
// they are near, it takes little longer than a search within their distance; if they are
// far, it compares all fingerprints.
func (ix *Index[ID, F]) Nearest(fp F, n int) []Match[ID] {
	if n <= 0 {
		return nil
	}
	reach := 0 // up to which distance tables are better than comparing all
	for _, r := range ix.state.Load().runs {
		reach = max(reach, r.tree.reach)
	}
	for d := min(ix.distance, 3); d <= reach; d += 3 {
		if near := ix.matches(fp, d, nil); len(near) >= n {
			return near[:n]
		}
	}
	if n > 1000 {
		near := ix.matches(fp, width[F](), nil)
		return near[:min(n, len(near))]
	}
	// Those that are farther than the farthest of n so far are not looked at.
	near := make([]found[ID], 0, min(n, ix.Len()))
	bound := width[F]()
	ix.search(fp, bound, func(m Match[ID], place uint64) int {
		f := found[ID]{m, place}
		if at, _ := slices.BinarySearchFunc(near, f, found[ID].compare); at < n {
			near = slices.Insert(near[:min(len(near), n-1)], at, f)
		}
		if len(near) == n {
			bound = near[n-1].Distance
		}
		return bound
	})
	return matchesOf(near)
}

// found is a match and its place in the order of adding.
type found[ID comparable] struct {
	Match[ID]
	place uint64
}

// compare puts the nearest first, and of equally near ones those that were added first.
func (f found[ID]) compare(g found[ID]) int {
	return cmp.Or(cmp.Compare(f.Distance, g.Distance), cmp.Compare(f.place, g.place))
}

func matchesOf[ID comparable](all []found[ID]) []Match[ID] {
	out := make([]Match[ID], len(all))
	for i := range all {
		out[i] = all[i].Match
	}
	return out
}

// matches returns what search finds, without an id if that is not nil: the nearest first,
// and of equally near ones those that were added first.
func (ix *Index[ID, F]) matches(fp F, distance int, without *ID) []Match[ID] {
	var all []found[ID]
	ix.search(fp, distance, func(m Match[ID], place uint64) int {
		if without == nil || m.ID != *without {
			all = append(all, found[ID]{m, place})
		}
		return distance
	})
	slices.SortFunc(all, found[ID].compare)
	return matchesOf(all)
}

// Err returns the first error of an index that was opened, or nil: damage that a search
// or a change came upon, or a file that could not be written. A search that meets damage
// ends, so whoever must not miss anything asks Err after it. From then on nothing is
// changed any more; what was changed before is still written by Sync and Close.
func (ix *Index[ID, F]) Err() error {
	if err := ix.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (ix *Index[ID, F]) fail(err error) {
	err = fmt.Errorf("neardup: index: %w", err)
	ix.err.CompareAndSwap(nil, &err)
}

// Pairs yields every pair of stored fingerprints within the distance, each
// once. The order is unspecified but depends on nothing but the calls made so
// far.
func (ix *Index[ID, F]) Pairs() iter.Seq[IDPair[ID]] {
	return func(yield func(IDPair[ID]) bool) {
		ids, fps := ix.collect()
		for p := range Pairs(fps, ix.distance) {
			if !yield(IDPair[ID]{ids[p.I], ids[p.J], p.Distance}) {
				return
			}
		}
	}
}

// Groups returns the ids of the connected components of [Index.Pairs] with two
// or more members. Members and groups are in the order of adding, so the first
// member, the one added first, is a stable representative. See [Clusters].
func (ix *Index[ID, F]) Groups() [][]ID {
	ids, fps := ix.collect()
	groups := groupsOf(Clusters(fps, ix.distance))
	out := make([][]ID, len(groups))
	for i, members := range groups {
		for _, n := range members {
			out[i] = append(out[i], ids[n])
		}
	}
	return out
}

// collect returns the stored ids and fingerprints in the order of adding.
func (ix *Index[ID, F]) collect() ([]ID, []F) {
	ids := make([]ID, 0, ix.Len())
	fps := make([]F, 0, ix.Len())
	for id, fp := range ix.All() {
		ids = append(ids, id)
		fps = append(fps, fp)
	}
	return ids, fps
}
