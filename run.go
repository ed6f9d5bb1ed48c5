package neardup

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"
)

// A run is an immutable part of a store: documents in the order of adding, a finder for
// them, and a table that finds their ids. Only its documents die.
type run[ID comparable, T finder] struct {
	docColumn // by ordinal
	find      T
	file      *mapping // where the slices are, if they are a file that was not checked yet
	ids       idColumn[ID]
	times     []uint32 // when each was added, in seconds since 1970; never descending
	starts    []uint32 // by the highest bits of the hash of an id: where its ordinals begin
	ords      []uint32
	dead      []atomic.Uint64 // a bit for each ordinal
	live      int             // how many are not dead; for writers
	serial    uint32          // tells the runs of an index apart; from 1
}

// A docColumn is documents side by side.
type docColumn struct {
	words int // of each; 0: they differ in length
	docs  []uint64
	ends  []uint64 // where each ends in docs, if they differ
}

// doc returns the words of a document.
func (c *docColumn) doc(ord uint32) []uint64 {
	if c.words > 0 {
		return c.docs[int(ord)*c.words:][:c.words:c.words]
	}
	from := uint64(0)
	if ord > 0 {
		from = c.ends[ord-1]
	}
	return c.docs[from:c.ends[ord]:c.ends[ord]]
}

func (c *docColumn) put(doc []uint64) {
	c.docs = append(c.docs, doc...)
	if c.words == 0 {
		c.ends = append(c.ends, uint64(len(c.docs)))
	}
}

// documents are what a run is made of.
type documents[ID comparable] struct {
	docColumn
	ids   []ID
	times []uint32
}

func newDocuments[ID comparable](words, n int) documents[ID] {
	return documents[ID]{docColumn{words: words, docs: make([]uint64, 0, n*words)}, make([]ID, 0, n), make([]uint32, 0, n)}
}

func (d *documents[ID]) add(doc []uint64, id ID, time uint32) {
	if len(d.ids) == maxDocuments {
		panic(fmt.Sprintf("neardup: more than %d documents in an index", maxDocuments))
	}
	d.put(doc)
	d.ids = append(d.ids, id)
	d.times = append(d.times, time)
}

// newRun makes a run of documents, which it keeps. Of those with one id it keeps the
// last, if they may have the same.
func newRun[ID comparable, T finder](docs documents[ID], same bool, it *idType[ID], serial uint32, build func(docs docColumn) T) *run[ID, T] {
	r := &run[ID, T]{serial: serial}
	r.enterIDs(docs.ids, it)
	if same {
		if gone := r.replaced(docs.ids); gone != nil {
			docs.remove(gone)
			r.enterIDs(docs.ids, it)
		}
	}
	if cap(docs.docs)-len(docs.docs) > len(docs.docs)/16 { // it is most of the memory
		docs.docs = append(make([]uint64, 0, len(docs.docs)), docs.docs...)
	}
	r.docColumn, r.ids, r.times, r.live = docs.docColumn, memoryColumn[ID](docs.ids), docs.times, len(docs.ids)
	r.dead = make([]atomic.Uint64, (r.live+63)/64)
	r.find = build(docs.docColumn)
	return r
}

func (r *run[ID, T]) len() int { return len(r.times) }

