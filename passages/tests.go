package passages

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// This file finds the items of tests in a training corpus. The tests are in memory, and the corpus goes by. Each run of as many tokens as the shortest
// leak has is in a table, by its hash; where a document has one, the two are compared token by token, in both directions.

// The usual length of a leak: 13 words, as in appendix C of Brown et al. (2020), Language Models are Few-Shot Learners. An item that is
// shorter must be in the document as a whole, and one of less than 8 words is not looked for, since it may be there by chance.
const (
	usualLeak = 13
	leastLeak = 8
)

// mostItems is in how many items a run may stand. What stands in more of them is how the test asks, and says nothing about any of them; 10 is
// the number of the same appendix.
const mostItems = 10

// mostRuns is how many runs of one part are reported for a document: the first ones.
const mostRuns = 100

// Tests are items of tests that should not be in a training corpus. Items are added first; then documents can be searched side by
// side, with one [TestSearcher] for each goroutine.
type Tests[ID any] struct {
	length, least Length
	items         []item[ID]
	tables        []*testTable // by how many tokens are hashed, ascending
	isReady       bool
}

// An item is a part of one: a question, an answer.
type item[ID any] struct {
	id     ID
	part   int
	text   tokenized
	number int // of the item, whose parts are beside each other
}

// A testTable finds runs of so many tokens.
type testTable struct {
	tokens int
	filter []uint64 // bits, of which those of the runs are set
	first  map[uint64]int32
	runs   []testRun
}

// A testRun is a place in a part.
type testRun struct {
	item, at int32
	next     int32 // the next one with the same hash, or -1
}

// NewTests returns tests without items. The zero length stands for 13 words, or 21 characters. The error is that of a length that is out
// of range.
func NewTests[ID any](length Length) (*Tests[ID], error) {
	if length == (Length{}) {
		length.Words = usualLeak
	}
	length, err := length.Filled()
	if err != nil {
		return nil, err
	}
	least, err := Length{Words: min(leastLeak, length.Words)}.Filled()
	return &Tests[ID]{length: length, least: least}, err
}

// Add adds an item: its parts are looked for one by one, so that one can see whether a question has leaked with its answer. It returns
// for each part whether it is long enough.
func (t *Tests[ID]) Add(id ID, parts ...string) (isLong []bool) {
	number := 0
	if n := len(t.items); n > 0 {
		number = t.items[n-1].number + 1
	}
	for i, text := range parts {
		x := item[ID]{id: id, part: i, number: number}
		x.text.read(text, true)
		isLong = append(isLong, t.least.reached(&x.text, 0, x.text.len()))
		t.items = append(t.items, x)
	}
	t.isReady = false
	return isLong
}

// reached reports whether some tokens are long enough.
func (l Length) reached(t *tokenized, from, to int) bool {
	sum := 0
	for _, single := range t.single[from:to] {
		if sum += l.weight(single); sum >= l.Words*l.Characters {
			return true
		}
	}
	return false
}

// A Leak is a part of an item that stands in a document.
type Leak[ID any] struct {
	ID   ID
	Part int   // which one, in the order of Add
	Runs []Run // A is the part, and B the document; at least one

	Shared, Tokens int // how many tokens of the part are in a run, and how many it has
}

// A TestSearcher looks for items in documents, for one goroutine.
type TestSearcher[ID any] struct {
	tests *Tests[ID]
	text  tokenized
	found map[int32][]tokenRun // by part
	order []int32
}

// A tokenRun is equal tokens of a part and a document.
type tokenRun struct{ at, in, n int }

// Searcher returns a searcher. Nobody may add items afterwards.
func (t *Tests[ID]) Searcher() *TestSearcher[ID] {
	t.ready()
	return &TestSearcher[ID]{tests: t, found: map[int32][]tokenRun{}}
}

// ready makes the tables.
func (t *Tests[ID]) ready() {
	if t.isReady {
		return
	}
	t.tables = nil
	by := map[int]*testTable{}
	add := func(item, at, tokens int) {
		x := by[tokens]
		if x == nil {
			x = &testTable{tokens: tokens, first: map[uint64]int32{}}
			by[tokens] = x
			t.tables = append(t.tables, x)
		}
		x.runs = append(x.runs, testRun{int32(item), int32(at), -1})
	}
	for i := range t.items {
		x := &t.items[i].text
		switch {
		case t.length.reached(x, 0, x.len()):
			for at := 0; at+t.length.tokens() <= x.len(); at++ {
				add(i, at, t.length.tokens())
			}
		case t.least.reached(x, 0, x.len()):
			add(i, 0, x.len())
		}
	}
	slices.SortFunc(t.tables, func(a, b *testTable) int { return a.tokens - b.tokens })
	for _, x := range t.tables {
		x.index(func(r testRun) []uint64 { return t.items[r.item].text.hashes[r.at:][:x.tokens] }, func(r testRun) int { return t.items[r.item].number })
	}
	t.isReady = true
}

