package store

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
)

// This file has the parts of a store. A [Run] is immutable, except that its documents die. A tail
// takes the last changes. A [State] is the runs and the tail. A [View] is a state at a moment.
//
// A reader needs no lock to see exactly the changes up to its moment. It loads the state and the number
// of changes in the tail (viewOf). Everything that a writer does later leaves a trace that tells
// when it happened: a document of the tail has the change by which it died, and a document of a run
// has its name in the list of kills (see diedLater).

// A Run is a part of a store: documents in the order of adding, a finder for them, and a table that
// finds their ids. Its documents can die, and nothing else about it changes.
type Run[ID comparable, T Finder] struct {
	Column // the documents, by ordinal
	Find   T
	File   *Mapping // the file that the slices lie in; nil if all of it was checked, or there is none
	IDs    IDColumn[ID]
	times  []uint32        // when each was added, in seconds since 1970; never descending
	starts []uint32        // where the ordinals of ids begin in ords, by the highest bits of the id's hash
	ords   []uint32        // sorted by these bits
	dead   []atomic.Uint64 // a bit for each ordinal
	deaths atomic.Bool     // whether any is set: mostly none is, and this is nearer in memory
	live   int             // how many are not dead; only writers use it
	serial uint32          // tells the runs of a store apart; from 1
}

// A Column is the words of documents, one document after the other.
type Column struct {
	Words int // of each document; 0: documents differ in length
	Docs  []uint64
	Ends  []uint64 // where each document ends in Docs, if they differ in length

	more [][]uint64 // documents behind those of Docs, until join
}

// Doc returns the words of a document. They belong to the column.
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

// Put appends a document. Those of one length for which Docs has no room are only there after join: to let Docs grow would copy all of
// them again and again.
func (c *Column) Put(doc []uint64) {
	switch n := len(c.more); {
	case c.Words == 0:
		c.Docs = append(c.Docs, doc...)
		c.Ends = append(c.Ends, uint64(len(c.Docs)))
	case len(c.Docs)+len(doc) <= cap(c.Docs):
		c.Docs = append(c.Docs, doc...)
	case n == 0 || len(c.more[n-1])+len(doc) > cap(c.more[n-1]):
		c.more = append(c.more, append(make([]uint64, 0, max(partWords, len(doc))), doc...))
	default:
		c.more[n-1] = append(c.more[n-1], doc...)
	}
}

// partWords is a megabyte.
const partWords = 1 << 17

// join brings all documents together, on all processors.
func (c *Column) join() {
	if len(c.more) == 0 {
		return
	}
	parts := append([][]uint64{c.Docs}, c.more...)
	starts, n := make([]int, len(parts)), 0
	for i, part := range parts {
		starts[i] = n
		n += len(part)
	}
	docs := make([]uint64, n)
	var copying sync.WaitGroup
	for i, part := range parts {
		copying.Go(func() { copy(docs[starts[i]:], part) })
	}
	copying.Wait()
	c.Docs, c.more = docs, nil
}

// Documents are what a run is made of. Times are in seconds since 1970 and must not descend.
type Documents[ID comparable] struct {
	Column
	IDs   []ID
	Times []uint32
}

// NewDocuments returns an empty list with room for n documents of the given number of words. 0
// words mean that documents differ in length.
func NewDocuments[ID comparable](words, n int) Documents[ID] {
	return Documents[ID]{Column{Words: words, Docs: make([]uint64, 0, n*words)}, make([]ID, 0, n), make([]uint32, 0, n)}
}

// Add appends a document.
func (d *Documents[ID]) Add(doc []uint64, id ID, time uint32) {
	d.Put(doc)
	d.IDs = append(d.IDs, id)
	d.Times = append(d.Times, time)
}

