// Package leaks finds test items that occur in a training corpus, as a whole or in part.
//
// The tests are in memory, and the documents of the corpus are streamed, in any number of goroutines. A table
// has the hash of every run that is as long as the shortest leak. Where a document has one, the two are
// compared word by word, in both directions. So a search takes time in proportion to the document. As in
// package passages, letters are folded, and everything between the words is ignored.
package leaks

import (
	"errors"
	"iter"
	"math/bits"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/passages"
	"github.com/zeebo/xxh3"
)

// The usual length of a leak: 13 words, as in appendix C of Brown et al. (2020), Language Models are Few-Shot
// Learners. A part that is shorter must be in the document as a whole. One of less than 8 words is not looked
// for, since it may be there by chance; that is the smallest length which the same appendix uses.
const (
	usualLeak = 13
	leastLeak = 8
)

// mostItems is in how many items a run may occur. What occurs in more of them is how the test asks, and says
// nothing about any of them; 10 is the number of the same appendix.
const mostItems = 10

// mostRuns is how many runs of one part are reported for a document, so that texts which repeat
// themselves take no more memory.
const mostRuns = 100

// A Benchmark is the items of tests that should not be in a training corpus. Items are added first; then
// documents are searched, by any number of goroutines. The first search after an Add builds the tables, and
// others wait for it. After that, a search takes the lock only to get the tables.
type Benchmark[ID any] struct {
	length, least length

	mu    sync.Mutex
	parts []part[ID]
	built *built[ID] // nil after Add
}

// A part is a part of an item: a question, an answer.
type part[ID any] struct {
	id     ID
	number int // of the part in the item
	item   int // its number; the parts of an item follow each other
	text   lex.Tokens
}

// A built Benchmark is all that a search needs. It does not change, so searches share it without a lock, and a
// search that has begun goes on with it while items are added.
type built[ID any] struct {
	length    length
	parts     []part[ID]
	tables    []*testTable // by how many tokens are hashed, ascending
	lookedFor []bool       // by part
	searchers sync.Pool    // of *testSearcher[ID]
}

// A testTable finds runs of one length. There is one for the shortest leak, and one for each length of a part
// that is shorter and so must be in a document as a whole.
type testTable struct {
	tokens int
	filter []uint64 // a bit for the hash of each run: nearly all runs of a document are rejected here, without the map
	first  map[uint64]int32
	runs   []testRun
}

// A testRun is a run in a part. Those with the same hash form a list, from first of the table on.
type testRun struct {
	part, at int32
	next     int32 // the next one with the same hash, or -1
}

// New returns a Benchmark without items. The zero length means 13 words, or 20 characters. It returns an error
// for a length that is out of range.
func New[ID any](of passages.Length) (*Benchmark[ID], error) {
	if of == (passages.Length{}) {
		of.Words = usualLeak
	}
	of, err := of.WithDefaults()
	if err != nil {
		return nil, err
	}
	// With a length below 8 words, parts of that length are looked for, although they may be there by chance.
	least, err := passages.Length{Words: min(leastLeak, of.Words)}.WithDefaults()
	if err != nil {
		return nil, err
	}
	least.Characters = min(least.Characters, of.Characters)
	return &Benchmark[ID]{length: length(of), least: length(least)}, nil
}

// Add adds an item. Its parts are looked for one by one, so that you can see whether a question has leaked with
// its answer. It keeps no reference to the texts. Searches that have begun do not look for it. A text of 2 GB
// or more is an error, and its item is not added.
func (t *Benchmark[ID]) Add(id ID, parts ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	// All lengths are checked first, so that no item is added in part.
	for _, text := range parts {
		if len(text) > lex.MaxText {
			return errors.New("leaks: the text has 2 GB or more")
		}
	}
	number := 0
	if n := len(t.parts); n > 0 {
		number = t.parts[n-1].item + 1
	}
	for i, text := range parts {
		x := part[ID]{id: id, number: i, item: number}
		x.text.Read(text, true)
		t.parts = append(t.parts, x)
	}
	t.built = nil
	return nil
}

// Parts yields, for each part in the order of adding, how many words or characters it has, and whether it is looked
// for. A part is skipped if it is too short, or if no run in it that is long enough occurs in 10 items or fewer.
func (t *Benchmark[ID]) Parts() iter.Seq2[int, bool] {
	return func(yield func(int, bool) bool) {
		b := t.build()
		for i := range b.parts {
			if !yield(b.parts[i].text.Len(), b.lookedFor[i]) {
				return
			}
		}
	}
}

// A length is how long a leak is.
type length passages.Length

// tokens is how many tokens a run of that length has at least.
func (l length) tokens() int { return min(l.Words, l.Characters) }

// reached reports whether some tokens are long enough: a word counts as 1/Words, and a character as
// 1/Characters. The sum is in units of 1/(Words·Characters), so that it has no fractions.
func (l length) reached(t *lex.Tokens, from, to int) bool {
	sum := 0
	for _, isSingle := range t.Single[from:to] {
		if isSingle {
			sum += l.Words
		} else {
			sum += l.Characters
		}
		if sum >= l.Words*l.Characters {
			return true
		}
	}
	return false
}

