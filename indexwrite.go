package neardup

import (
	"iter"
	"math"
	"slices"
	"time"
)

// Add stores a fingerprint under an id. If the id is known, its fingerprint is
// replaced, and counts as added now. After an error ([Index.Err]) it does nothing.
func (ix *Index[ID, F]) Add(id ID, fp F) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.add(id, fp, ix.clock())
}

// clock returns the time in seconds since 1970, as far as 32 bits go.
func (ix *Index[ID, F]) clock() uint32 {
	return uint32(min(max(ix.now().Unix(), 0), math.MaxUint32))
}

func (ix *Index[ID, F]) add(id ID, fp F, seconds uint32) {
	st, old, ok := ix.locate(id)
	if !ok {
		return
	}
	if !old.there && ix.Len() == maxFingerprints {
		panic("neardup: Index.Add: more than 2³⁰ fingerprints")
	}
	ix.seconds = max(ix.seconds, seconds) // in the order of adding, whatever the clock does
	t := st.tail
	i := t.changes.Load()
	words := ix.words()
	stored := t.fps[int(i)*words:][:words]
	if stored[0], _ = split(fp); words == 2 {
		_, stored[1] = split(fp)
	}
	if ix.files != nil && !ix.logAdd(id, stored, ix.seconds) {
		return
	}
	if !old.there {
		ix.live.Add(1)
	}
	t.ids[i] = id
	t.times[i] = ix.seconds
	ix.inTail[id] = i
	ix.publish(st, i, old)
}

const maxFingerprints = 1 << 30

// An old document is to be deleted, if it is there.
type old[ID comparable] struct {
	there bool
	run   *run[ID] // nil: of the tail
	ord   uint32
}

// locate looks for an id, and makes room in the tail. It returns false after an error.
func (ix *Index[ID, F]) locate(id ID) (st *state[ID], o old[ID], ok bool) {
	if ix.Err() != nil {
		return nil, o, false
	}
	st = ix.state.Load()
	if st.tail.changes.Load() == tailSize {
		ix.flush()
		st = ix.state.Load()
	}
	if o.ord, o.there = ix.inTail[id]; o.there {
		return st, o, true
	}
	if id != id {
		return st, o, true
	}
	hash := ix.ids.hash(id)
	for i := len(st.runs) - 1; i >= 0; i-- {
		ord, found, err := st.runs[i].find(id, hash)
		if err != nil {
			ix.fail(err)
			return nil, o, false
		}
		if found {
			return st, old[ID]{true, st.runs[i], ord}, true
		}
	}
	return st, o, true
}

// publish makes change i of the tail seen, by which an old document dies.
func (ix *Index[ID, F]) publish(st *state[ID], i uint32, o old[ID]) {
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

// Delete removes an id and reports whether it was there. After an error ([Index.Err]) it does
// nothing.
func (ix *Index[ID, F]) Delete(id ID) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.delete(id)
}

func (ix *Index[ID, F]) delete(id ID) bool {
	st, old, ok := ix.locate(id)
	if !ok || !old.there {
		return false
	}
	if ix.files != nil && !ix.logDelete(id) {
		return false
	}
	ix.live.Add(-1)
	i := st.tail.changes.Load()
	st.tail.deadBy[i].Store(i + 1) // no addition
	delete(ix.inTail, id)
	ix.publish(st, i, old)
	return true
}

// flush makes a run of the tail. Runs grow by eights: all that are together no larger
// than the next size are made one.
func (ix *Index[ID, F]) flush() {
	st := ix.state.Load()
	total := len(ix.inTail)
	first := len(st.runs) // of those to be made one
	for size := 8 * tailSize; ; size *= 8 {
		for first > 0 && st.runs[first-1].live <= size && st.runs[first-1].tree.file == nil {
			first--
			total += st.runs[first].live
		}
		if total <= size || first == 0 || st.runs[first-1].tree.file != nil {
			break
		}
	}
	runs := slices.Clone(st.runs[:first])
	if docs := ix.gather(st.runs[first:]); len(docs.ids) > 0 {
		runs = append(runs, ix.build(docs, false))
	}
	ix.swap(runs)
}

// gather returns the documents of some runs and the tail.
func (ix *Index[ID, F]) gather(runs []*run[ID]) documents[ID] {
	n := len(ix.inTail)
	for _, r := range runs {
		n += r.live
	}
	docs := documents[ID]{make([]uint64, 0, n*ix.words()), make([]ID, 0, n), make([]uint32, 0, n)}
	for d := range ix.each(ix.state.Load(), runs) {
		docs.add(d.lo, d.hi, d.id, d.time, ix.words())
	}
	return docs
}

