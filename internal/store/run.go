package store

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
)

// A Run is an immutable part of a store: documents in the order of adding, a finder for
// them, and a table that finds their ids. Only its documents die.
type Run[ID comparable, T Finder] struct {
	Column // by ordinal
	Find   T
	File   *Mapping // where the slices are, if they are a file that was not checked yet
	IDs    IDColumn[ID]
	times  []uint32 // when each was added, in seconds since 1970; never descending
	starts []uint32 // by the highest bits of the hash of an id: where its ordinals begin
	ords   []uint32
	dead   []atomic.Uint64 // a bit for each ordinal
	live   int             // how many are not dead; for writers
	serial uint32          // tells the runs of an index apart; from 1
}

// A Column is documents side by side.
type Column struct {
	Words int // of each; 0: they differ in length
	Docs  []uint64
	Ends  []uint64 // where each ends in docs, if they differ
}

// Doc returns the words of a document.
func (c *Column) Doc(ord uint32) []uint64 {
	if c.Words > 0 {
		return c.Docs[int(ord)*c.Words:][:c.Words:c.Words]
	}
	from := uint64(0)
	if ord > 0 {
		from = c.Ends[ord-1]
	}
	return c.Docs[from:c.Ends[ord]:c.Ends[ord]]
}

func (c *Column) Put(doc []uint64) {
	c.Docs = append(c.Docs, doc...)
	if c.Words == 0 {
		c.Ends = append(c.Ends, uint64(len(c.Docs)))
	}
}

// Documents are what a run is made of.
type Documents[ID comparable] struct {
	Column
	IDs   []ID
	Times []uint32
}

func NewDocuments[ID comparable](words, n int) Documents[ID] {
	return Documents[ID]{Column{Words: words, Docs: make([]uint64, 0, n*words)}, make([]ID, 0, n), make([]uint32, 0, n)}
}

func (d *Documents[ID]) Add(doc []uint64, id ID, time uint32) {
	d.Put(doc)
	d.IDs = append(d.IDs, id)
	d.Times = append(d.Times, time)
}

// NewRun makes a run of documents, which it keeps. Of those with one id it keeps the
// last, if they may have the same.
func NewRun[ID comparable, T Finder](docs Documents[ID], same bool, it *IDType[ID], serial uint32, build func(docs Column) T) *Run[ID, T] {
	r := &Run[ID, T]{serial: serial}
	r.enterIDs(docs.IDs, it)
	if same {
		if gone := r.replaced(docs.IDs); gone != nil {
			docs.remove(gone)
			r.enterIDs(docs.IDs, it)
		}
	}
	if cap(docs.Docs)-len(docs.Docs) > len(docs.Docs)/16 { // it is most of the memory
		docs.Docs = append(make([]uint64, 0, len(docs.Docs)), docs.Docs...)
	}
	r.Column, r.IDs, r.times, r.live = docs.Column, MemoryColumn[ID](docs.IDs), docs.Times, len(docs.IDs)
	r.dead = make([]atomic.Uint64, (r.live+63)/64)
	r.Find = build(docs.Column)
	return r
}

func (r *Run[ID, T]) Len() int { return len(r.times) }

// enterIDs makes the table of ids.
func (r *Run[ID, T]) enterIDs(ids []ID, it *IDType[ID]) {
	shift := 64 - idBits(len(ids))
	r.starts = make([]uint32, 1<<(64-shift)+1)
	for _, id := range ids {
		r.starts[it.hash(id)>>shift]++
	}
	sum := uint32(0)
	for i, c := range r.starts {
		sum += c
		r.starts[i] = sum
	}
	r.ords = make([]uint32, len(ids))
	for i := len(ids) - 1; i >= 0; i-- { // each start moves down from the end of its ids
		at := &r.starts[it.hash(ids[i])>>shift]
		*at--
		r.ords[*at] = uint32(i)
	}
}

// replaced returns the ordinals whose id comes again, in no order.
func (r *Run[ID, T]) replaced(ids []ID) (gone []uint32) {
	for i := range len(r.starts) - 1 {
		ords := r.ords[r.starts[i]:r.starts[i+1]] // ascending
		for j, ord := range ords {
			if ids[ord] != ids[ord] {
				continue // nor will any other be equal
			}
			for _, later := range ords[j+1:] {
				if ids[ord] == ids[later] {
					gone = append(gone, ord)
					break
				}
			}
		}
	}
	return gone
}

// remove takes away documents by their ordinals.
func (d *Documents[ID]) remove(gone []uint32) {
	slices.Sort(gone)
	to, all := 0, d.Column
	d.Docs, d.Ends = d.Docs[:0], d.Ends[:0]
	from := uint64(0)
	for i := range d.IDs {
		doc := all.Docs[i*d.Words:][:d.Words]
		if d.Words == 0 { // ends before this one may have been written over
			doc = all.Docs[from:all.Ends[i]]
			from = all.Ends[i]
		}
		if len(gone) > 0 && int(gone[0]) == i {
			gone = gone[1:]
			continue
		}
		d.IDs[to], d.Times[to] = d.IDs[i], d.Times[i]
		d.Put(doc)
		to++
	}
	clear(d.IDs[to:])
	d.IDs, d.Times = d.IDs[:to], d.Times[:to]
}

// idBits returns the bits of the hash that lead to the ordinals of an id: about three
// have the same.
func idBits(n int) int { return max(1, bits.Len(uint(n))-2) }