// A Leak is a part of an item that occurs in a document.
type Leak[ID any] struct {
	ID   ID
	Part int            // which one, in the order of Add
	Runs []passages.Run // A is the part, and B the document; 100, if there are more

	// How many tokens of the part are in the document, in runs that are long enough, and how many it has. What
	// more than 10 items have in common counts only where the whole part is there. Parts with the same text
	// count as parts of one item.
	Shared, Tokens int
}

// A testSearcher looks for items in one document after the other. Its memory is used again, since a corpus has
// very many documents, most of which have no leak.
type testSearcher[ID any] struct {
	of    *built[ID]
	text  lex.Tokens
	found map[int32]*partFound
	order []int32
}

// A partFound is what was found of a part in a document.
type partFound struct {
	runs    []tokenRun
	covered []bool // the tokens of the part
	work    int    // how many tokens have been compared
}

// A tokenRun is equal tokens of a part and a document.
type tokenRun struct{ at, in, n int }

// build makes the tables, unless they are there. It takes time and memory in proportion to the items. It holds
// the lock, so that many goroutines that begin to search at the same time do not each build them.
func (t *Benchmark[ID]) build() *built[ID] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.built != nil {
		return t.built
	}
	b := &built[ID]{length: t.length, parts: slices.Clone(t.parts), lookedFor: make([]bool, len(t.parts))}
	by := map[int]*testTable{}
	add := func(part, at, tokens int) {
		x := by[tokens]
		if x == nil {
			x = &testTable{tokens: tokens, first: map[uint64]int32{}}
			by[tokens] = x
			b.tables = append(b.tables, x)
		}
		x.runs = append(x.runs, testRun{int32(part), int32(at), -1})
	}
	for i := range b.parts {
		x := &b.parts[i].text
		switch {
		case t.length.reached(x, 0, x.Len()):
			for at := 0; at+t.length.tokens() <= x.Len(); at++ {
				add(i, at, t.length.tokens())
			}
		case t.least.reached(x, 0, x.Len()):
			add(i, 0, x.Len())
		}
	}
	// The order of the tables is that in which leaks are found, so it must not be that of a map.
	slices.SortFunc(b.tables, func(x, y *testTable) int { return x.tokens - y.tokens })
	items := b.items()
	for _, x := range b.tables {
		b.index(x, items)
		for _, first := range x.first {
			for i := first; i >= 0; i = x.runs[i].next {
				b.lookedFor[x.runs[i].part] = true
			}
		}
	}
	t.built = b
	return b
}

// items returns the item of each part. A part with the text of an earlier one counts as part of that item:
// tests ask one question with several answers, and more than mostItems of these would hide the question.
func (b *built[ID]) items() []int {
	first := map[xxh3.Uint128]int{}
	items := make([]int, len(b.parts))
	for i := range b.parts {
		k := lex.TokensKey(b.parts[i].text.Hashes)
		if _, ok := first[k]; !ok {
			first[k] = b.parts[i].item
		}
		items[i] = first[k]
	}
	return items
}

// index finds the runs of a table by their hashes, without those that occur in more than mostItems items. Of
// equal runs of one part it has the first.
//
// Runs are counted by 128 bits of hash, since a collision would drop a run. Documents are looked up by a
// rolling hash, which is cheaper; compare then looks at the tokens themselves.
func (b *built[ID]) index(x *testTable, items []int) {
	type count struct{ items, last, part int }
	counts := make(map[xxh3.Uint128]*count, len(x.runs))
	of := func(r testRun) []uint64 { return b.parts[r.part].text.Hashes[r.at:][:x.tokens] }
	for _, r := range x.runs {
		counts[lex.TokensKey(of(r))] = &count{last: -1, part: -1}
	}
	// The parts of an item come one after the other, so remembering the last item is enough to count each item once.
	order := make([]int, len(b.parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return items[i] - items[j] })
	for _, i := range order { // a short part may be inside long ones
		hashes := b.parts[i].text.Hashes
		for at := 0; at+x.tokens <= len(hashes); at++ {
			if c := counts[lex.TokensKey(hashes[at:at+x.tokens])]; c != nil && c.last != items[i] {
				c.items++
				c.last = items[i]
			}
		}
	}
	kept := x.runs[:0]
	for _, r := range x.runs {
		if c := counts[lex.TokensKey(of(r))]; c.items <= mostItems && c.part != int(r.part) {
			c.part = int(r.part)
			kept = append(kept, r)
		}
	}
	x.runs = kept
	x.filter = make([]uint64, 1<<bits.Len(uint(len(x.runs)/4))) // 16 bits for a run, or more
	for i := len(x.runs) - 1; i >= 0; i-- {
		h := lex.RollingHash(lex.RollingSum(of(x.runs[i])))
		x.filter[h>>6%uint64(len(x.filter))] |= 1 << (h % 64)
		if first, ok := x.first[h]; ok {
			x.runs[i].next = first
		}
		x.first[h] = int32(i)
	}
}