// build makes a run. same says whether documents may have the same id.
func (ix *Index[ID, F]) build(docs documents[ID], same bool) *run[ID] {
	ix.serial++
	return newRun(docs, same, &ix.ids, ix.serial, func(fps []uint64) *tree {
		return newTree(ix.words(), fps, ix.distance, ix.tables, ix.blocks)
	})
}

// AddAll adds many fingerprints, as if one by one, but all of them are seen at once. It
// builds the index again with them, like [Index.Compact], which takes much less time than
// adding each, if they are more than some hundredth of what is stored. An index that was
// opened has them on the disk then; after an error it is as it was. The sequence must not
// change the index.
func (ix *Index[ID, F]) AddAll(fingerprints iter.Seq2[ID, F]) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.Err(); err != nil {
		return err
	}
	docs := ix.gather(ix.state.Load().runs)
	ix.seconds = max(ix.seconds, ix.clock())
	for id, fp := range fingerprints {
		lo, hi := split(fp)
		docs.add(lo, hi, id, ix.seconds, ix.words())
		if len(docs.ids) > maxFingerprints {
			panic("neardup: Index.AddAll: more than 2³⁰ fingerprints")
		}
	}
	return ix.replace(docs, true)
}

// Compact builds the index again as one part, without what was deleted: the form that
// is searched fastest and takes least memory. If the index was opened that is a new
// snapshot, and all changes are on the disk then. If it fails the index is as it was.
func (ix *Index[ID, F]) Compact() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.compact()
}

func (ix *Index[ID, F]) compact() error {
	if err := ix.sync(); err != nil {
		return err
	}
	return ix.replace(ix.gather(ix.state.Load().runs), false)
}

// replace makes documents all that the index has. same says whether they may have the same
// id.
func (ix *Index[ID, F]) replace(docs documents[ID], same bool) error {
	if err := ix.Err(); err != nil { // met by gather
		return err
	}
	r := ix.build(docs, same)
	if ix.files != nil {
		saved, err := ix.save(r)
		if err != nil {
			return err
		}
		r = saved
	}
	ix.swap([]*run[ID]{r})
	ix.live.Store(int64(r.live))
	return nil
}

// SearchAndAdd is [Index.Search] and [Index.Add] in one: it returns what is known within
// the distance of fp, and stores it, as S003 does with every new row (§2.3). Of two that
// come at the same time one finds the other. What was stored under the id is replaced and
// not returned. The nearest come first, and of equally near ones those added first.
func (ix *Index[ID, F]) SearchAndAdd(id ID, fp F) []Match[ID] {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	found := ix.matches(fp, ix.distance, &id)
	ix.add(id, fp, ix.clock())
	return found
}

// ExistsAndAdd is SearchAndAdd for those who only want to know whether anything is known
// within the distance. It stops at the first.
func (ix *Index[ID, F]) ExistsAndAdd(id ID, fp F) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	exists := false
	for m := range ix.Search(fp) {
		if m.ID != id {
			exists = true
			break
		}
	}
	ix.add(id, fp, ix.clock())
	return exists
}

// DeleteFunc removes everything for which del returns true, and returns how much that
// was. added is when it was added, in whole seconds, by the clock of this machine, but never
// before what was added earlier. del must not change the index. It
// takes time for all that is stored.
func (ix *Index[ID, F]) DeleteFunc(del func(id ID, fp F, added time.Time) bool) int {
	return ix.deleteEach(func(d entry[ID]) (bool, bool) {
		return del(d.id, fromWords[F](d.lo, d.hi), time.Unix(int64(d.time), 0)), true
	})
}

// DeleteBefore removes everything that was added before a time, in whole seconds, and
// returns how much that was. See [Index.DeleteFunc] for when that is. It takes time for
// what it removes.
func (ix *Index[ID, F]) DeleteBefore(t time.Time) int {
	return ix.deleteEach(func(d entry[ID]) (bool, bool) {
		before := int64(d.time) < t.Unix()
		return before, before
	})
}

// deleteEach removes what a rule says, in the order of adding, as long as it says to go on.
func (ix *Index[ID, F]) deleteEach(rule func(d entry[ID]) (del, more bool)) int {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	n := 0
	st := ix.state.Load()
	for d := range ix.each(st, st.runs) {
		del, more := rule(d)
		if !more {
			break
		}
		if del && ix.delete(d.id) {
			n++
		}
	}
	return n
}
