// Package store keeps the documents of all indexes. To a store, a document is an id of the caller
// and some words of 64 bits: a fingerprint, a signature or a vector. What the words mean, and how
// near documents are found, is up to the [Form] and the [Finder] of each kind of index.
//
// A store is a list of immutable runs, each with a finder of its own, and a tail with the last
// changes (run.go). When the tail is full, it becomes a run. A store is in memory, or also in files
// (files.go): a snapshot that is mapped (snapshot.go, mapping.go), and a journal of the changes
// since then (journal.go).
//
// Changes take turns, by a lock. Readers never wait: they take a [View], which sees every change
// that had returned by then and none that comes later.
package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
)

// A Store is the documents of an index. Make it with [Init].
type Store[ID comparable, T Finder] struct {
	Form  Form[T]
	IDs   IDType[ID]
	state atomic.Pointer[State[ID, T]] // what readers need; changes replace it
	live  atomic.Int64                 // number of documents
	err   atomic.Pointer[error]        // the first one
	lost  error                        // what Open dropped of the journal; nil: nothing
	base  *Run[ID, T]                  // the snapshot that Open found; nil: none

	// Replayed, if set before Open, gets each change of the journal, in order: additions with their words, and deletions with nil.
	Replayed func(id ID, doc []uint64, seconds uint32)

	mu      sync.Mutex       // held by whoever changes the store
	InTail  map[ID]uint32    // for every living document of the tail, its change
	serial  uint32           // of the newest run
	merging *merge[ID, T]    // what is being merged meanwhile, or nil; see merge.go
	Now     func() time.Time // the clock; tests set it
	seconds uint32           // time of the last addition, in seconds since 1970
	Files   *storeFiles      // nil in memory

	committing chan struct{} // closed when the changes that Commit puts on the disk are there; nil if it does not run
}

// A Form says what the documents of a store are, and how they are found.
type Form[T Finder] struct {
	Kind     string                    // what the files say they hold
	Again    string                    // advice for an error about files of another version
	Words    int                       // of a document; 0: documents differ in length
	TailSize func(live int) int        // the most changes of a tail, given the number of documents
	Build    func(docs Column) T       // makes the finder of a run; at any time, also while the store is changed
	AtOnce   int                       // the most documents that are merged while an addition waits; 0: atOnce. Larger runs are merged on another goroutine
	Tail     func(size int) TailFinder // makes the finder of a tail; nil: there is none
	Read     func(f *format.Reader) T  // reads what Finder.Write wrote
	Check    func(doc []uint64) error  // whether words from a journal are a document; nil: all are
	Before   func() error              // puts on the disk what documents refer to, before they are written; nil: nothing is to be done
}

// columns returns the number of columns of a snapshot.
func (f *Form[T]) columns() int {
	if f.Words == 0 {
		return columnCount
	}
	return FixedColumns
}

func (f *Form[T]) journalKind() string { return f.Kind + "-journal" }

// A Finder finds the documents of a run. It does not change after it was built.
type Finder interface {
	Bytes() int // of memory

	// Write writes the records of the finder to a snapshot. Columns returns the other data of the
	// finder, which a snapshot keeps in columns so that it can be mapped.
	Write(f *format.Writer)
	Columns() FinderColumns[[][]byte]

	// Attach completes a finder that Form.Read made, with the documents of the run and with the
	// columns. The columns may be in a mapped file: then the finder must call file.Check before it
	// looks at a part of them. file is nil if everything has been checked.
	Attach(docs Column, file *Mapping, columns FinderColumns[[]byte]) error
}

// FinderColumns are the columns of a finder, each of numbers of 32 bits. A finder that needs fewer
// leaves the others empty.
type FinderColumns[T any] [5]T

// A TailFinder finds the documents of a tail. Add enters the document of change i. It is called
// before readers can see the change.
type TailFinder interface {
	Add(i uint32, doc []uint64)
}