// Search yields the parts that leak into a document, in no particular order but always the same. Each run is as
// long as it can be. If a run occurs twice in a part, the first place counts. Nothing leaks into a text of 2 GB
// or more, which is not read.
func (t *Benchmark[ID]) Search(text string) iter.Seq[Leak[ID]] {
	return func(yield func(Leak[ID]) bool) {
		if len(text) > lex.MaxText {
			return
		}
		b := t.build()
		s, ok := b.searchers.Get().(*testSearcher[ID])
		if !ok {
			s = &testSearcher[ID]{of: b, found: map[int32]*partFound{}}
		}
		defer b.searchers.Put(s)
		s.text.Read(text, false) // most documents have no leak, and need no places
		s.order = s.order[:0]
		clear(s.found)
		for _, x := range s.of.tables {
			s.look(x)
		}
		if len(s.order) == 0 {
			return
		}
		s.text.Read(text, true) // with places
		for _, i := range s.order {
			x, found := &s.of.parts[i], s.found[i]
			leak := Leak[ID]{ID: x.id, Part: x.number, Tokens: x.text.Len()}
			for _, r := range found.runs {
				a, b := &x.text, &s.text
				leak.Runs = append(leak.Runs, passages.Run{
					FromA: int(a.From[r.at]), ToA: int(a.To[r.at+r.n-1]),
					FromB: int(b.From[r.in]), ToB: int(b.To[r.in+r.n-1]), Tokens: r.n,
				})
			}
			for _, is := range found.covered {
				if is {
					leak.Shared++
				}
			}
			if !yield(leak) {
				return
			}
		}
	}
}

// look finds the runs of a table in the document, with a rolling hash: a document costs a few operations for
// each token and table, whatever the number of items.
func (s *testSearcher[ID]) look(x *testTable) {
	hashes := s.text.Hashes
	if len(hashes) < x.tokens {
		return
	}
	sum := lex.RollingSum(hashes[:x.tokens-1])
	for in := 0; in+x.tokens <= len(hashes); in++ {
		sum = bits.RotateLeft64(sum, 1) ^ hashes[in+x.tokens-1]
		h := lex.RollingHash(sum)
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

// compare compares a part with the document from two places on, whose hashes are equal. It compares tokens, so
// equal hashes of different runs do no harm. A place inside a run that was found already only marks its tokens.
//
// What counts as shared are the tokens of runs in the table. A run may be longer than these: the rest of it is
// what many items have in common, and counts only if the part is in the document as a whole.
func (s *testSearcher[ID]) compare(x *testTable, r testRun, in int) {
	found, at := s.found[r.part], int(r.at)
	isKnown := func(f tokenRun) bool {
		return at-f.at == in-f.in && at >= f.at && at+x.tokens <= f.at+f.n
	}
	if found != nil && slices.ContainsFunc(found.runs, isKnown) {
		found.cover(at, x.tokens)
		return
	}
	of := &s.of.parts[r.part].text
	if found != nil && len(found.runs) == mostRuns && found.work > mostRuns*of.Len() {
		// Both texts repeat themselves, and finding out how far each run goes would take quadratic time. So from
		// here on only the tokens that the table has are marked.
		if slices.Equal(of.Hashes[at:at+x.tokens], s.text.Hashes[in:in+x.tokens]) {
			found.cover(at, x.tokens)
		}
		return
	}
	run := longest(of.Hashes, s.text.Hashes, at, in)
	isLong := run.n == of.Len() || s.of.length.reached(of, run.at, run.at+run.n)
	if run.at+run.n < at+x.tokens || !isLong {
		return
	}
	if found == nil {
		found = &partFound{covered: make([]bool, of.Len())}
		s.found[r.part], s.order = found, append(s.order, r.part)
	}
	found.work += run.n
	found.add(run)
	if found.cover(at, x.tokens); run.n == of.Len() {
		found.cover(0, run.n)
	}
}

// cover takes note of tokens of the part that count as shared.
func (f *partFound) cover(at, n int) {
	for i := range n {
		f.covered[at+i] = true
	}
}

// add adds a run. If there are mostRuns already, it replaces the shortest one, so that the
// longest ones are reported.
func (f *partFound) add(run tokenRun) {
	if len(f.runs) < mostRuns {
		f.runs = append(f.runs, run)
		return
	}
	shortest := 0
	for i := range f.runs {
		if f.runs[i].n < f.runs[shortest].n {
			shortest = i
		}
	}
	if f.runs[shortest].n < run.n {
		f.runs[shortest] = run
	}
}

// longest returns the longest run of equal tokens around two places. If the tokens at the places are not equal
// after all, it has fewer than the caller expects.
func longest(a, b []uint64, at, in int) (r tokenRun) {
	end := at
	for end < len(a) && in+end-at < len(b) && a[end] == b[in+end-at] {
		end++
	}
	// Usually an earlier place has found these tokens already. But a run that many items have is not in the table.
	for at > 0 && in > 0 && a[at-1] == b[in-1] {
		at, in = at-1, in-1
	}
	return tokenRun{at, in, end - at}
}
