package neardup

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
)

// A store is what indexes keep their documents in: some words for each, a fingerprint,
// a signature or a vector, under the caller's ids. It is immutable runs, each with a finder, and a tail
// of the last changes (run.go), in memory or in files (storefile.go).
type store[ID comparable, T finder] struct {
	form  form[T]
	ids   idType[ID]
	state atomic.Pointer[state[ID, T]]
	live  atomic.Int64
	err   atomic.Pointer[error]

	mu      sync.Mutex // of those that change it
	inTail  map[ID]uint32
	serial  uint32
	now     func() time.Time
	seconds uint32 // of the last addition
	files   *storeFiles
}

// A form says what the documents of a store are, and how they are found.
type form[T finder] struct {
	kind     string                    // of its files
	again    string                    // what to do when they are of another version
	words    int                       // of a document; 0: they differ in length
	tailSize func(live int) int        // changes that a tail takes
	build    func(docs docColumn) T    // of a run
	tail     func(size int) tailFinder // may be nil
	read     func(f *fileReader) T     // the inverse of finder.write
	check    func(doc []uint64) error  // whether words from a journal are a document; nil: all are
}

// columns returns the number of columns of a snapshot.
func (f *form[T]) columns() int {
	if f.words == 0 {
		return columnCount
	}
	return fixedColumns
}

func (f *form[T]) journalKind() string { return f.kind + "-journal" }

// A finder finds the documents of a run.
type finder interface {
	bytes() int

	// write writes records to a file, and columns returns what else it is made of.
	write(f *fileWriter)
	columns() finderColumns[[][]byte]

	// attach completes a finder that was read from a file: by the documents of the run, and
	// by the columns.
	attach(docs docColumn, file *mapping, columns finderColumns[[]byte]) error
}

// finderColumns are what a finder has besides its records, each of them numbers of 32 bits.
type finderColumns[T any] [5]T

// A tailFinder finds the documents of a tail.
type tailFinder interface {
	add(i uint32, doc []uint64)
}

func newStore[ID comparable, T finder](s *store[ID, T], f form[T]) {
	s.form, s.ids, s.now = f, idTypeOf[ID](), time.Now
	s.swap(nil, leastTail)
}

// leastTail is the size of a tail when nothing is known of how many changes will come.
const leastTail = 512

// swap makes runs and an empty tail, of at most so many changes, the state.
func (s *store[ID, T]) swap(runs []*run[ID, T], most int) {
	live := 0
	for _, r := range runs {
		live += r.live
	}
	size := min(most, s.form.tailSize(live))
	next := &state[ID, T]{runs: runs, tail: newTail[ID](size, s.form.words)}
	if s.form.tail != nil {
		next.tail.find = s.form.tail(size)
	}
	if old := s.state.Load(); old != nil {
		old.tail.next.Store(next.tail.changeLog)
	}
	s.state.Store(next)
	s.inTail = make(map[ID]uint32)
}

// clock returns the time in seconds since 1970, as far as 32 bits go.
func (s *store[ID, T]) clock() uint32 {
	return uint32(min(max(s.now().Unix(), 0), math.MaxUint32))
}

func (s *store[ID, T]) add(id ID, doc []uint64, seconds uint32) {
	st, old, ok := s.locate(id)
	if !ok {
		return
	}
	if !old.there && s.Len() == maxDocuments {
		panic(fmt.Sprintf("neardup: more than %d documents in an index", maxDocuments))
	}
	s.seconds = max(s.seconds, seconds) // in the order of adding, whatever the clock does
	t := st.tail
	i := t.changes.Load()
	if s.files != nil && !s.logAdd(id, doc, s.seconds) {
		return
	}
	if !old.there {
		s.live.Add(1)
	}
	t.setDoc(i, doc)
	t.ids[i] = id
	t.times[i] = s.seconds
	if t.find != nil {
		t.find.add(i, doc)
	}
	s.inTail[id] = i
	s.publish(st, i, old)
}

const maxDocuments = 1 << 30

