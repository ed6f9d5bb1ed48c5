package neighbour

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/slots"
)

// This file adds signatures to an index, and makes its runs: it sorts the lists of what was added, and merges
// runs so that a search looks into few.
//
// Adding sorts nothing. A new signature goes to the tail, whose keys a search goes through one by one. settle,
// which a search calls before it begins, makes a run of the tail when that is too long, and merges as much as
// can be done while everybody waits. Larger merges are done in the background ([Merge]).
//
// A run never changes. It may have ordinals of signatures that were deleted since, so whoever reads a list asks
// for each ordinal whether it still has a slot. Merging leaves them out.

// add adds signatures to slots that have none. Several goroutines call set with the number of a
// signature and its ordinal.
func (x *index) add(to []uint32, set func(i, ord int)) {
	first := x.size()
	x.slots.Extend(len(to))
	x.sketches.Extend(len(to))
	x.tail.extend(len(to))
	for i, slot := range to {
		for x.ordinals.Len() <= int(slot) {
			x.ordinals.Append(none)
		}
		*x.ordinals.Change(slot) = uint32(first + i)
		x.slots.Set(uint32(first+i), slot)
	}
	parallel.ChunksOf(perJob, len(to), func(_, from, to int) {
		for i := from; i < to; i++ {
			set(i, first+i)
		}
	})
}

// isSettled reports whether settle has nothing to do. A short tail may stay: a search goes through it as
// fast as through a run.
func (x *index) isSettled() bool { return x.tail.n <= fewUnsorted }

// settle puts the signatures that are not in a run into one, and merges it with those before it that are
// not much longer, as far as that takes no time worth mentioning (atOnce). It leaves the runs alone that
// a Merge is working on.
func (x *index) settle() {
	if x.isSettled() {
		return
	}
	x.merge(x.mergeable(len(x.runs), x.merging, x.tail.end(), x.atOnce))
}

// mergeable returns the first of the runs that are merged with what follows, up to the ordinal to. It goes back
// from first, but not beyond least, as long as a run is at most twice as long as everything after it and all of
// them have at most most ordinals. So runs become shorter and shorter, and there are few of them.
func (x *index) mergeable(first, least, to, most int) int {
	for first > least && to-x.runs[first-1].from <= most && x.runs[first-1].len() <= 2*(to-x.runs[first-1].to) {
		first--
	}
	return first
}

// A Merge makes one run of the last ones of a level, while others search and change the graph.
type Merge struct {
	index      *index
	of         index // a snapshot of it
	first, end int   // the runs
	made       run
}

// NextMerge begins a merge of runs of which none is much longer than those after it, or returns nil if there
// are none. Only one may be under way. texts returns the texts as they are now; it is called only if there is
// something to merge. The caller calls [Merge.Do] without a lock, and then, with a lock again, [Graph.Adopt].
func (g *Graph) NextMerge(texts func() Signatures) *Merge {
	for l := range g.levels {
		x := &g.levels[l]
		end := len(x.runs)
		if end < 2 {
			continue
		}
		if first := x.mergeable(end-1, 0, x.runs[end-1].to, x.size()); first < end-1 {
			x.merging = end
			m := &Merge{index: x, of: x.snapshot(), first: first, end: end}
			m.of.texts = texts()
			return m
		}
	}
	return nil
}

// Do does the work. It uses all processors. It sees a snapshot: a signature that is deleted meanwhile is in the
// new run too, and is passed over there as in the old ones.
func (m *Merge) Do() {
	runs := m.of.runs[m.first:m.end]
	m.of.tail = keys{from: m.of.tail.from}
	m.made = m.of.merged(runs, runs[0].from, runs[len(runs)-1].to)
}

// Adopt puts what a merge has made in the place of the runs that it was made of. If something else has replaced
// these meanwhile, as renumber and compact do, merging is 0 and the result is dropped: its ordinals may be old ones.
func (g *Graph) Adopt(m *Merge) {
	for l := range g.levels {
		if x := &g.levels[l]; x == m.index && x.merging == m.end {
			x.runs = slices.Concat(x.runs[:m.first], []run{m.made}, x.runs[m.end:])
			x.merging = 0
		}
	}
}

// renumber gives the signatures new ordinals, without those that were deleted. Snapshots keep the old ones.
// Everything that can fail goes into new columns first; only then the index changes. New ordinals are in the
// order of the old ones, so lists stay sorted and need no sorting again.
func (x *index) renumber() error {
	all := x.sketches.Empty()
	kept := x.slots.Empty()
	now := slices.Repeat([]uint32{none}, x.size()) // the new ordinals
	for ord := range uint32(x.size()) {
		if slot := x.slot(ord); slot != none {
			if err := cmp.Or(all.MakeRoom(1), kept.MakeRoom(1)); err != nil {
				return err
			}
			now[ord] = uint32(kept.Len())
			kept.Append(slot)
			all.Append(*x.sketches.At(ord))
		}
	}
	for ord := range uint32(kept.Len()) {
		*x.ordinals.Change(*kept.At(ord)) = ord
	}
	// A run gets the same lists with other ordinals. The keys of the tail become a run, whatever their number.
	if x.tail.n > 0 {
		x.merge(len(x.runs))
	}
	runs := x.runs
	x.sketches, x.slots, x.dead, x.runs, x.merging = all, kept, slots.Column[uint64]{}, nil, 0
	end := 0
	for _, r := range runs {
		next := run{from: end}
		shelf := x.shelf(r.to - r.from)
		parallel.Each(bands, func(b int) {
			list := make([]uint64, 0, r.lists[b].Len())
			for _, part := range r.lists[b].Chunks() {
				for _, e := range part {
					if ord := now[uint32(e)]; ord != none {
						list = append(list, e>>32<<32|uint64(ord))
					}
				}
			}
			next.lists[b] = slots.Shelve(shelf, b, list)
		})
		end += next.lists[0].Len()
		if next.to = end; next.to > next.from {
			x.runs = append(x.runs, next)
		}
	}
	x.tail.forget(end)
	return nil
}