// Init makes s an empty store in memory.
func Init[ID comparable, T Finder](s *Store[ID, T], f Form[T]) {
	s.Form, s.IDs, s.Now = f, IDTypeOf[ID](), time.Now
	s.Form.AtOnce = cmp.Or(f.AtOnce, atOnce)
	s.swap(nil, LeastTail)
}

// LeastTail is the size of a tail if the store cannot guess how many changes will come.
const LeastTail = 512

// swap makes the runs, and an empty tail for at most the given number of changes, the state. The
// old tail gets a link to the new one first. So a view of the old state learns of documents that
// die later (see diedLater).
func (s *Store[ID, T]) swap(runs []*Run[ID, T], most int) {
	live := 0
	for _, r := range runs {
		live += r.live
	}
	size := min(most, s.Form.TailSize(live))
	next := &State[ID, T]{Runs: runs, Tail: newTail[ID](size, s.Form.Words)}
	if s.Form.Tail != nil {
		next.Tail.Find = s.Form.Tail(size)
	}
	if old := s.state.Load(); old != nil {
		old.Tail.next.Store(next.Tail.changeLog)
	}
	s.state.Store(next)
	s.InTail = make(map[ID]uint32)
}

// clock returns the time in seconds since 1970, limited to 32 bits.
func (s *Store[ID, T]) clock() uint32 {
	return uint32(min(max(s.Now().Unix(), 0), math.MaxUint32))
}

// Lock keeps other changes out until Unlock. Only Add leaves the locking to its caller.
func (s *Store[ID, T]) Lock() { s.mu.Lock() }

// Unlock is the opposite of Lock.
func (s *Store[ID, T]) Unlock() { s.mu.Unlock() }

// Add stores a document under an id and replaces the document that had the id. The caller holds the
// lock. After an error the store is as it was before.
func (s *Store[ID, T]) Add(id ID, doc []uint64) error {
	s.check()
	return s.add(id, doc, s.clock())
}

// errFull is the error of a store that cannot number more documents.
var errFull = fmt.Errorf("neardup: an index holds at most %d documents", MaxDocuments)

// add is Add with a given time. The order matters. First the journal takes the change, so that a
// change that cannot be kept is not made. Then the document is written behind the changes that
// readers see. publish comes last.
func (s *Store[ID, T]) add(id ID, doc []uint64, seconds uint32) error {
	st, old, ok := s.locate(id)
	if !ok {
		return s.Err()
	}
	if !old.there && s.Len() == MaxDocuments {
		return errFull
	}
	s.seconds = max(s.seconds, seconds) // times never descend, whatever the clock does
	t := st.Tail
	i := t.Changes.Load()
	if s.Files != nil && !s.logAdd(id, doc, s.seconds) {
		return s.Err()
	}
	if !old.there {
		s.live.Add(1)
	}
	t.setDoc(i, doc)
	t.IDs[i] = id
	t.times[i] = s.seconds
	if t.Find != nil {
		t.Find.Add(i, doc)
	}
	s.InTail[id] = i
	s.publish(st, i, old)
	return nil
}

// MaxDocuments is the most documents that a store holds.
const MaxDocuments = 1 << 30

// An old is the document that a change replaces or deletes, if there is one.
type old[ID comparable, T Finder] struct {
	there bool
	run   *Run[ID, T] // nil: it is in the tail
	ord   uint32      // of the run, or the change of the tail
}

// locate looks for the document of an id, and makes room in the tail for one change. ok is false
// after an error.
func (s *Store[ID, T]) locate(id ID) (st *State[ID, T], o old[ID, T], ok bool) {
	if s.Err() != nil {
		return nil, o, false
	}
	st = s.state.Load()
	// The tail becomes a run if it is full. It also does if more than half of its changes are of no
	// use any more: every search of the tail still has to skip them.
	if changes := int(st.Tail.Changes.Load()); changes == len(st.Tail.IDs) || changes-len(s.InTail) > max(LeastTail/2, len(s.InTail)) {
		s.flush()
		st = s.state.Load()
	}
	if o.ord, o.there = s.InTail[id]; o.there {
		return st, o, true
	}
	if id != id {
		return st, o, true
	}
	hash := s.IDs.hash(id)
	for i := len(st.Runs) - 1; i >= 0; i-- {
		ord, found, err := st.Runs[i].lookUp(id, hash, st.Runs[i].isAlive)
		if err != nil {
			s.Fail(err)
			return nil, o, false
		}
		if found {
			return st, old[ID, T]{true, st.Runs[i], ord}, true
		}
	}
	return st, o, true
}

