package dedup

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/judge"
)

// This file finds all pairs. It takes a snapshot of the documents first, so that nobody waits for it, and nothing that
// is added meanwhile changes what it finds.

// A snapshot is all documents at one time. Documents and contents are known by their positions: documents in the order of
// adding, contents in that of what is compared, so that nothing depends on the order of adding. Old documents are those
// that [Deduplicator.PairsSince] or [Grouping] does not compare with each other.
type snapshot[ID comparable] struct {
	options  *Options
	docs     []document[ID]
	oldDocs  int // docs[:oldDocs] are old
	contents []sharedContent
	position []int32 // in contents, by slot; -1 for others
	judge    *judge.Judge
	mayHave  func(slot uint32) bool // whether a content may have neighbours
	files    func() error           // the error of the files that have texts
	changes  int
	kept     *kept // of the Deduplicator
}

// A document is what a snapshot has of a stored document.
type document[ID comparable] struct {
	id             ID
	number, length int
	text           uint64
}

// A sharedContent is a slot with the positions of the documents that have its content, ascending.
type sharedContent struct {
	slot uint32
	docs []int32
}

// snapshot takes a snapshot. Documents with a number below old are old in it. It holds the lock only while it copies what is
// known of each document. The error is that of the files.
func (d *Deduplicator[ID]) snapshot(old int) (*snapshot[ID], error) {
	if err := d.settle(); err != nil {
		return nil, err
	}
	contents, graph, file := d.contents.Snapshot(), d.graph.Snapshot(), d.contents.File()
	s := &snapshot[ID]{options: &d.options, kept: &d.kept, files: file.Err, changes: d.changes, mayHave: func(uint32) bool { return true }}
	of := make([][]int32, len(contents)) // the positions of the documents of each slot
	all := make([]int32, 0, len(d.ids))
	at := make([]int32, len(d.docs)) // positions by slot
	for n, slot := range d.inOrder() {
		doc := &d.docs[slot]
		at[slot] = int32(n)
		s.docs = append(s.docs, document[ID]{doc.id, doc.number, doc.length, doc.text})
	}
	for slot := range contents {
		from := len(all)
		for doc := range d.documentsOf(uint32(slot)) {
			all = append(all, at[doc])
		}
		of[slot] = all[from:len(all):len(all)]
	}
	d.mu.RUnlock()

	s.judge = judge.New(d.maker, func(slot uint32) *content.Content { return &contents[slot] }, graph, d.options.Bias, d.options.Memory)
	s.oldDocs, _ = slices.BinarySearchFunc(s.docs, old, func(doc document[ID], old int) int { return cmp.Compare(doc.number, old) })
	if s.oldDocs == 0 {
		may := graph.MayHave()
		s.mayHave = func(slot uint32) bool { return may[slot].Load() }
	}
	s.position = slices.Repeat([]int32{-1}, len(contents))
	for n, slot := range content.Used(d.maker, contents) {
		s.position[slot] = int32(n)
		s.contents = append(s.contents, sharedContent{slot, of[slot]})
	}
	return s, nil
}

// settle locks for reading, with a graph that is settled. The caller unlocks, unless there is an error.
func (d *Deduplicator[ID]) settle() error {
	for {
		if err := d.rlock(); err != nil {
			return err
		}
		if d.graph.IsSettled() {
			return nil
		}
		d.mu.RUnlock()
		if err := d.lock(); err != nil {
			return err
		}
		d.graph.Settle()
		d.mu.Unlock()
	}
}

// inOrder returns the slots of all documents in the order of adding. The caller holds the lock, for reading at least.
func (d *Deduplicator[ID]) inOrder() []int32 {
	slots := make([]int32, 0, len(d.ids))
	for slot := range d.docs {
		if d.docs[slot].number >= 0 {
			slots = append(slots, int32(slot))
		}
	}
	byNumber := func(a, b int32) int { return d.docs[a].number - d.docs[b].number }
	if !slices.IsSortedFunc(slots, byNumber) { // some slots were reused
		slices.SortFunc(slots, byNumber)
	}
	return slots
}

// documentsOf yields the slots of the documents of a content, in the order of adding. The caller holds the lock, for
// reading at least.
func (d *Deduplicator[ID]) documentsOf(slot uint32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for doc := d.chains[slot].first; doc >= 0 && yield(doc); doc = d.docs[doc].next {
		}
	}
}

// A verdict is what is said of a pair.
type verdict struct {
	similarity, probability float64
	kind                    neardup.Kind
}

// judge returns the verdict on two neighbours, and whether they are near-duplicates.
func (o *Options) judge(w *judge.Worker, a, b uint32) (v verdict, ok bool) {
	s := w.Score(a, b)
	if v = (verdict{similarity: s.Similarity, probability: s.Probability}); o.isAlike(v.similarity, v.probability) {
		v.kind = w.Kind(a, b, s)
	}
	return v, v.kind&o.Kinds != 0
}

// isAlike reports whether a pair is similar enough, or probable enough.
func (o *Options) isAlike(similarity, probability float64) bool {
	if o.Similarity > 0 {
		return similarity >= o.Similarity
	}
	return probability >= o.Probability
}

// nearer returns the neighbours with which the content at a position is compared: those that have a smaller one, and old ones,
// which are not compared themselves. They ascend.
func (s *snapshot[ID]) nearer(w *judge.Worker, i int) (at []int32) {
	if !s.mayHave(s.contents[i].slot) {
		return nil
	}
	for _, n := range w.Near(s.contents[i].slot) {
		if j := s.position[n.Slot]; int(j) < i || !s.isFresh(int(j)) {
			at = append(at, j)
		}
	}
	slices.Sort(at)
	return at
}

