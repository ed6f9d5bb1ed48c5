package passages

import (
	"sync/atomic"

	"github.com/neardup/neardup/internal/parallel"
)

// This file has the first steps of a join (join.go): which anchors occur twice, and the grams near them.

// bitset is a set of numbers, for several goroutines.
type bitset []atomic.Uint64

func (b bitset) add(i uint64)      { b[i/64].Or(1 << (i % 64)) }
func (b bitset) has(i uint64) bool { return b[i/64].Load()>>(i%64)&1 != 0 }

// repeated begins a join: it takes a snapshot, and returns the numbers of the anchors that occur twice in it.
//
// It holds the lock of the anchors until they are sorted, since a sorter must not change while it is read. From
// then on the join needs only the snapshot. The snapshot is taken under that lock, so that the sorter has the
// anchors of exactly these documents.
func (f *Finder[ID]) repeated(j *join[ID]) bitset {
	f.adding.RLock()
	defer f.adding.RUnlock()
	j.snapshot = f.snapshot()
	end := j.docs[len(j.ids)].anchors // those from there on are of a document that could not be added
	twice := make(bitset, end/64+1)
	eachPart(j, "sorting", f.anchors, func(part int) {
		var last [2]uint64
		isFirst := true
		for a := range f.anchors.sorted(part) {
			if a[1] >= end {
				continue
			}
			if !isFirst && a[0] == last[0] {
				twice.add(a[1])
				twice.add(last[1])
			}
			last, isFirst = a, false
		}
	})
	return twice
}

// hasAny reports whether the set has any number in from..to−1. It looks at 64 numbers at a time, since most texts
// have no anchor that occurs twice.
func (b bitset) hasAny(from, to uint64) bool {
	for ; from < to && from%64 != 0; from++ {
		if b.has(from) {
			return true
		}
	}
	for ; from+64 <= to; from += 64 {
		if b[from/64].Load() != 0 {
			return true
		}
	}
	for ; from < to; from++ {
		if b.has(from) {
			return true
		}
	}
	return false
}

// A scanner reads texts for one goroutine. Its memory is used for one text after another.
type scanner struct {
	tokenized
	doc     int // the one that was read with places; -1 for none
	anchors []anchor
	ends    []uint32
	buf     []byte
	found   [][4]uint64
	emit    func([][4]uint64) bool
}

// put emits a record. It collects 16,384 of them first, because each emit may wait for the goroutine that takes.
func (s *scanner) put(r [4]uint64) {
	if s.found = append(s.found, r); len(s.found) == 1<<14 {
		s.flush()
	}
}

func (s *scanner) flush() {
	s.emit(s.found)
	s.found = nil // the records belong to the goroutine that takes them now
}

// inOrder calls read for jobs of documents, on all processors, and take with the records that it puts, in
// order and on one goroutine. So take may add to a sorter, and places reach it in ascending order whatever
// the number of processors.
func (j *join[ID]) inOrder(stage string, jobs int, read func(s *scanner, job int), take func([4]uint64) error) {
	j.done = 0
	parallel.InOrder(jobs, func() *scanner { return &scanner{doc: -1} }, func(s *scanner, job int, emit func([][4]uint64) bool) {
		if !j.failed() {
			s.emit = emit
			read(s, job)
			s.flush()
		}
		j.tell(stage, jobs)
	}, func(records [][4]uint64) bool {
		for _, r := range records {
			if err := take(r); err != nil {
				j.fail(err)
				return false
			}
		}
		return true
	})
	if err := j.file.Err(); err != nil {
		j.fail(err)
	}
}

// grams returns the grams that may occur twice, by key. A record has the upper half of the key; then 24 more
// bits of it, and the number of the first token in the other 40; then the upper halves of the keys of the gram
// before and of the next one, or 0 where there is none. So 88 bits decide whether two grams are equal.
func (j *join[ID]) grams(twice bitset) *sorter[[4]uint64] {
	all := newSorter[[4]uint64](j.share())
	if j.failed() {
		return all
	}
	j.inOrder("reading", (len(j.ids)+perJob-1)/perJob, func(s *scanner, job int) {
		for doc := job * perJob; doc < min((job+1)*perJob, len(j.ids)); doc++ {
			if twice.hasAny(j.docs[doc].anchors, j.docs[doc+1].anchors) {
				s.tokenized.Read(j.text(doc, &s.buf), false)
				j.gramsOf(s, doc, twice)
			}
		}
	}, all.add)
	return all
}

// gramsOf puts the grams of a document that have an anchor which occurs twice in their window. All others occur
// once (tokens.go). Anchors come by place, and each gram is put once although several anchors may be in its window.
func (j *join[ID]) gramsOf(s *scanner, doc int, twice bitset) {
	s.anchors, s.ends = j.Length.anchors(s.Hashes, s.anchors[:0]), j.Length.ends(&s.tokenized, s.ends[:0])
	_, window := j.Length.anchorTokens()
	var keys [3]key // of the gram before, of this one and of the next one
	at := -2        // this one
	move := func(to int) {
		// A key takes time in proportion to a gram. So of the grams that are passed over, only those that end
		// up in keys are hashed.
		for at = max(at, to-3); at < to; {
			at++
			keys[0], keys[1], keys[2] = keys[1], keys[2], key{}
			if next := at + 1; next >= 0 && next < len(s.ends) {
				keys[2] = keyOf(s.Hashes[next:s.ends[next]])
			}
		}
	}
	for n, a := range s.anchors {
		if !twice.has(j.docs[doc].anchors + uint64(n)) {
			continue
		}
		// The anchor is in the windows of these grams.
		for i := max(at+1, int(a.at)-window+1, 0); i <= int(a.at) && i < len(s.ends); i++ {
			move(i)
			k := keys[1]
			s.put([4]uint64{k.Hi, k.Lo>>40<<40 | (j.docs[doc].tokens + uint64(i)), keys[0].Hi, keys[2].Hi})
		}
	}
}