// lookUp returns the ordinal of an id whose document is alive.
func (r *Run[ID, T]) lookUp(id ID, hash uint64, alive func(ord uint32) bool) (ord uint32, ok bool, err error) {
	at := r.starts[hash>>(64-idBits(r.Len())):][:2]
	if err := r.File.Check(unsafe.Pointer(&at[0]), 8); err != nil {
		return 0, false, err
	}
	if from, to := at[0], at[1]; from < to {
		if to > uint32(len(r.ords)) {
			return 0, false, format.Damaged("ids are outside of their table")
		}
		if err := r.File.Check(unsafe.Pointer(&r.ords[from]), 4*int(to-from)); err != nil {
			return 0, false, err
		}
		for _, ord := range r.ords[from:to] {
			if ord >= uint32(r.Len()) {
				return 0, false, format.Damaged("an id is of no document")
			}
			if !alive(ord) {
				continue
			}
			if same, err := r.IDs.Is(ord, id); same || err != nil {
				return ord, same, err
			}
		}
	}
	return 0, false, nil
}

// name tells a document from all others of the index.
func (r *Run[ID, T]) name(ord uint32) uint64 { return uint64(r.serial)<<32 | uint64(ord) }

func (r *Run[ID, T]) isDead(ord uint32) bool { return r.dead[ord/64].Load()>>(ord%64)&1 != 0 }

func (r *Run[ID, T]) isAlive(ord uint32) bool { return !r.isDead(ord) }

// kill marks an ordinal as dead.
func (r *Run[ID, T]) kill(ord uint32) {
	r.dead[ord/64].Or(1 << (ord % 64))
	r.live--
}

// Bytes returns the memory that a run takes, without what ids point to.
func (r *Run[ID, T]) Bytes() int {
	return 8*(cap(r.Docs)+cap(r.Ends)) + r.IDs.Bytes() + 4*(cap(r.times)+cap(r.starts)+cap(r.ords)) + 8*cap(r.dead) + r.Find.Bytes()
}

// A tail is the last changes of a store. It only grows. A change is an addition, a
// deletion, or both, if an id gets another document: whoever has read their number
// sees all changes before it, and none of the others.
type tail[ID comparable] struct {
	*changeLog
	words  int
	Docs   []uint64
	varied [][]uint64 // instead, if documents differ in length
	IDs    []ID
	times  []uint32
	deadBy []atomic.Uint32 // the change, from 1, by which the addition was undone
	Find   TailFinder      // nil: the documents are compared one by one
}

// A changeLog is what those need to know of a tail who read what was before it.
type changeLog struct {
	Changes atomic.Uint32
	kills   []atomic.Uint64 // the name of the document of a run that died
	next    atomic.Pointer[changeLog]
}

// newTail returns an empty tail for so many changes.
func newTail[ID comparable](size, words int) *tail[ID] {
	t := &tail[ID]{
		changeLog: &changeLog{kills: make([]atomic.Uint64, size)}, words: words,
		Docs: make([]uint64, size*words), IDs: make([]ID, size), times: make([]uint32, size), deadBy: make([]atomic.Uint32, size),
	}
	if words == 0 {
		t.varied = make([][]uint64, size)
	}
	return t
}

// Doc returns the words of a document.
func (t *tail[ID]) Doc(i uint32) []uint64 {
	if t.words == 0 {
		return t.varied[i]
	}
	return t.Docs[int(i)*t.words:][:t.words:t.words]
}

// setDoc sets the words of a document that nobody sees yet.
func (t *tail[ID]) setDoc(i uint32, doc []uint64) {
	if t.words == 0 {
		t.varied[i] = slices.Clone(doc)
		return
	}
	copy(t.Doc(i), doc)
}

// A State is all that readers need. The runs and the tail of a state change only by what
// the tail records; a state that is full is followed by the next.
type State[ID comparable, T Finder] struct {
	Runs []*Run[ID, T] // oldest first
	Tail *tail[ID]
}

// A View is a store as it was when somebody began to read: a state, and the number of
// Changes of its tail.
type View[ID comparable, T Finder] struct {
	*State[ID, T]
	Changes uint32

	// What died later: kills of all tails up to a place in one of them.
	later map[uint64]struct{}
	at    *changeLog
	read  uint32
}

func (s *State[ID, T]) view() View[ID, T] {
	changes := s.Tail.Changes.Load()
	return View[ID, T]{State: s, Changes: changes, at: s.Tail.changeLog, read: changes}
}

// Sees reports whether a document of a run is alive in the view.
func (v *View[ID, T]) Sees(r *Run[ID, T], ord uint32) bool {
	return !r.isDead(ord) || v.diedLater(r.name(ord))
}

// diedLater reports whether a kill is behind the changes of the view. A kill is recorded
// before the document is marked as dead, and counted after that.
func (v *View[ID, T]) diedLater(kill uint64) bool {
	for {
		next := v.at.next.Load() // first: if there is one, the tail changes no more
		n := v.at.Changes.Load()
		for ; v.read < n; v.read++ {
			if k := v.at.kills[v.read].Load(); k != 0 {
				if v.later == nil {
					v.later = make(map[uint64]struct{})
				}
				v.later[k] = struct{}{}
			}
		}
		if int(n) < len(v.at.kills) && v.at.kills[n].Load() == kill {
			return true
		}
		if next == nil {
			_, ok := v.later[kill]
			return ok
		}
		v.at, v.read = next, 0
	}
}

// SeesTail reports whether a change of the tail is an addition that is alive in the view.
func (v *View[ID, T]) SeesTail(i uint32) bool {
	by := v.Tail.deadBy[i].Load()
	return by == 0 || by > v.Changes
}