// isFresh reports whether a content has a new document.
func (s *snapshot[ID]) isFresh(i int) bool {
	docs := s.contents[i].docs
	return int(docs[len(docs)-1]) >= s.oldDocs
}

// oldOf returns how many of docs, ascending positions, are old.
func (s *snapshot[ID]) oldOf(docs []int32) int {
	n, _ := slices.BinarySearch(docs, int32(s.oldDocs))
	return n
}

// documentPairs yields pairs of documents by position, A < B, without those of two old documents.
func (s *snapshot[ID]) documentPairs(ctx context.Context) iter.Seq[neardup.Pair[int]] {
	return func(yield func(neardup.Pair[int]) bool) {
		n := 0
		goOn := func(p neardup.Pair[int]) bool {
			n++
			return (n%1024 != 0 || ctx.Err() == nil) && yield(p)
		}
		// Pairs within a content: equal documents.
		for i := range s.contents {
			if docs := s.contents[i].docs; s.isFresh(i) && (ctx.Err() != nil || !s.equalPairs(docs, s.oldOf(docs), goOn)) {
				return
			}
		}
		// Pairs between two contents: each document of one with each document of the other.
		for e := range s.stream(ctx) {
			if e.kind&s.options.Kinds == 0 {
				continue
			}
			of, with := s.contents[e.b].docs, s.contents[e.a].docs
			for k, x := range of {
				from := 0
				if k < s.oldOf(of) { // document x is old, so only new partners count
					from = s.oldOf(with)
				}
				for _, y := range with[from:] {
					if !goOn(neardup.Pair[int]{A: int(min(x, y)), B: int(max(x, y)), Similarity: e.similarity, Probability: e.probability, Kind: e.kind}) {
						return
					}
				}
			}
		}
	}
}

// equalKind returns the kind of the documents at two positions, which have the same content.
func (s *snapshot[ID]) equalKind(a, b int) neardup.Kind {
	if s.docs[a].text == s.docs[b].text {
		return neardup.Identical
	}
	return neardup.SameWords
}

// equalPairs calls yield for the pairs of documents of one content, by ascending positions: those of
// docs[fresh:] with all before them, as far as their kinds count. It returns false when yield does.
func (s *snapshot[ID]) equalPairs(docs []int32, fresh int, yield func(neardup.Pair[int]) bool) bool {
	kinds := s.options.Kinds
	if len(docs) < 2 || kinds&(neardup.Identical|neardup.SameWords) == 0 {
		return true
	}
	same := map[uint64][]int32{} // the documents so far, by their texts
	for n, b := range docs {
		text := s.docs[b].text
		with := docs[:n]
		switch identical := same[text]; {
		case n < fresh, kinds&neardup.Identical == 0 && len(identical) == n:
			with = nil
		case kinds&neardup.SameWords == 0:
			with = identical
		}
		for _, a := range with {
			p := neardup.Pair[int]{A: int(a), B: int(b), Similarity: 1, Probability: 1, Kind: s.equalKind(int(a), int(b))}
			if kinds&p.Kind != 0 && !yield(p) {
				return false
			}
		}
		same[text] = append(same[text], b)
	}
	return true
}

// Pairs yields all pairs of near-duplicates, each once. A was added before B. Equal documents have the similarity and the
// probability 1, and m of them m(m−1)/2 pairs; Groups does not spell them out. Which pairs there are, and what is said of
// them, depends on nothing but the documents. The order of the pairs is unspecified but always the same. If the
// context ends, its error comes last, with an empty Pair.
//
// Pairs compares the documents that are there when the loop begins. It takes time in proportion to the number of
// documents, and to that of the pairs that have a fifth of their features in common.
func (d *Deduplicator[ID]) Pairs(ctx context.Context) iter.Seq2[neardup.Pair[ID], error] {
	return d.PairsSince(ctx, 0)
}

// PairsSince reports the pairs that involve a document added after the first n that were ever added: new documents with each
// other and with old ones. Old documents are not compared with each other. n counts documents that were replaced or
// deleted since, as [Document.Number] does; with n ≤ 0 it is Pairs.
func (d *Deduplicator[ID]) PairsSince(ctx context.Context, n int) iter.Seq2[neardup.Pair[ID], error] {
	return func(yield func(neardup.Pair[ID], error) bool) {
		s, err := d.snapshot(n)
		if err != nil {
			yield(neardup.Pair[ID]{}, err)
			return
		}
		for p := range s.documentPairs(ctx) {
			if !yield(neardup.Pair[ID]{A: s.docs[p.A].id, B: s.docs[p.B].id, Similarity: p.Similarity, Probability: p.Probability, Kind: p.Kind}, nil) {
				return
			}
		}
		if err := cmp.Or(ctx.Err(), s.files()); err != nil {
			yield(neardup.Pair[ID]{}, err)
		}
	}
}

// A stage is a part of the work, of which Progress is told. It may be used by several goroutines.
type stage struct {
	tell  func(Progress)
	now   Progress
	mu    sync.Mutex
	said  int // how many hundredths
	steps atomic.Int64
}

// begin begins a stage.
func (s *snapshot[ID]) begin(name string, total int) *stage {
	st := &stage{tell: s.options.Progress, now: Progress{Stage: name, Total: total}}
	if st.tell != nil {
		st.tell(st.now)
	}
	return st
}

// add takes note that n more have been done.
func (s *stage) add(n int) {
	if s.tell == nil {
		return
	}
	done := min(int(s.steps.Add(int64(n))), s.now.Total)
	s.mu.Lock()
	defer s.mu.Unlock()
	if percent := done * 100 / max(s.now.Total, 1); percent > s.said {
		s.said, s.now.Done = percent, done
		s.tell(s.now)
	}
}