// index finds the runs by their hashes, without those that stand in more than mostItems items. Of equal runs of one part it has the first.
func (x *testTable) index(of func(testRun) []uint64, number func(testRun) int) {
	x.filter = make([]uint64, 1<<bits.Len(uint(len(x.runs)/4))) // 16 bits for a run, or more
	type seen struct{ items, number, part int }
	by, isFirst := map[key]seen{}, make([]bool, len(x.runs))
	for i, r := range x.runs {
		k := keyOf(of(r))
		was, ok := by[k]
		now := seen{was.items, number(r), int(r.item)}
		if !ok || was.number != now.number {
			now.items++
		}
		isFirst[i] = !ok || was.part != now.part
		by[k] = now
	}
	for i := len(x.runs) - 1; i >= 0; i-- {
		if !isFirst[i] || by[keyOf(of(x.runs[i]))].items > mostItems {
			continue
		}
		h := mixed(sumOf(of(x.runs[i])))
		x.filter[h>>6%uint64(len(x.filter))] |= 1 << (h % 64)
		if first, ok := x.first[h]; ok {
			x.runs[i].next = first
		}
		x.first[h] = int32(i)
	}
}

// Search yields the parts that leak into a document. Each run is as long as it can be. Of a run that stands twice in a part, the first place
// counts, and there are at most 100 runs of a part.
func (s *TestSearcher[ID]) Search(text string) iter.Seq[Leak[ID]] {
	return func(yield func(Leak[ID]) bool) {
		t := s.tests
		s.text.read(text, false)
		s.order = s.order[:0]
		clear(s.found)
		for _, x := range t.tables {
			s.look(x)
		}
		if len(s.order) == 0 {
			return
		}
		s.text.read(text, true) // with places
		for _, i := range s.order {
			x := &t.items[i]
			leak := Leak[ID]{ID: x.id, Part: x.part, Tokens: x.text.len()}
			var in spans
			for _, r := range s.found[i] {
				leak.Runs = append(leak.Runs, Run{int(x.text.from[r.at]), int(x.text.to[r.at+r.n-1]), int(s.text.from[r.in]), int(s.text.to[r.in+r.n-1]), r.n})
				in = append(in, span{r.at, r.at + r.n})
			}
			leak.Shared = in.size()
			if !yield(leak) {
				return
			}
		}
	}
}

// look finds the runs of a table in the document.
func (s *TestSearcher[ID]) look(x *testTable) {
	hashes := s.text.hashes
	if len(hashes) < x.tokens {
		return
	}
	sum := sumOf(hashes[:x.tokens-1])
	for in := 0; in+x.tokens <= len(hashes); in++ {
		sum = bits.RotateLeft64(sum, 1) ^ hashes[in+x.tokens-1]
		h := mixed(sum)
		sum ^= bits.RotateLeft64(hashes[in], x.tokens-1)
		if x.filter[h>>6%uint64(len(x.filter))]>>(h%64)&1 == 0 {
			continue
		}
		i, ok := x.first[h]
		for ; ok && i >= 0; i = x.runs[i].next {
			s.compare(x, x.runs[i], in)
		}
	}
}

// compare compares a part with the document from two places on, which are equal by their hashes.
func (s *TestSearcher[ID]) compare(x *testTable, r testRun, in int) {
	found := s.found[r.item]
	isKnown := func(f tokenRun) bool {
		return int(r.at)-f.at == in-f.in && int(r.at) >= f.at && int(r.at) < f.at+f.n
	}
	if len(found) == mostRuns || slices.ContainsFunc(found, isKnown) {
		return
	}
	part := &s.tests.items[r.item].text
	run := longest(part.hashes, s.text.hashes, int(r.at), in)
	isLong := run.n == part.len() || s.tests.length.reached(part, run.at, run.at+run.n)
	if run.at+run.n < int(r.at)+x.tokens || !isLong {
		return
	}
	if len(found) == 0 {
		s.order = append(s.order, r.item)
	}
	s.found[r.item] = append(found, run)
}

// longest returns the run of equal tokens in which two places are.
func longest(a, b []uint64, at, in int) (r tokenRun) {
	end := at
	for end < len(a) && in+end-at < len(b) && a[end] == b[in+end-at] {
		end++
	}
	for at > 0 && in > 0 && a[at-1] == b[in-1] { // a run that was left out of the table, since many items have it, may stand before
		at, in = at-1, in-1
	}
	return tokenRun{at, in, end - at}
}

// String describes tests.
func (t *Tests[ID]) String() string {
	return fmt.Sprintf("%d parts of items, %d words or %d characters", len(t.items), t.length.Words, t.length.Characters)
}
