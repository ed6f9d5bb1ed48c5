package passages

import (
	"cmp"
	"context"
	"iter"
	"slices"
)

// This file finds what a new text shares with the documents. Its anchors are looked up in those of the documents,
// which are sorted by hash, and each document that has one is compared with the text.
//
// The index is in a file, since it grows with the collection. In memory is only the first hash of each block, so
// a look-up reads one block, or a few if very many documents share the anchor. A search waits mostly for the disk.
// Therefore it announces the blocks and texts that it will read next.

// A Match is a document that shares passages with a text.
type Match[ID any] struct {
	ID     ID
	Number int   // how many documents were added before it
	Runs   []Run // what they share: A is the text, and B the document. The first 1,000, if there are more

	Shared, Tokens                 int // how many tokens of the text are in a run, and how many it has
	DocumentShared, DocumentTokens int // the same for the document

	// More is how many of the shared tokens are in no source before this one. Only a Coverage has it.
	More int
}

// Search yields the documents that share a passage with a text, roughly those that share most first: they come
// in the order of how many anchors they share, because that is known before they are read. The text is not
// added. The first search after adding builds an index, which takes time in proportion to the collection.
// Searches run concurrently, and adding waits only while the index is built. An error comes last: that of the
// context or of a file, or one for a text of 2 GB or more.
func (f *Finder[ID]) Search(ctx context.Context, text string) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		s, x, err := f.sorted(ctx)
		if err == nil && len(text) > mostBytes {
			err = errTooLong
		}
		if err != nil {
			yield(Match[ID]{}, err)
			return
		}
		var t, other tokenized
		t.Read(text, true)
		m := newMatcher(&t, f.options.Length)
		ahead := 0 // how many texts have been announced
		var buf []byte
		docs := s.sharing(ctx, x, &t)
		for i, doc := range docs {
			for ; ahead < min(i+mostAhead, len(docs)); ahead++ {
				s.file.Announce(s.docs[docs[ahead]].at, s.size(docs[ahead]))
			}
			match := s.match(doc, m, &other, &buf)
			// A text that could not be read is empty and shares nothing, so the error comes before the match.
			if err := errOf(ctx, s.file, x.file); err != nil {
				yield(Match[ID]{}, err)
				return
			}
			if len(match.Runs) > 0 && !yield(match, nil) {
				return
			}
		}
		if err := errOf(ctx, s.file, x.file); err != nil {
			yield(Match[ID]{}, err)
		}
	}
}

// match compares a document with the text of a matcher. other and buf are memory for it. Shared is exact even
// if there are more runs than are reported: covered counts all of them in linear time, without listing them.
func (s *snapshot[ID]) match(doc int, m *matcher, other *tokenized, buf *[]byte) Match[ID] {
	match := Match[ID]{ID: s.ids[doc], Number: doc}
	text := s.text(doc, buf)
	other.Read(text, false) // most have an anchor by chance, and need no places
	a, b := m.covered(other)
	if a == nil {
		return match
	}
	other.Read(text, true)
	m.runs(other, func(i, j, n int) bool {
		match.Runs = append(match.Runs, runOf(m.text, other, i, j, n))
		// A run may go on after its last gram by a few tokens that are too few to begin another one, where scripts
		// change. covered does not have those.
		a, b = append(a, span{i, i + n}), append(b, span{j, j + n})
		return len(match.Runs) < mostMatchRuns
	})
	match.Shared, match.Tokens, match.DocumentShared, match.DocumentTokens = a.size(), m.text.Len(), b.size(), other.Len()
	return match
}

// An index is the anchors of all documents, sorted. It does not change, so searches share it without a lock.
type index struct {
	*queue[[2]uint64]
	first     []uint64 // the hash with which a block begins
	documents int      // how many there were when it was built
}