// NewRun makes a run of documents, which it keeps. If same is true, several documents may have the
// same id, and only the last of each id stays. If same is false, the caller says that no two have.
func NewRun[ID comparable, T Finder](docs Documents[ID], same bool, it *IDType[ID], serial uint32, build func(docs Column) T) *Run[ID, T] {
	docs.join()
	r := &Run[ID, T]{serial: serial}
	r.enterIDs(docs.IDs, it)
	if same {
		if gone := r.replaced(docs.IDs); gone != nil {
			docs.remove(gone)
			r.enterIDs(docs.IDs, it)
		}
	}
	if cap(docs.Docs)-len(docs.Docs) > len(docs.Docs)/16 { // give back spare room: the documents are most of the memory
		docs.Docs = append(make([]uint64, 0, len(docs.Docs)), docs.Docs...)
	}
	r.Column, r.IDs, r.times, r.live = docs.Column, MemoryColumn[ID](docs.IDs), docs.Times, len(docs.IDs)
	r.dead = make([]atomic.Uint64, (r.live+63)/64)
	r.Find = build(docs.Column)
	return r
}

// Len returns the number of documents, dead ones included.
func (r *Run[ID, T]) Len() int { return len(r.times) }

// enterIDs makes the table of ids, by a counting sort on the highest bits of their hashes.
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
	for i := len(ids) - 1; i >= 0; i-- { // each start moves down from the end of its ids, so ordinals ascend
		at := &r.starts[it.hash(ids[i])>>shift]
		*at--
		r.ords[*at] = uint32(i)
	}
}