// An old document is to be deleted, if it is there.
type old[ID comparable, T finder] struct {
	there bool
	run   *run[ID, T] // nil: of the tail
	ord   uint32
}

// locate looks for an id, and makes room in the tail. It returns false after an error.
func (s *store[ID, T]) locate(id ID) (st *state[ID, T], o old[ID, T], ok bool) {
	if s.Err() != nil {
		return nil, o, false
	}
	st = s.state.Load()
	// What was replaced or deleted is in the way of every search in the tail.
	if changes := int(st.tail.changes.Load()); changes == len(st.tail.ids) || changes-len(s.inTail) > max(leastTail/2, len(s.inTail)) {
		s.flush()
		st = s.state.Load()
	}
	if o.ord, o.there = s.inTail[id]; o.there {
		return st, o, true
	}
	if id != id {
		return st, o, true
	}
	hash := s.ids.hash(id)
	for i := len(st.runs) - 1; i >= 0; i-- {
		ord, found, err := st.runs[i].lookUp(id, hash)
		if err != nil {
			s.fail(err)
			return nil, o, false
		}
		if found {
			return st, old[ID, T]{true, st.runs[i], ord}, true
		}
	}
	return st, o, true
}

// publish makes change i of the tail seen, by which an old document dies.
func (s *store[ID, T]) publish(st *state[ID, T], i uint32, o old[ID, T]) {
	switch {
	case !o.there:
	case o.run == nil:
		st.tail.deadBy[o.ord].Store(i + 1)
	default:
		st.tail.kills[i].Store(o.run.name(o.ord))
		o.run.kill(o.ord)
	}
	st.tail.changes.Store(i + 1)
}

// Delete removes an id and reports whether it was there. After an error (see Err) it does
// nothing.
func (s *store[ID, T]) Delete(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delete(id)
}

func (s *store[ID, T]) delete(id ID) bool {
	st, old, ok := s.locate(id)
	if !ok || !old.there {
		return false
	}
	if s.files != nil && !s.logDelete(id) {
		return false
	}
	s.live.Add(-1)
	i := st.tail.changes.Load()
	st.tail.deadBy[i].Store(i + 1) // no addition
	delete(s.inTail, id)
	s.publish(st, i, old)
	return true
}

// flush makes a run of the tail. Runs grow by eights: all that are together no larger
// than the next size are made one, and so are all behind one of which most died.
func (s *store[ID, T]) flush() {
	st := s.state.Load()
	added := len(s.inTail)
	total := added
	first := len(st.runs) // of those to be made one
	for size := 8 * max(added, leastTail/4); ; size *= 8 {
		for first > 0 && st.runs[first-1].live <= size && st.runs[first-1].file == nil {
			first--
			total += st.runs[first].live
		}
		if total <= size || first == 0 || st.runs[first-1].file != nil {
			break
		}
	}
	for i, r := range st.runs[:first] { // nor is any kept that is mostly dead
		if r.file == nil && r.live < r.len()/2 {
			first = i
			break
		}
	}
	runs := slices.Clone(st.runs[:first])
	if docs := s.gather(st.runs[first:]); len(docs.ids) > 0 {
		runs = append(runs, s.build(docs, false))
	}
	s.swap(runs, 4*max(added, leastTail/4))
}

// gather returns the documents of some runs and the tail.
func (s *store[ID, T]) gather(runs []*run[ID, T]) documents[ID] {
	n := len(s.inTail)
	for _, r := range runs {
		n += r.live
	}
	return s.documents(s.state.Load(), runs, n)
}

// documents returns the documents of some runs of a state and of its tail, about n.
func (s *store[ID, T]) documents(st *state[ID, T], runs []*run[ID, T], n int) documents[ID] {
	docs := newDocuments[ID](s.form.words, n)
	for d := range s.each(st, runs) {
		docs.add(d.doc, d.id, d.time)
	}
	return docs
}