// sorted returns the documents and their anchors. The index is kept until documents are added; there is no way to
// extend it, so a program that adds and searches in turns sorts everything each time. If the context ends while it
// is built, the part that is there is dropped, and the next search begins anew.
func (f *Finder[ID]) sorted(ctx context.Context) (*snapshot[ID], *index, error) {
	f.indexing.Lock() // so that only one search sorts
	defer f.indexing.Unlock()
	// Adding waits from the snapshot on until the anchors are sorted, so both are of the same documents.
	f.adding.RLock()
	defer f.adding.RUnlock()
	s := f.snapshot()
	if f.index != nil && f.index.documents == len(s.ids) {
		return s, f.index, nil
	}
	x := &index{queue: newQueue[[2]uint64](f.options.Memory / 4), documents: len(s.ids)}
	var err error
	failed := f.anchors.each(func(some [][2]uint64) bool {
		for _, a := range some {
			if len(x.last) == 0 {
				x.first = append(x.first, a[0])
			}
			err = cmp.Or(err, x.add(a))
		}
		err = cmp.Or(err, ctx.Err())
		return err == nil
	})
	if err = cmp.Or(err, failed); err != nil {
		return nil, nil, err
	}
	f.index = x
	return s, x, nil
}

// begin returns the block in which the anchors with a hash begin, if there are any. That is the block before
// the first one that begins with the hash or a larger one, since equal hashes may begin at the end of a block.
func (x *index) begin(hash uint64) int {
	at, _ := slices.BinarySearch(x.first, hash)
	return max(at-1, 0)
}

// announce says that the anchors with a hash will be read soon.
func (x *index) announce(hash uint64) {
	if at := x.begin(hash); at < len(x.blocks) {
		x.file.Announce(x.blocks[at], blockBytes)
	}
}

// each calls use with the numbers of the anchors with a hash.
func (x *index) each(hash uint64, room *[][2]uint64, buf *[]byte, use func(number uint64)) {
	for at := x.begin(hash); at < len(x.first) && x.first[at] <= hash; at++ {
		block := x.read(at, *room, buf)
		if at < len(x.blocks) { // the last block is the memory of the index, and must not become room for others
			*room = block
		}
		i, _ := slices.BinarySearchFunc(block, hash, func(a [2]uint64, hash uint64) int { return cmp.Compare(a[0], hash) })
		for ; i < len(block) && block[i][0] == hash; i++ {
			use(block[i][1])
		}
	}
}

// sharing returns the documents that share an anchor with a text, those that share most first. Anchors are
// looked up in the order of their hashes, which is that of the blocks in the file. If the context ends the
// result is empty, and the caller gets the error from errOf.
func (s *snapshot[ID]) sharing(ctx context.Context, x *index, t *tokenized) (docs []int) {
	shared := map[int]int{}
	var room [][2]uint64
	var buf []byte
	anchors := s.Length.anchors(t.Hashes, nil)
	slices.SortFunc(anchors, func(a, b anchor) int { return cmp.Compare(a.hash, b.hash) })
	ahead := 0
	for i, a := range anchors {
		for ; ahead < min(i+mostAhead, len(anchors)); ahead++ {
			x.announce(anchors[ahead].hash)
		}
		if i > 0 && a.hash == anchors[i-1].hash {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		last := -1
		x.each(a.hash, &room, &buf, func(number uint64) {
			if number >= s.docs[len(s.ids)].anchors { // of a document that could not be added
				return
			}
			doc, _ := slices.BinarySearchFunc(s.docs, number+1, func(d stored, n uint64) int { return cmp.Compare(d.anchors, n) })
			if doc--; doc != last { // anchors with one hash come in the order of documents
				shared[doc]++
			}
			last = doc
		})
	}
	for doc := range shared {
		docs = append(docs, doc)
	}
	slices.SortFunc(docs, func(a, b int) int { return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(a, b)) })
	return docs
}

// A span is tokens of a text.
type span struct{ from, to int }

// spans are in any order until size sorts them, and may overlap.
type spans []span

// size returns how many tokens are in any of the spans. It sorts them.
func (s spans) size() (n int) {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	end := 0
	for _, x := range s {
		if x.to > end {
			n += x.to - max(x.from, end)
			end = x.to
		}
	}
	return n
}

// uncovered returns how many tokens of the spans, which are sorted, are not covered. It counts a token that is
// in several spans once.
func (s spans) uncovered(covered []bool) (n int) {
	end := 0
	for _, x := range s {
		for i := max(x.from, end); i < x.to; i++ {
			if !covered[i] {
				n++
			}
		}
		end = max(end, x.to)
	}
	return n
}