// publish lets readers see change i of the tail, and with it the death of the old document. For a
// reader who does not see the change yet, the old document stays alive: deadBy and kills say by
// which change it died, and are written before the number of changes.
func (s *Store[ID, T]) publish(st *State[ID, T], i uint32, o old[ID, T]) {
	switch {
	case !o.there:
	case o.run == nil:
		st.Tail.deadBy[o.ord].Store(i + 1)
	default:
		st.Tail.kills[i].Store(o.run.name(o.ord))
		o.run.kill(o.ord)
	}
	st.Tail.Changes.Store(i + 1)
}

// Delete removes an id and reports whether it was there. After an error it does nothing.
func (s *Store[ID, T]) Delete(id ID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	return s.delete(id), s.Err()
}

// Get returns a copy of the words of the document with an id.
func (s *Store[ID, T]) Get(id ID) (e Entry[ID], ok bool, err error) {
	if id != id { // NaN: it can be added, but never be found again
		return e, false, s.Err()
	}
	// InTail belongs to the writers, and readers never wait for them. So Get goes through the tail
	// from its end.
	v := s.View()
	defer runtime.KeepAlive(v.State)
	for i := v.Changes; i > 0; i-- {
		if v.SeesTail(i-1) && v.Tail.IDs[i-1] == id {
			return Entry[ID]{id, slices.Clone(v.Tail.Doc(i - 1)), v.Tail.times[i-1]}, true, s.Err()
		}
	}
	hash := s.IDs.hash(id)
	for i := len(v.Runs) - 1; i >= 0; i-- {
		r := v.Runs[i]
		ord, ok, err := r.lookUp(id, hash, func(ord uint32) bool { return v.Sees(r, ord) })
		if err == nil && ok {
			e, err = r.entry(ord, id)
		}
		if err != nil {
			s.Fail(err)
			return Entry[ID]{}, false, s.Err()
		}
		if ok {
			e.Doc = slices.Clone(e.Doc)
			return e, true, s.Err()
		}
	}
	return Entry[ID]{}, false, s.Err()
}

// delete is Delete for callers that hold the lock. It reports false after an error, too.
func (s *Store[ID, T]) delete(id ID) bool {
	st, old, ok := s.locate(id)
	if !ok || !old.there {
		return false
	}
	if s.Files != nil && !s.logDelete(id) {
		return false
	}
	s.live.Add(-1)
	i := st.Tail.Changes.Load()
	st.Tail.deadBy[i].Store(i + 1) // so that nobody takes the change for an addition
	delete(s.InTail, id)
	s.publish(st, i, old)
	return true
}

// gather returns the living documents of some runs and of the tail, in the order of adding.
func (s *Store[ID, T]) gather(runs []*Run[ID, T]) Documents[ID] {
	n := len(s.InTail)
	for _, r := range runs {
		n += r.live
	}
	return s.collect(s.view(), runs, n)
}

// collect returns the living documents of some runs of a view and of its tail, in the order of
// adding. n is about how many there are.
func (s *Store[ID, T]) collect(v View[ID, T], runs []*Run[ID, T], n int) Documents[ID] {
	docs := NewDocuments[ID](s.Form.Words, n)
	for d := range s.each(v, runs) {
		docs.Add(d.Doc, d.ID, d.Time)
	}
	docs.join()
	return docs
}

// build makes a run with the next serial number. same says whether several documents may have the
// same id.
func (s *Store[ID, T]) build(docs Documents[ID], same bool) *Run[ID, T] {
	s.serial++
	return NewRun(docs, same, &s.IDs, s.serial, s.Form.Build)
}