// build makes a run. same says whether documents may have the same id.
func (s *store[ID, T]) build(docs documents[ID], same bool) *run[ID, T] {
	s.serial++
	return newRun(docs, same, &s.ids, s.serial, s.form.build)
}

// addAll adds what fill adds to documents, which are given a time.
func (s *store[ID, T]) addAll(fill func(docs *documents[ID], seconds uint32)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	docs := s.gather(s.state.Load().runs)
	s.seconds = max(s.seconds, s.clock())
	fill(&docs, s.seconds)
	return s.replace(docs, true)
}

// Compact builds the index again as one part, without what was deleted: the form that
// is searched fastest and takes least memory. If the index was opened that is a new
// snapshot, and all changes are on the disk then. If it fails the index is as it was.
func (s *store[ID, T]) Compact() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compact()
}

func (s *store[ID, T]) compact() error {
	if err := s.sync(); err != nil {
		return err
	}
	return s.replace(s.gather(s.state.Load().runs), false)
}

// replace makes documents all that the store has. same says whether they may have the same
// id.
func (s *store[ID, T]) replace(docs documents[ID], same bool) error {
	if err := s.Err(); err != nil { // met by gather
		return err
	}
	r := s.build(docs, same)
	if s.files != nil {
		saved, err := s.save(r)
		if err != nil {
			return err
		}
		r = saved
	}
	s.swap([]*run[ID, T]{r}, leastTail)
	s.live.Store(int64(r.live))
	return nil
}

// DeleteBefore removes everything that was added before a time, in whole seconds, by the
// clock of this machine, and returns how much that was. Whatever the clock did, nothing
// counts as added before what is older. It takes time for what it removes.
func (s *store[ID, T]) DeleteBefore(t time.Time) int {
	return s.deleteEach(func(d entry[ID]) (bool, bool) {
		before := int64(d.time) < t.Unix()
		return before, before
	})
}

// deleteEach removes what a rule says, in the order of adding, as long as it says to go on.
func (s *store[ID, T]) deleteEach(rule func(d entry[ID]) (del, more bool)) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	st := s.state.Load()
	for d := range s.each(st, st.runs) {
		del, more := rule(d)
		if !more {
			break
		}
		if del && s.delete(d.id) {
			n++
		}
	}
	return n
}

// Len returns the number of stored documents.
func (s *store[ID, T]) Len() int { return int(s.live.Load()) }

// An entry is a stored document.
type entry[ID comparable] struct {
	id   ID
	doc  []uint64
	time uint32
}

// each yields the entries of some runs of a state and of its tail, in the order of adding.
func (s *store[ID, T]) each(st *state[ID, T], runs []*run[ID, T]) iter.Seq[entry[ID]] {
	return func(yield func(entry[ID]) bool) {
		defer runtime.KeepAlive(st)
		v := st.view()
		for _, r := range runs {
			for ord := range uint32(r.len()) {
				if !v.sees(r, ord) {
					continue
				}
				d := entry[ID]{doc: r.doc(ord)}
				var err error
				if d.id, err = r.ids.at(ord); err == nil {
					err = r.file.check(unsafe.Pointer(unsafe.SliceData(d.doc)), 8*len(d.doc))
				}
				if err == nil {
					err = r.file.check(unsafe.Pointer(&r.times[ord]), 4)
				}
				if err != nil {
					s.fail(err)
					return
				}
				d.time = r.times[ord]
				if !yield(d) {
					return
				}
			}
		}
		t := st.tail
		for i := range v.changes {
			if v.seesTail(i) && !yield(entry[ID]{t.ids[i], t.doc(i), t.times[i]}) {
				return
			}
		}
	}
}

// Err returns the first error of an index that was opened, or nil: damage that a search
// or a change came upon, or a file that could not be written. A search that meets damage
// ends, so whoever must not miss anything asks Err after it. From then on nothing is
// changed any more; what was changed before is still written by Sync and Close.
func (s *store[ID, T]) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *store[ID, T]) fail(err error) {
	err = fmt.Errorf("neardup: index: %w", err)
	s.err.CompareAndSwap(nil, &err)
}