// compact makes one run of everything, without what was deleted.
func (x *index) compact() error {
	if x.dead.Len() > 0 {
		if err := x.renumber(); err != nil {
			return err
		}
	}
	if len(x.runs) > 1 || x.tail.n > 0 {
		x.merging = 0
		x.merge(0)
	}
	return nil
}

// merge makes a run of the runs from the first one on and of the tail.
func (x *index) merge(first int) {
	from, to := x.tail.from, x.tail.end()
	if first < len(x.runs) {
		from = x.runs[first].from
	}
	r := x.merged(x.runs[first:], from, to)
	x.runs = append(slices.Clone(x.runs[:first]), r)
	x.tail.forget(to)
}

// merged returns a run, from..to−1, of some runs and of the tail.
func (x *index) merged(runs []run, from, to int) run {
	r := run{from: from, to: to}
	shelf := x.shelf(to - from)
	var buffers sync.Pool // for lists that are copied
	atOnce := bands
	if shelf != nil { // each takes a list and as much room
		atOnce = int(max(x.listed/(16*int64(to-from)), 1))
	}
	turns := make(chan struct{}, atOnce) // limits the memory of lists that are made at the same time
	parallel.Each(bands, func(b int) {
		turns <- struct{}{}
		defer func() { <-turns }()
		buf, _ := buffers.Get().(*[2][]uint64)
		if buf == nil {
			buf = new([2][]uint64)
		}
		list := slices.Grow(buf[0][:0], to-from)
		for i := range runs {
			for _, part := range runs[i].lists[b].Chunks() {
				for _, e := range part {
					if x.slot(uint32(e)) != none {
						list = append(list, e)
					}
				}
			}
		}
		list, buf[1] = sortByKey(x.appendTail(list, b), buf[1])
		r.lists[b] = slots.Shelve(shelf, b, x.order(b, list))
		if buf[0] = list; !r.lists[b].IsSpilled() {
			buf[0] = nil // the run keeps the list itself, and not a copy in a file
		}
		buffers.Put(buf)
	})
	return r
}

// shelf returns where the lists of a run of n ordinals are to be: in a file if they would take too much memory.
func (x *index) shelf(n int) *slots.Shelf {
	if int64(n)*bands*8 <= x.listed {
		return nil
	}
	return slots.NewShelf[uint64](bands, n)
}

// appendTail appends the entries of a band for the tail.
func (x *index) appendTail(list []uint64, band int) []uint64 {
	x.tail.rows(band, func(first uint32, row []uint32) {
		for i, key := range row {
			if ord := first + uint32(i); x.slot(ord) != none {
				list = append(list, uint64(key)<<32|uint64(ord))
			}
		}
	})
	return list
}

// order puts the buckets of more than fewest into the order of [index.compare].
func (x *index) order(band int, list []uint64) []uint64 {
	for i := 0; i+fewest < len(list); i++ {
		if list[i]>>32 == list[i+fewest]>>32 {
			end := i + bucketEnd(list[i:])
			x.orderBucket(band, list[i:end])
			i = end - 1
		}
	}
	return list
}

// orderBucket puts a bucket into the order of [index.compare]. It copies the sketches side by side first, and
// compares sixteen values as one number.
func (x *index) orderBucket(band int, bucket []uint64) {
	type entry struct {
		first uint64 // sixteen values from the band on, which nearly always decide
		of    uint32
		ord   uint32
	}
	sketches := gather(&x.sketches, bucket, nil, new([2][]uint64))
	order := make([]entry, len(bucket))
	for i, e := range bucket {
		order[i] = entry{bits.Reverse64(sketches[i].turned(band, 0)), uint32(i), uint32(e)}
	}
	slices.SortFunc(order, func(a, b entry) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return x.compare(band, &sketches[a.of], &sketches[b.of], a.ord, b.ord)
	})
	for i, e := range order {
		bucket[i] = bucket[i]>>32<<32 | uint64(e.ord)
	}
}

// bucketEnd returns how many entries at the beginning of a sorted list have the same key.
func bucketEnd(list []uint64) int {
	end := 1
	for end < len(list) && list[end]>>32 == list[0]>>32 {
		end++
	}
	return end
}

// sortByKey sorts a list by the keys, and entries with one key by their ordinals, which ascend already. Two
// passes sort by 24 bits of the keys, and afterwards few entries are next to one with the same bits and another
// key. room may be nil, or what was returned before.
func sortByKey(list, room []uint64) (sorted, roomAfter []uint64) {
	if len(list) < 1<<12 {
		slices.Sort(list)
		return list, room
	}
	const passed = 24
	list, room = slots.SortByKey(list, passed, room)
	for i := 0; i < len(list); {
		from := i
		for i++; i < len(list) && list[i]>>(64-passed) == list[from]>>(64-passed); i++ {
		}
		if same := list[from:i]; len(same) > 1 && !slices.IsSorted(same) {
			slices.Sort(same)
		}
	}
	return list, room
}