// replaced returns the ordinals of documents whose id occurs again later, in no order.
func (r *Run[ID, T]) replaced(ids []ID) (gone []uint32) {
	for i := range len(r.starts) - 1 {
		ords := r.ords[r.starts[i]:r.starts[i+1]] // ascending
		for j, ord := range ords {
			if ids[ord] != ids[ord] {
				continue // NaN: it equals no other id either
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

// remove takes documents away, by their ordinals. It moves the others up in the same memory.
func (d *Documents[ID]) remove(gone []uint32) {
	slices.Sort(gone)
	to, all := 0, d.Column
	d.Docs, d.Ends = d.Docs[:0], d.Ends[:0]
	from := uint64(0)
	for i := range d.IDs {
		doc := all.Docs[i*d.Words:][:d.Words]
		if d.Words == 0 { // from is the end before this one, which Put may have overwritten
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
	clear(d.IDs[to:]) // so that the removed ids do not stay in memory
	d.IDs, d.Times = d.IDs[:to], d.Times[:to]
}

// idBits returns how many bits of the hash select an entry of the table of ids. With that many, an
// entry has about two to four of n ids.
func idBits(n int) int { return max(1, bits.Len(uint(n))-2) }

// lookUp returns the ordinal of the document with an id, if alive says that it is alive. The hash
// is that of the id. An error means damage: in a mapped file, lookUp checks the parts of the table
// that it reads, and trusts no number in them.
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
				return 0, false, format.Damaged("an id refers to no document")
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

// name returns a number that tells a document from all others in the runs of the store. It is never
// 0.
func (r *Run[ID, T]) name(ord uint32) uint64 { return uint64(r.serial)<<32 | uint64(ord) }

// isDead reports whether a document is dead now. A view may still see it; ask Sees.
func (r *Run[ID, T]) isDead(ord uint32) bool {
	return r.deaths.Load() && r.dead[ord/64].Load()>>(ord%64)&1 != 0
}

// isAlive is the opposite of isDead.
func (r *Run[ID, T]) isAlive(ord uint32) bool { return !r.isDead(ord) }

// kill marks a document as dead. Only writers call it, each document at most once.
func (r *Run[ID, T]) kill(ord uint32) {
	r.deaths.Store(true)
	r.dead[ord/64].Or(1 << (ord % 64))
	r.live--
}

// Bytes returns how much memory a run takes, without what ids point to.
func (r *Run[ID, T]) Bytes() int {
	return 8*(cap(r.Docs)+cap(r.Ends)) + r.IDs.Bytes() + 4*(cap(r.times)+cap(r.starts)+cap(r.ords)) + 8*cap(r.dead) + r.Find.Bytes()
}

// A tail is the last changes of a store. Changes are only appended. A change is an addition, a
// deletion, or both, if an id gets another document. A reader who has loaded the number of changes
// sees all of these changes, and none that comes later.
type tail[ID comparable] struct {
	*changeLog
	words  int
	Docs   []uint64   // by change, if documents have the same length
	varied [][]uint64 // by change, if they differ in length
	IDs    []ID
	times  []uint32        // as in a run
	deadBy []atomic.Uint32 // by which change, counted from 1, the added document died; 0: it is alive
	Find   TailFinder      // nil: documents are compared one by one
}

// A changeLog is the part of a tail that readers of older states need. It does not keep the
// documents in memory.
type changeLog struct {
	Changes atomic.Uint32             // how many there are
	kills   []atomic.Uint64           // by change, the name of the document of a run that died; 0: none
	next    atomic.Pointer[changeLog] // of the tail that follows
}

// newTail returns an empty tail for size changes.
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

// Doc returns the words of the document that change i added.
func (t *tail[ID]) Doc(i uint32) []uint64 {
	if t.words == 0 {
		return t.varied[i]
	}
	return t.Docs[int(i)*t.words:][:t.words:t.words]
}

// setDoc copies the words of a document to change i. No reader may see the change yet.
func (t *tail[ID]) setDoc(i uint32, doc []uint64) {
	if t.words == 0 {
		t.varied[i] = slices.Clone(doc)
		return
	}
	copy(t.Doc(i), doc)
}

// A State is all that readers need. Its list of runs and its tail stay the same; only the documents
// in them change, and the tail records how. When the tail is full, or runs have been merged, the
// store goes on with another state; in the latter case it has the same tail.
type State[ID comparable, T Finder] struct {
	Runs []*Run[ID, T] // oldest first
	Tail *tail[ID]
}

// A View is a store at the moment when somebody began to read: a state, and the number of changes
// that its tail had. A view is for one goroutine.
type View[ID comparable, T Finder] struct {
	*State[ID, T]
	Changes uint32

	// later has the documents of runs that died after the moment of the view, as far as diedLater
	// has read the kills: up to change number read of the tail at.
	later map[uint64]struct{}
	at    *changeLog
	read  uint32
}

// viewOf returns the view of the current state, which load returns. The state must still be current
// after the number of changes was read. Otherwise the runs may have been replaced by a merged one in
// between, and the change counted last may have killed a document there, which is still alive here.
func viewOf[ID comparable, T Finder](load func() *State[ID, T]) View[ID, T] {
	for s := load(); ; {
		changes := s.Tail.Changes.Load()
		now := load()
		if now == s {
			return View[ID, T]{State: s, Changes: changes, at: s.Tail.changeLog, read: changes}
		}
		s = now
	}
}

// Sees reports whether a document of a run is alive in the view. It is, if it is not dead now, or
// if it died after the moment of the view.
func (v *View[ID, T]) Sees(r *Run[ID, T], ord uint32) bool {
	return !r.isDead(ord) || v.diedLater(r.name(ord))
}

// diedLater reports whether a document that is dead now died after the moment of the view. Its name
// is kill. A writer records a kill, then marks the document as dead, and then counts the change. So
// the kill of a dead document is among the counted changes, or it is in the place behind them.
func (v *View[ID, T]) diedLater(kill uint64) bool {
	for {
		next := v.at.next.Load() // load it first: if there is a next tail, this one changes no more
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

// SeesTail reports whether change i is an addition whose document is alive in the view. i must be
// below Changes.
func (v *View[ID, T]) SeesTail(i uint32) bool {
	by := v.Tail.deadBy[i].Load()
	return by == 0 || by > v.Changes
}
