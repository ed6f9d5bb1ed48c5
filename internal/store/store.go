package store

import (
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

// A Store is what indexes keep their documents in: some words for each, a fingerprint,
// a signature or a vector, under the caller's ids. It is immutable runs, each with a finder, and a tail
// of the last changes (run.go), in memory or in files (storefile.go).
type Store[ID comparable, T Finder] struct {
	Form  Form[T]
	IDs   IDType[ID]
	state atomic.Pointer[State[ID, T]]
	live  atomic.Int64
	err   atomic.Pointer[error]

	mu      sync.Mutex // of those that change it
	InTail  map[ID]uint32
	serial  uint32
	Now     func() time.Time
	seconds uint32 // of the last addition
	Files   *storeFiles
}

// A Form says what the documents of a store are, and how they are found.
type Form[T Finder] struct {
	Kind     string                    // of its files
	Again    string                    // what to do when they are of another version
	Words    int                       // of a document; 0: they differ in length
	TailSize func(live int) int        // changes that a tail takes
	Build    func(docs Column) T       // of a run
	Tail     func(size int) TailFinder // may be nil
	Read     func(f *format.Reader) T  // the inverse of finder.write
	Check    func(doc []uint64) error  // whether words from a journal are a document; nil: all are
}

// columns returns the number of columns of a snapshot.
func (f *Form[T]) columns() int {
	if f.Words == 0 {
		return columnCount
	}
	return FixedColumns
}

func (f *Form[T]) journalKind() string { return f.Kind + "-journal" }

// A Finder finds the documents of a run.
type Finder interface {
	Bytes() int

	// Write writes records to a file, and columns returns what else it is made of.
	Write(f *format.Writer)
	Columns() FinderColumns[[][]byte]

	// Attach completes a finder that was read from a file: by the documents of the run, and
	// by the columns.
	Attach(docs Column, file *Mapping, columns FinderColumns[[]byte]) error
}

// FinderColumns are what a finder has besides its records, each of them numbers of 32 bits.
type FinderColumns[T any] [5]T

// A TailFinder finds the documents of a tail.
type TailFinder interface {
	Add(i uint32, doc []uint64)
}

func Init[ID comparable, T Finder](s *Store[ID, T], f Form[T]) {
	s.Form, s.IDs, s.Now = f, IDTypeOf[ID](), time.Now
	s.swap(nil, LeastTail)
}

// LeastTail is the size of a tail when nothing is known of how many changes will come.
const LeastTail = 512

// swap makes runs and an empty tail, of at most so many changes, the state.
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

// clock returns the time in seconds since 1970, as far as 32 bits go.
func (s *Store[ID, T]) clock() uint32 {
	return uint32(min(max(s.Now().Unix(), 0), math.MaxUint32))
}

// Lock keeps other changes out until Unlock. Add needs it.
func (s *Store[ID, T]) Lock() { s.mu.Lock() }

// Unlock is the opposite of Lock.
func (s *Store[ID, T]) Unlock() { s.mu.Unlock() }

// Add stores a document under an id, in place of any other. The caller holds the lock.
func (s *Store[ID, T]) Add(id ID, doc []uint64) error {
	s.check()
	return s.add(id, doc, s.clock())
}

// errFull is the error of a store that has as many documents as it can number.
var errFull = fmt.Errorf("neardup: an index holds at most %d documents", MaxDocuments)

func (s *Store[ID, T]) add(id ID, doc []uint64, seconds uint32) error {
	st, old, ok := s.locate(id)
	if !ok {
		return s.Err()
	}
	if !old.there && s.Len() == MaxDocuments {
		return errFull
	}
	s.seconds = max(s.seconds, seconds) // in the order of adding, whatever the clock does
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

const MaxDocuments = 1 << 30

// An old document is to be deleted, if it is there.
type old[ID comparable, T Finder] struct {
	there bool
	run   *Run[ID, T] // nil: of the tail
	ord   uint32
}

// locate looks for an id, and makes room in the tail. It returns false after an error.
func (s *Store[ID, T]) locate(id ID) (st *State[ID, T], o old[ID, T], ok bool) {
	if s.Err() != nil {
		return nil, o, false
	}
	st = s.state.Load()
	// What was replaced or deleted is in the way of every search in the tail.
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

// publish makes change i of the tail seen, by which an old document dies.
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
func (s *Store[ID, T]) Get(id ID) (doc []uint64, ok bool, err error) {
	if id != id { // not a number: it can be added, but never be found again
		return nil, false, s.Err()
	}
	// Readers never wait for writers, so they do not use the table of the tail, but go through it
	// from its end.
	v := s.View()
	defer runtime.KeepAlive(v.State)
	for i := v.Changes; i > 0; i-- {
		if v.SeesTail(i-1) && v.Tail.IDs[i-1] == id {
			return slices.Clone(v.Tail.Doc(i - 1)), true, nil
		}
	}
	hash := s.IDs.hash(id)
	for i := len(v.Runs) - 1; i >= 0; i-- {
		r := v.Runs[i]
		ord, ok, err := r.lookUp(id, hash, func(ord uint32) bool { return v.Sees(r, ord) })
		if err == nil && ok {
			doc = r.Doc(ord)
			err = r.File.Check(unsafe.Pointer(unsafe.SliceData(doc)), 8*len(doc))
		}
		if err != nil {
			s.Fail(err)
			return nil, false, s.Err()
		}
		if ok {
			return slices.Clone(doc), true, nil
		}
	}
	return nil, false, s.Err()
}

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
	st.Tail.deadBy[i].Store(i + 1) // no addition
	delete(s.InTail, id)
	s.publish(st, i, old)
	return true
}

// flush makes a run of the tail. Runs grow by eights: all that are together no larger
// than the next size are made one, and so are all behind one of which most died.
func (s *Store[ID, T]) flush() {
	st := s.state.Load()
	added := len(s.InTail)
	total := added
	first := len(st.Runs) // of those to be made one
	for size := 8 * max(added, LeastTail/4); ; size *= 8 {
		for first > 0 && st.Runs[first-1].live <= size && st.Runs[first-1].File == nil {
			first--
			total += st.Runs[first].live
		}
		if total <= size || first == 0 || st.Runs[first-1].File != nil {
			break
		}
	}
	for i, r := range st.Runs[:first] { // nor is any kept that is mostly dead
		if r.File == nil && r.live < r.Len()/2 {
			first = i
			break
		}
	}
	runs := slices.Clone(st.Runs[:first])
	if docs := s.gather(st.Runs[first:]); len(docs.IDs) > 0 {
		runs = append(runs, s.build(docs, false))
	}
	s.swap(runs, 4*max(added, LeastTail/4))
}

// gather returns the documents of some runs and the tail.
func (s *Store[ID, T]) gather(runs []*Run[ID, T]) Documents[ID] {
	n := len(s.InTail)
	for _, r := range runs {
		n += r.live
	}
	return s.collect(s.state.Load(), runs, n)
}

// collect returns the documents of some runs of a state and of its tail, about n.
func (s *Store[ID, T]) collect(st *State[ID, T], runs []*Run[ID, T], n int) Documents[ID] {
	docs := NewDocuments[ID](s.Form.Words, n)
	for d := range s.each(st, runs) {
		docs.Add(d.Doc, d.ID, d.Time)
	}
	return docs
}

// build makes a run. same says whether documents may have the same id.
func (s *Store[ID, T]) build(docs Documents[ID], same bool) *Run[ID, T] {
	s.serial++
	return NewRun(docs, same, &s.IDs, s.serial, s.Form.Build)
}

// AddAll adds the documents that fill puts, and builds one run of all that the store has then.
// If fill returns an error, or the store has one, it is as it was.
func (s *Store[ID, T]) AddAll(fill func(put func(id ID, doc []uint64)) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
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
	return s.replace(docs, true)
}

// Compact builds the index again as one part, without what was deleted: the form that
// is searched fastest and takes least memory. If the index was opened that is a new
// snapshot, and all changes are on the disk then. If it fails the index is as it was.
func (s *Store[ID, T]) Compact() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	return s.compact()
}

func (s *Store[ID, T]) compact() error {
	if err := s.sync(); err != nil {
		return err
	}
	return s.replace(s.gather(s.state.Load().Runs), false)
}

// replace makes documents all that the store has. same says whether they may have the same
// id.
func (s *Store[ID, T]) replace(docs Documents[ID], same bool) error {
	if err := s.Err(); err != nil { // met by gather
		return err
	}
	r := s.build(docs, same)
	if s.Files != nil {
		saved, err := s.save(r)
		if err != nil {
			return err
		}
		r = saved
	}
	s.swap([]*Run[ID, T]{r}, LeastTail)
	s.live.Store(int64(r.live))
	return nil
}

// DeleteBefore removes everything that was added before a time, in whole seconds, by the
// clock of this machine, and returns how much that was. Whatever the clock did, nothing
// counts as added before what is older. It takes time for what it removes.
func (s *Store[ID, T]) DeleteBefore(t time.Time) (int, error) {
	return s.DeleteEach(func(d Entry[ID]) (bool, bool) {
		before := int64(d.Time) < t.Unix()
		return before, before
	})
}

// DeleteEach removes what a rule says, in the order of adding, as long as it says to go on.
func (s *Store[ID, T]) DeleteEach(rule func(d Entry[ID]) (del, more bool)) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	n := 0
	st := s.state.Load()
	for d := range s.each(st, st.Runs) {
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

// check panics if the store is that of an index that was not made by its constructor.
func (s *Store[ID, T]) check() {
	if s.state.Load() == nil {
		panic("neardup: an index that was not made by its New or Open function")
	}
}

// View returns the store as it is now.
func (s *Store[ID, T]) View() View[ID, T] {
	s.check()
	return s.state.Load().view()
}

// All yields all documents in the order of adding. An error ends it; ask Err.
func (s *Store[ID, T]) All() iter.Seq[Entry[ID]] {
	return func(yield func(Entry[ID]) bool) {
		s.check()
		st := s.state.Load()
		s.each(st, st.Runs)(yield)
	}
}

// Collect returns copies of all documents in the order of adding, and their ids.
func (s *Store[ID, T]) Collect() (Documents[ID], error) {
	s.check()
	st := s.state.Load()
	docs := s.collect(st, st.Runs, s.Len())
	return docs, s.Err()
}

// An Entry is a stored document.
type Entry[ID comparable] struct {
	ID   ID
	Doc  []uint64
	Time uint32
}

// each yields the entries of some runs of a state and of its tail, in the order of adding.
func (s *Store[ID, T]) each(st *State[ID, T], runs []*Run[ID, T]) iter.Seq[Entry[ID]] {
	return func(yield func(Entry[ID]) bool) {
		defer runtime.KeepAlive(st)
		v := st.view()
		for _, r := range runs {
			for ord := range uint32(r.Len()) {
				if !v.Sees(r, ord) {
					continue
				}
				d := Entry[ID]{Doc: r.Doc(ord)}
				var err error
				if d.ID, err = r.IDs.At(ord); err == nil {
					err = r.File.Check(unsafe.Pointer(unsafe.SliceData(d.Doc)), 8*len(d.Doc))
				}
				if err == nil {
					err = r.File.Check(unsafe.Pointer(&r.times[ord]), 4)
				}
				if err != nil {
					s.Fail(err)
					return
				}
				d.Time = r.times[ord]
				if !yield(d) {
					return
				}
			}
		}
		t := st.Tail
		for i := range v.Changes {
			if v.SeesTail(i) && !yield(Entry[ID]{t.IDs[i], t.Doc(i), t.times[i]}) {
				return
			}
		}
	}
}

// Err returns the first error of an index that was opened, or nil: damage that a search
// or a change came upon, or a file that could not be written. A search that meets damage
// ends, so whoever must not miss anything asks Err after it. From then on nothing is
// changed any more; what was changed before is still written by Sync and Close.
func (s *Store[ID, T]) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *Store[ID, T]) Fail(err error) {
	err = fmt.Errorf("neardup: index: %w", err)
	s.err.CompareAndSwap(nil, &err)
}

// NewRunOf builds a run for a store, and SetRuns makes runs all that a store has: with them tests make
// states that are rare otherwise.
func NewRunOf[ID comparable, T Finder](s *Store[ID, T], docs Documents[ID]) *Run[ID, T] {
	return s.build(docs, false)
}

// SetRuns makes runs all that a store has.
func SetRuns[ID comparable, T Finder](s *Store[ID, T], runs ...*Run[ID, T]) { s.swap(runs, LeastTail) }