// AddAll adds the documents that fill puts, and makes one run of everything that the store then
// has. If fill puts an id several times, the last document counts. If fill or the store has an
// error, or a document too many, the store stays as it was. With files, the run is a new snapshot,
// and all changes are on the disk when AddAll returns nil. fill runs while the store is locked.
func (s *Store[ID, T]) AddAll(fill func(put func(id ID, doc []uint64)) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	s.wait()
	if err := s.Err(); err != nil {
		return err
	}
	docs := s.gather(s.state.Load().Runs)
	seconds := max(s.seconds, s.clock())
	full := false
	err := fill(func(id ID, doc []uint64) {
		if full = full || len(docs.IDs) == MaxDocuments; !full {
			docs.Add(doc, id, seconds)
		}
	})
	if err == nil && full {
		err = errFull
	}
	if err != nil {
		return err
	}
	s.seconds = seconds
	return s.replace(context.Background(), docs, true)
}

// Compact makes one run of the store, unless the context ends between two steps, without the deleted documents. That form is searched fastest
// and takes the least memory. With files, the run is a new snapshot, and all changes are on the
// disk when Compact returns nil. If it fails, the store is as it was.
func (s *Store[ID, T]) Compact(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	return s.compact(ctx)
}

// compact is Compact for callers that hold the lock.
func (s *Store[ID, T]) compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.sync(); err != nil {
		return err
	}
	return s.replace(ctx, s.gather(s.state.Load().Runs), false)
}

// replace makes the given documents the only content of the store. same says whether several may
// have the same id.
func (s *Store[ID, T]) replace(ctx context.Context, docs Documents[ID], same bool) error {
	if err := cmp.Or(s.Err(), ctx.Err()); err != nil { // gather may have met damage: then docs are not complete
		return err
	}
	r := s.build(docs, same)
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.Files != nil {
		saved, err := s.save(r)
		if err != nil {
			return err
		}
		r = saved
	}
	s.merging = nil // what is being merged is of no use any more
	s.swap([]*Run[ID, T]{r}, LeastTail)
	s.live.Store(int64(r.live))
	return nil
}

// DeleteBefore removes everything that was added before a time, in whole seconds by the clock of
// this machine, and returns how many documents that was. Even if the clock was set back, a document
// never counts as added before an older one. DeleteBefore takes time for what it removes, not for
// the rest.
func (s *Store[ID, T]) DeleteBefore(t time.Time) (int, error) {
	return s.DeleteEach(func(d Entry[ID]) (bool, bool) {
		before := int64(d.Time) < t.Unix()
		return before, before
	})
}

// DeleteEach asks a rule about each document, in the order of adding. It removes the document if
// del is true, and stops before the first for which more is false. It returns how many it removed.
func (s *Store[ID, T]) DeleteEach(rule func(d Entry[ID]) (del, more bool)) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	n := 0
	v := s.view()
	for d := range s.each(v, v.Runs) {
		del, more := rule(d)
		if !more {
			break
		}
		if del && s.delete(d.ID) {
			n++
		}
	}
	return n, s.Err()
}

// Len returns the number of stored documents.
func (s *Store[ID, T]) Len() int { return int(s.live.Load()) }

// check panics if Init has not made the store, because the index is a zero value.
func (s *Store[ID, T]) check() {
	if s.state.Load() == nil {
		panic("neardup: an index that was not made by its New or Open function")
	}
}

// View returns the store as it is now. Whoever uses a view must keep its State alive
// ([runtime.KeepAlive]): the state holds the mapped file.
func (s *Store[ID, T]) View() View[ID, T] {
	s.check()
	return s.view()
}

func (s *Store[ID, T]) view() View[ID, T] { return viewOf(s.state.Load) }

