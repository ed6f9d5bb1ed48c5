package passages

import (
	"context"
	"iter"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/internal/parallel"
)

// This file finds the passages of all documents. Each step reads what the one before has written to
// temporary files, in order:
//
//	anchors  sorted by hash: which occur twice?
//	grams    near such anchors, with the keys of the grams before and after them
//	classes  the grams sorted by key: those that occur twice. Do all places of a class have the same gram
//	         before them, and the same one after them?
//	pieces   the classes sorted by place: those in a row of which all places go on together
//	places   the pieces sorted by the class with which they begin: the places of a passage, with their bytes
//	passages sorted by the first place
//
// So the time is that of sorting what occurs twice, however often it does. A gram is a node of a graph in which
// an edge leads to the next gram in a text, and a passage is a path of it without branches: what is called a
// unitig in genome assembly.
//
// Texts are read twice: once for the grams, if an anchor of the text occurs twice, and once more for
// the bytes of the places.
//
// A place is the number of a token among those of all documents, so one number of 40 bits names a document and a
// place in it. Sorting by place is then also sorting by document.

// Passages yields all passages, in the order of their first places. Every run of the least length that
// occurs in two places is part of one, in which both places are. If the context ends, or a file has an
// error, that error comes last.
//
// Passages works on the documents that are there when the loop begins. It takes time in proportion to their texts.
func (f *Finder[ID]) Passages(ctx context.Context) iter.Seq2[Passage[ID], error] {
	return f.PassagesSince(ctx, 0)
}

// PassagesSince yields the passages that have a place in a document after the first n. It takes as long as
// Passages, because the old documents have to be sorted with the new ones to show what they share.
func (f *Finder[ID]) PassagesSince(ctx context.Context, n int) iter.Seq2[Passage[ID], error] {
	return func(yield func(Passage[ID], error) bool) {
		s, found, err := f.join(ctx, n)
		if err != nil {
			yield(Passage[ID]{}, err)
			return
		}
		for places := range s.places(found) {
			if ctx.Err() != nil {
				break
			}
			if !yield(s.passage(places), nil) {
				return
			}
		}
		if err := errOf(ctx, found.file); err != nil {
			yield(Passage[ID]{}, err)
		}
	}
}

// A joined is the result of a join: the places of all passages with a new one, by the first place of their
// passage. It holds the snapshot too, since places only mean something with the documents that were there.
type joined[ID any] struct {
	*snapshot[ID]
	old   int // documents
	found *sorter[[4]uint64]
}

// A join is what the steps share.
type join[ID any] struct {
	*snapshot[ID]
	ctx     context.Context
	shift   int    // to the left, so that the numbers of tokens use the upper bits of a key, by which sorters divide
	old     uint64 // tokens below are of old documents
	mu      sync.Mutex
	err     error
	telling sync.Mutex
	done    int // of the stage
}

// join returns the places of all passages with a new one. It keeps them until documents are added, so that
// Passages, Coverage and Cuts in a row join only once. Nothing is kept if the context ends or a file fails.
//
// Only one goroutine joins at a time, and the others wait for its result. Documents may be added meanwhile,
// except while the anchors are sorted.
func (f *Finder[ID]) join(ctx context.Context, old int) (*snapshot[ID], *sorter[[4]uint64], error) {
	f.joining.Lock()
	defer f.joining.Unlock()
	// Documents never go away, so as many as before are the same ones.
	if was := f.joined; was != nil && was.old == old && len(was.ids) == f.Len() {
		return was.snapshot, was.found, ctx.Err()
	}
	f.joined = nil // so that its files and those of the new join are not needed at the same time
	j := &join[ID]{ctx: ctx}
	twice := f.repeated(j)
	j.shift = 64 - max(bits.Len64(j.docs[len(j.ids)].tokens), 1)
	j.old = j.docs[min(max(old, 0), len(j.ids))].tokens
	grams := j.grams(twice)
	of, follow := j.classes(grams)
	pieces := j.pieces(of, follow)
	places := j.located(pieces)
	found := j.found(places)
	if j.err != nil {
		return nil, nil, j.err
	}
	f.joined = &joined[ID]{j.snapshot, old, found}
	return j.snapshot, found, nil
}