// enterIDs makes the table of ids.
func (r *run[ID, T]) enterIDs(ids []ID, it *idType[ID]) {
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
func (r *run[ID, T]) replaced(ids []ID) (gone []uint32) {
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
func (d *documents[ID]) remove(gone []uint32) {
	slices.Sort(gone)
	to, all := 0, d.docColumn
	d.docs, d.ends = d.docs[:0], d.ends[:0]
	from := uint64(0)
	for i := range d.ids {
		doc := all.docs[i*d.words:][:d.words]
		if d.words == 0 { // ends before this one may have been written over
			doc = all.docs[from:all.ends[i]]
			from = all.ends[i]
		}
		if len(gone) > 0 && int(gone[0]) == i {
			gone = gone[1:]
			continue
		}
		d.ids[to], d.times[to] = d.ids[i], d.times[i]
		d.put(doc)
		to++
	}
	clear(d.ids[to:])
	d.ids, d.times = d.ids[:to], d.times[:to]
}

// idBits returns the bits of the hash that lead to the ordinals of an id: about three
// have the same.
func idBits(n int) int { return max(1, bits.Len(uint(n))-2) }

// lookUp returns the ordinal of an id that is not dead.
func (r *run[ID, T]) lookUp(id ID, hash uint64) (ord uint32, ok bool, err error) {
	at := r.starts[hash>>(64-idBits(r.len())):][:2]
	if err := r.file.check(unsafe.Pointer(&at[0]), 8); err != nil {
		return 0, false, err
	}
	if from, to := at[0], at[1]; from < to {
		if to > uint32(len(r.ords)) {
			return 0, false, damaged("ids are outside of their table")
		}
		if err := r.file.check(unsafe.Pointer(&r.ords[from]), 4*int(to-from)); err != nil {
			return 0, false, err
		}
		for _, ord := range r.ords[from:to] {
			if ord >= uint32(r.len()) {
				return 0, false, damaged("an id is of no document")
			}
			if r.isDead(ord) {
				continue
			}
			if same, err := r.ids.is(ord, id); same || err != nil {
				return ord, same, err
			}
		}
	}
	return 0, false, nil
}

// name tells a document from all others of the index.
func (r *run[ID, T]) name(ord uint32) uint64 { return uint64(r.serial)<<32 | uint64(ord) }

func (r *run[ID, T]) isDead(ord uint32) bool { return r.dead[ord/64].Load()>>(ord%64)&1 != 0 }

// kill marks an ordinal as dead.
func (r *run[ID, T]) kill(ord uint32) {
	r.dead[ord/64].Or(1 << (ord % 64))
	r.live--
}

// bytes returns the memory that a run takes, without what ids point to.
func (r *run[ID, T]) bytes() int {
	return 8*(cap(r.docs)+cap(r.ends)) + r.ids.bytes() + 4*(cap(r.times)+cap(r.starts)+cap(r.ords)) + 8*cap(r.dead) + r.find.bytes()
}

// A tail is the last changes of a store. It only grows. A change is an addition, a
// deletion, or both, if an id gets another document: whoever has read their number
// sees all changes before it, and none of the others.
type tail[ID comparable] struct {
	*changeLog
	words  int
	docs   []uint64
	varied [][]uint64 // instead, if documents differ in length
	ids    []ID
	times  []uint32
	deadBy []atomic.Uint32 // the change, from 1, by which the addition was undone
	find   tailFinder      // nil: the documents are compared one by one
}

// A changeLog is what those need to know of a tail who read what was before it.
type changeLog struct {
	changes atomic.Uint32
	kills   []atomic.Uint64 // the name of the document of a run that died
	next    atomic.Pointer[changeLog]
}

// newTail returns an empty tail for so many changes.
func newTail[ID comparable](size, words int) *tail[ID] {
	t := &tail[ID]{
		changeLog: &changeLog{kills: make([]atomic.Uint64, size)}, words: words,
		docs: make([]uint64, size*words), ids: make([]ID, size), times: make([]uint32, size), deadBy: make([]atomic.Uint32, size),
	}
	if words == 0 {
		t.varied = make([][]uint64, size)
	}
	return t
}

// doc returns the words of a document.
func (t *tail[ID]) doc(i uint32) []uint64 {
	if t.words == 0 {
		return t.varied[i]
	}
	return t.docs[int(i)*t.words:][:t.words:t.words]
}

// setDoc sets the words of a document that nobody sees yet.
func (t *tail[ID]) setDoc(i uint32, doc []uint64) {
	if t.words == 0 {
		t.varied[i] = slices.Clone(doc)
		return
	}
	copy(t.doc(i), doc)
}

// A state is all that readers need. The runs and the tail of a state change only by what
// the tail records; a state that is full is followed by the next.
type state[ID comparable, T finder] struct {
	runs []*run[ID, T] // oldest first
	tail *tail[ID]
}

// A view is a store as it was when somebody began to read: a state, and the number of
// changes of its tail.
type view[ID comparable, T finder] struct {
	*state[ID, T]
	changes uint32

	// What died later: kills of all tails up to a place in one of them.
	later map[uint64]struct{}
	at    *changeLog
	read  uint32
}

func (s *state[ID, T]) view() view[ID, T] {
	changes := s.tail.changes.Load()
	return view[ID, T]{state: s, changes: changes, at: s.tail.changeLog, read: changes}
}

// sees reports whether a document of a run is alive in the view.
func (v *view[ID, T]) sees(r *run[ID, T], ord uint32) bool {
	return !r.isDead(ord) || v.diedLater(r.name(ord))
}

// diedLater reports whether a kill is behind the changes of the view. A kill is recorded
// before the document is marked as dead, and counted after that.
func (v *view[ID, T]) diedLater(kill uint64) bool {
	for {
		next := v.at.next.Load() // first: if there is one, the tail changes no more
		n := v.at.changes.Load()
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

// seesTail reports whether a change of the tail is an addition that is alive in the view.
func (v *view[ID, T]) seesTail(i uint32) bool {
	by := v.tail.deadBy[i].Load()
	return by == 0 || by > v.changes
}