// All yields all documents in the order of adding, as they are when the loop begins. Damage ends
// the loop early; Err has the error.
func (s *Store[ID, T]) All() iter.Seq[Entry[ID]] {
	return func(yield func(Entry[ID]) bool) {
		s.check()
		v := s.view()
		s.each(v, v.Runs)(yield)
	}
}

// Collect returns copies of all documents in the order of adding, and their ids.
func (s *Store[ID, T]) Collect() (Documents[ID], error) {
	s.check()
	v := s.view()
	docs := s.collect(v, v.Runs, s.Len())
	return docs, s.Err()
}

// An Entry is a stored document with its id and the time of its addition, in seconds since 1970.
// Doc belongs to the store and must not be changed.
type Entry[ID comparable] struct {
	ID   ID
	Doc  []uint64
	Time uint32
}

// entry returns a document of a run whose id is known, after checking what it reads of a mapped file.
func (r *Run[ID, T]) entry(ord uint32, id ID) (e Entry[ID], err error) {
	doc := r.Doc(ord)
	if err = r.File.Check(unsafe.Pointer(unsafe.SliceData(doc)), 8*len(doc)); err == nil {
		err = r.File.Check(unsafe.Pointer(&r.times[ord]), 4)
	}
	if err != nil {
		return e, err
	}
	return Entry[ID]{id, doc, r.times[ord]}, nil
}

// each yields the living entries of some runs of a view and of its tail, in the order of adding.
// It checks the parts of a mapped file that it reads. At damage it ends, and the error is in Err.
func (s *Store[ID, T]) each(v View[ID, T], runs []*Run[ID, T]) iter.Seq[Entry[ID]] {
	return func(yield func(Entry[ID]) bool) {
		defer runtime.KeepAlive(v.State)
		for _, r := range runs {
			for ord := range uint32(r.Len()) {
				if !v.Sees(r, ord) {
					continue
				}
				id, err := r.IDs.At(ord)
				var d Entry[ID]
				if err == nil {
					d, err = r.entry(ord, id)
				}
				if err != nil {
					s.Fail(err)
					return
				}
				if !yield(d) {
					return
				}
			}
		}
		t := v.Tail
		for i := range v.Changes {
			if v.SeesTail(i) && !yield(Entry[ID]{t.IDs[i], t.Doc(i), t.times[i]}) {
				return
			}
		}
	}
}

// Err returns the first error of a store with files, or nil. The error is damage that a search or a
// change came upon, or a file that could not be written. A search that meets damage ends early, so
// a caller who must not miss anything asks Err after it. After an error the store takes no more
// changes. Sync and Close still write the changes from before it.
func (s *Store[ID, T]) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Base returns the snapshot that Open found, or nil. It stays as it was, whatever changes.
func (s *Store[ID, T]) Base() *Run[ID, T] { return s.base }

// Identity returns what tells the snapshot in the files from all others; 0 if there is none.
func (s *Store[ID, T]) Identity() uint64 { return s.Files.last }

// LookUp returns the ordinal of the document with an id, dead or alive.
func (r *Run[ID, T]) LookUp(id ID, it *IDType[ID]) (ord uint32, ok bool, err error) {
	return r.lookUp(id, it.hash(id), func(uint32) bool { return true })
}

// Lost returns an error that says what of the journal was dropped by Open, or nil.
func (s *Store[ID, T]) Lost() error { return s.lost }

// Fail records an error, unless there was one before.
func (s *Store[ID, T]) Fail(err error) {
	err = fmt.Errorf("neardup: files: %w", err)
	s.err.CompareAndSwap(nil, &err)
}

// NewRunOf builds a run for a store. Tests use it, with SetRuns, to make states that are rare
// otherwise.
func NewRunOf[ID comparable, T Finder](s *Store[ID, T], docs Documents[ID]) *Run[ID, T] {
	return s.build(docs, false)
}

// SetRuns makes the runs, and an empty tail, the whole store. It is for tests.
func SetRuns[ID comparable, T Finder](s *Store[ID, T], runs ...*Run[ID, T]) {
	s.merging = nil
	s.swap(runs, LeastTail)
}