// share is the memory for what one step sorts. Two steps have records at a time, the one that is read and the one
// that is written, and the texts and the anchors have a quarter each.
func (j *join[ID]) share() int64 { return j.Memory / 4 }

// fail takes note of the first error. Steps have no errors of their own: each one runs, does nothing if failed
// says so, and join looks at the error once, at the end.
func (j *join[ID]) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
}

// failed reports whether nothing more is to be done, because of an error or because the context has ended.
func (j *join[ID]) failed() bool {
	if err := j.ctx.Err(); err != nil {
		j.fail(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err != nil
}

// eachPart calls do for all parts of a sorter, on all processors, and says how far that is.
func eachPart[ID any, R record](j *join[ID], stage string, s *sorter[R], do func(part int)) {
	j.done = 0
	parallel.Each(sortParts, func(part int) {
		if !j.failed() {
			do(part)
		}
		j.tell(stage, sortParts)
	})
	if err := s.file.Err(); err != nil {
		j.fail(err)
	}
}

// tell says that one more of a number of steps has been done.
func (j *join[ID]) tell(stage string, total int) {
	if j.Progress == nil {
		return
	}
	j.telling.Lock()
	defer j.telling.Unlock()
	j.done++
	j.Progress(stage, float64(j.done)/float64(total))
}

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

// A class is the grams with the same key, which is to say all places of one run. Its number is the part of the
// sorter and its number there, so goroutines number the classes of different parts without talking to each other.
type class uint64

// classOf returns the number of a class.
func classOf(part, n int) class { return class(part)<<32 | class(n) }

// follows says of each class what all its places have in common, by part and number. It stays in memory, a byte
// for each run that occurs twice, because pieces looks classes up in the order of the texts.
type follows [sortParts][]uint8

const (
	sameBefore = 1 << iota // each has the same gram before it
	sameBehind             // each has the same gram after it
)

func (f *follows) of(c class) uint8 { return f[c>>32][uint32(c)] }

// goOn reports whether all places of a class go on with another one, and the other one has no places besides
// these. The caller knows that one place of c is followed by next. If all places of c have the same successor,
// and all of next the same predecessor, the two classes have the same places, one token apart.
func (f *follows) goOn(c, next class) bool {
	return f.of(c)&sameBehind != 0 && f.of(next)&sameBefore != 0
}

// classes returns the classes of the grams that occur twice, by the number of their first token, and what is
// known of each class. Parts are compared side by side. They share one sorter, which takes records from one
// goroutine at a time: hence the lock, and the blocks of records that a classBuilder collects.
func (j *join[ID]) classes(grams *sorter[[4]uint64]) (of *sorter[[2]uint64], follow *follows) {
	of, follow = newSorter[[2]uint64](j.share()), &follows{}
	var mu sync.Mutex
	eachPart(j, "comparing", grams, func(part int) {
		b := &classBuilder{part: part, shift: j.shift, put: func(all [][2]uint64) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range all {
				if err := of.add(r); err != nil {
					j.fail(err)
					return
				}
			}
		}}
		for g := range grams.sorted(part) {
			b.take(g)
		}
		b.end()
		follow[part] = b.follow
	})
	return of, follow
}

// A classBuilder makes classes of grams that come by the first 64 bits of their keys, and within these by
// place. It needs no memory for a class, only its first gram: each later one is compared with that. A gram is
// emitted only when a second one with the key comes, so grams that occur once leave nothing.
type classBuilder struct {
	part   int
	shift  int
	follow []uint8
	first  [4]uint64   // of the class
	n      int         // how many it has
	others [][4]uint64 // with the same first number, and another key; nearly always none
	out    [][2]uint64
	put    func([][2]uint64)
}

// tokenOf returns the number of the first token of a gram.
func tokenOf(g [4]uint64) uint64 { return g[1] & (mostTokens - 1) }

// take takes the next gram.
func (b *classBuilder) take(g [4]uint64) {
	switch {
	case b.n > 0 && g[0] == b.first[0] && g[1]>>40 == b.first[1]>>40:
		b.join(g)
	case b.n > 0 && g[0] == b.first[0]:
		b.others = append(b.others, g)
	default:
		b.finish()
		b.first, b.n = g, 1
	}
}

// join adds a gram to the class.
func (b *classBuilder) join(g [4]uint64) {
	if b.n++; b.n == 2 {
		is := uint8(0)
		if b.first[2] != 0 {
			is |= sameBefore
		}
		if b.first[3] != 0 {
			is |= sameBehind
		}
		b.follow = append(b.follow, is)
		b.emit(b.first)
	}
	last := &b.follow[len(b.follow)-1]
	if g[2] != b.first[2] {
		*last &^= sameBefore
	}
	if g[3] != b.first[3] {
		*last &^= sameBehind
	}
	b.emit(g)
}

// emit puts a gram into the last class.
func (b *classBuilder) emit(g [4]uint64) {
	b.out = append(b.out, [2]uint64{tokenOf(g) << b.shift, uint64(classOf(b.part, len(b.follow)-1))})
	if len(b.out) == 4096 {
		b.put(b.out)
		b.out = b.out[:0]
	}
}

// finish ends the class, and makes those of the grams that have the same first 64 bits but another key. It sorts
// these, because several such keys may have come in turns. The sort is stable, so places still ascend.
func (b *classBuilder) finish() {
	b.n = 0
	if len(b.others) > 0 {
		others := b.others
		b.others = nil
		slices.SortStableFunc(others, func(x, y [4]uint64) int { return int(x[1]>>40) - int(y[1]>>40) })
		for _, g := range others {
			if b.n > 0 && g[1]>>40 == b.first[1]>>40 {
				b.join(g)
			} else {
				b.first, b.n = g, 1
			}
		}
		b.n = 0
	}
}

// end ends the last class.
func (b *classBuilder) end() {
	b.finish()
	b.put(b.out)
}

// pieces returns pieces by place: the first token, how many grams it has, and the class of the first one.
//
// Where one place of a class goes on, all of them do (see goOn). So the pieces at all places of a passage begin
// with the same class and have the same length, and the first class tells a passage from all others.
func (j *join[ID]) pieces(of *sorter[[2]uint64], follow *follows) *queue[[4]uint64] {
	q := newQueue[[4]uint64](j.share() / 4)
	var now [4]uint64
	var last class // of the last gram of now
	put := func() {
		if now[1] > 0 {
			if err := q.add(now); err != nil {
				j.fail(err)
			}
		}
	}
	err := of.each(func(some [][2]uint64) bool {
		for _, r := range some {
			token, c := r[0]>>j.shift, class(r[1])
			if now[1] > 0 && token == now[0]+now[1] && follow.goOn(last, c) {
				now[1]++
			} else {
				put()
				now = [4]uint64{token, 1, uint64(c)}
			}
			last = c
		}
		return !j.failed()
	})
	put()
	if err != nil {
		j.fail(err)
	}
	return q
}

// located returns the pieces with their places in the texts, by the class of their first grams. Pieces come by
// place, so a goroutine reads a text once for all pieces of a job that are in it.
func (j *join[ID]) located(pieces *queue[[4]uint64]) *sorter[[4]uint64] {
	all := newSorter[[4]uint64](j.share())
	if j.failed() {
		return all
	}
	j.inOrder("locating", pieces.numberOfBlocks(), func(s *scanner, job int) {
		var buf []byte
		for _, p := range pieces.read(job, nil, &buf) {
			doc := s.doc
			if doc < 0 || p[0] >= j.docs[doc+1].tokens {
				doc = j.holding(p[0])
			}
			if doc != s.doc {
				s.tokenized.Read(j.text(doc, &s.buf), true)
				s.doc, s.ends = doc, j.Length.ends(&s.tokenized, s.ends[:0])
			}
			first := int(p[0] - j.docs[doc].tokens)
			last := first + int(p[1]) - 1
			if last >= len(s.ends) {
				continue // the text could not be read any more; the file has the error
			}
			from, to := s.From[first], s.To[s.ends[last]-1]
			s.put([4]uint64{p[2] << 24, p[0], uint64(from)<<32 | uint64(to), uint64(int(s.ends[last]) - first)})
		}
	}, all.add)
	if err := pieces.file.Err(); err != nil {
		j.fail(err)
	}
	return all
}

// overlap reports whether two places, in order, are in one text and share a token. Places in two texts never
// do, since no number of a token belongs to two texts.
func (j *join[ID]) overlap(a, b [4]uint64) bool {
	return b[1] < a[1]+a[3]
}

// found returns the places of passages of which one is new, by the first token of their passage. That token is
// a key without doubles: one place has one class, and so it begins one passage at most.
func (j *join[ID]) found(places *sorter[[4]uint64]) *sorter[[4]uint64] {
	all := newSorter[[4]uint64](j.share())
	var mu sync.Mutex
	eachPart(j, "grouping", places, func(part int) {
		var of [][4]uint64 // of one passage
		put := func() {
			mu.Lock()
			defer mu.Unlock()
			// Places ascend, so if the last one is old, all are, and none is added.
			for i := 0; i < len(of) && of[len(of)-1][1] >= j.old; i++ {
				of[i][0] = of[0][1] << j.shift
				if err := all.add(of[i]); err != nil {
					j.fail(err)
					break
				}
			}
			of = of[:0]
		}
		var last uint64 // the class
		for p := range places.sorted(part) {
			if p[0] != last {
				put()
			}
			last = p[0]
			if n := len(of); n > 0 && j.overlap(of[n-1], p) {
				of[n-1][2] = of[n-1][2]>>32<<32 | uint64(uint32(p[2]))
				of[n-1][3] = p[1] - of[n-1][1] + p[3]
				continue
			}
			of = append(of, p)
		}
		put()
	})
	return all
}

// A place is where a passage occurs, in the form in which this package works with it. [Place] is for callers.
type place struct {
	doc           int
	first, tokens int // of the document
	from, to      int // bytes
}

// places yields the places of each passage, in a slice that is only valid until the next one.
func (s *snapshot[ID]) places(found *sorter[[4]uint64]) iter.Seq[[]place] {
	return func(yield func([]place) bool) {
		var all []place
		for group := range found.allGroups {
			all = all[:0]
			doc := 0
			for i, r := range group {
				if i == 0 || r[1] >= s.docs[doc+1].tokens {
					doc = s.holding(r[1])
				}
				all = append(all, place{doc, int(r[1] - s.docs[doc].tokens), int(r[3]), int(r[2] >> 32), int(uint32(r[2]))})
			}
			if !yield(all) {
				return
			}
		}
	}
}

// documents returns in how many documents places are.
func documents(places []place) (n int) {
	for range byDocument(places) {
		n++
	}
	return n
}

// passage describes a passage by its places. Places that were merged are longer than the passage, so the
// shortest one has its length.
func (s *snapshot[ID]) passage(places []place) Passage[ID] {
	p := Passage[ID]{Tokens: places[0].tokens, Documents: documents(places), Places: make([]Place[ID], len(places))}
	for i, x := range places {
		p.Tokens = min(p.Tokens, x.tokens)
		p.Places[i] = Place[ID]{s.ids[x.doc], x.doc, x.from, x.to, x.tokens}
	}
	return p
}
