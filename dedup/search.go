package dedup

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/internal/parallel"
)

// This file has the searches of a [Deduplicator], and those that also add a document.
//
// A search holds the lock for reading from beginning to end, so searches run side by side, and what they see
// does not change. The text of the caller is made into a document before that, without the lock.
//
// A search must answer as if the document had been added: it is a guest of the judge, and counts in the
// neighbourhoods of others. A document that it would replace must not count. Nothing is written for either.

// Search yields the stored near-duplicates of a document, the most probable first, equally probable ones by
// their similarity, and equally similar ones in the order of adding: what Pairs would report about the document
// if it were added. It is not added. A document that was added finds itself. An error comes last, with an empty
// Match: that of the files, that of the context, or that of Add for a record.
//
// The search runs when the loop begins and yields what it found then. It looks at all documents that have
// much in common with this one, which takes well below a millisecond if there are few, and up to about a
// hundred milliseconds if there are 256. If there are more, such as for a letter that thousands have signed,
// it looks at the nearest ones, and yields up to 64 of them. For a whole collection, Pairs and Groups are
// faster, since they share this work.
func (d *Deduplicator[ID]) Search(ctx context.Context, doc neardup.Document) iter.Seq2[neardup.Match[ID], error] {
	return func(yield func(neardup.Match[ID], error) bool) {
		found, err := d.search(ctx, doc, math.MaxInt)
		for _, m := range found {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(neardup.Match[ID]{}, err)
		}
	}
}

// SearchTop returns the first n matches that Search yields: near-duplicates only, so often fewer than n. Of
// many equal documents it looks at n. In a crowd these are the nearest n that it finds.
func (d *Deduplicator[ID]) SearchTop(ctx context.Context, doc neardup.Document, n int) (found []neardup.Match[ID], err error) {
	return d.search(ctx, doc, n)
}

// SearchMany is Search for many documents at a time, on all processors. found[i] has the matches of docs[i].
// The error is that of the first document that has one.
func (d *Deduplicator[ID]) SearchMany(ctx context.Context, docs []neardup.Document) (found [][]neardup.Match[ID], err error) {
	found = make([][]neardup.Match[ID], len(docs))
	errs := make([]error, len(docs))
	parallel.Each(len(docs), func(i int) { found[i], errs[i] = d.search(ctx, docs[i], math.MaxInt) })
	return found, cmp.Or(errs...)
}

// search returns the first near-duplicates of a document.
func (d *Deduplicator[ID]) search(ctx context.Context, doc neardup.Document, most int) (found []neardup.Match[ID], err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	made, err := d.maker.Make(doc)
	if err != nil {
		return nil, err
	}
	if err := d.settle(); err != nil {
		return nil, err
	}
	defer d.mu.RUnlock()
	return d.find(ctx, &made, gone, most)
}

// Exists reports whether Search finds anything. It takes as long as Search.
func (d *Deduplicator[ID]) Exists(ctx context.Context, doc neardup.Document) (bool, error) {
	found, err := d.search(ctx, doc, 1)
	return len(found) > 0, err
}

// SearchAndAdd is Search and Add in one step: of two calls at the same time, one finds the other's document. It
// returns the near-duplicates in the order of Search. The document that had the same id is replaced and not
// returned. After an error, including that of the context, nothing is stored.
func (d *Deduplicator[ID]) SearchAndAdd(ctx context.Context, id ID, doc neardup.Document) ([]neardup.Match[ID], error) {
	found, _, err := d.searchAndAdd(ctx, id, doc, math.MaxInt, math.MaxInt)
	return found, err
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether there is a near-duplicate.
func (d *Deduplicator[ID]) ExistsAndAdd(ctx context.Context, id ID, doc neardup.Document) (bool, error) {
	found, _, err := d.searchAndAdd(ctx, id, doc, 1, math.MaxInt)
	return len(found) > 0, err
}

// AddIfNew stores a document under an id, unless there is one like it. It either
//
//   - stores it, and added is true;
//   - or finds near-duplicates: it returns the first n of them in the order of Search, one if n is less than 1;
//   - or there is a document with the id already, and it returns neither.
//
// Of two calls at the same time, one finds the other's document. After an error, including that of the
// context, nothing is stored.
func (d *Deduplicator[ID]) AddIfNew(ctx context.Context, id ID, doc neardup.Document, n int) (found []neardup.Match[ID], added bool, err error) {
	return d.searchAndAdd(ctx, id, doc, max(n, 1), 1)
}

// AddIfFewer is [Deduplicator.AddIfNew] for a budget: it stores a document unless n near-duplicates are there already, so the first n of a group stay. With n less than 1 it
// stores nothing. It returns up to n near-duplicates, also if the document was added.
func (d *Deduplicator[ID]) AddIfFewer(ctx context.Context, id ID, doc neardup.Document, n int) (found []neardup.Match[ID], added bool, err error) {
	return d.searchAndAdd(ctx, id, doc, max(n, 1), max(n, 0))
}

// searchAndAdd finds the first near-duplicates of a document and stores it if there are fewer than some, unless that is math.MaxInt: then it replaces what has the id.
// Others may search meanwhile.
//
// It searches with the lock for reading and adds with the lock for writing. In between, other goroutines may
// add. What another searchAndAdd adds there cannot be a near-duplicate, and has another id; additions sees to
// that. What Add adds there may be one, and is not looked for again, but its id is.
func (d *Deduplicator[ID]) searchAndAdd(ctx context.Context, id ID, of neardup.Document, most, fewer int) (found []neardup.Match[ID], added bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	doc, err := d.maker.Make(of)
	if err != nil {
		return nil, false, err
	}
	always := fewer == math.MaxInt
	defer d.adding.begin(id, &doc)()
	if err := d.settle(); err != nil {
		return nil, false, err
	}
	replaced, is := d.slotOf(id)
	if !is {
		replaced = gone
	} else if !always {
		defer d.mu.RUnlock()
		return nil, false, d.usable()
	}
	found, err = d.find(ctx, &doc, replaced, most)
	d.mu.RUnlock()
	if err != nil || len(found) >= fewer {
		return found, false, err
	}
	if err := d.lock(); err != nil {
		return nil, false, err
	}
	defer d.mu.Unlock()
	if !always { // Add does not tell what it adds
		if _, is := d.slotOf(id); is {
			return nil, false, d.usable()
		}
	}
	err = d.addLocked([]arrival[ID]{{id: id, doc: doc}})
	return found, err == nil, err
}

// Additions are the documents that calls search for before they add them. A call waits while another one may be
// about to add a near-duplicate of its document, or one with its id. All other calls go side by side. Without
// this, two calls with the same text could both find nothing and both add it.
type additions[ID comparable] struct {
	sync.Mutex
	ended sync.Cond // of the same lock; set by the first call
	all   []*addition[ID]
}

type addition[ID comparable] struct {
	id  ID
	doc *content.Document
}

// begin waits until nobody is about to add what may be a near-duplicate of a document or has its id. The caller
// calls end when it has added the document, or is not going to. It must not hold a lock of the Deduplicator while it
// waits, since the others need that to go on. MayBeNear compares signatures only, so a call may wait for nothing.
func (a *additions[ID]) begin(id ID, doc *content.Document) (end func()) {
	mine := &addition[ID]{id, doc}
	isOther := func(x *addition[ID]) bool {
		return x.id == id || x.doc.Digest == doc.Digest || neighbour.MayBeNear(&x.doc.Set, &doc.Set)
	}
	a.Lock()
	defer a.Unlock()
	if a.ended.L == nil {
		a.ended.L = &a.Mutex
	}
	for slices.ContainsFunc(a.all, isOther) {
		a.ended.Wait()
	}
	a.all = append(a.all, mine)
	return func() {
		a.Lock()
		defer a.Unlock()
		a.all = slices.DeleteFunc(a.all, func(x *addition[ID]) bool { return x == mine })
		a.ended.Broadcast()
	}
}

// judge returns the judge of the documents as they are. The caller holds the lock, for reading at least. A
// judge is kept from one search to the next for its caches. After a change it keeps the texts, and drops what
// depends on other documents.
func (d *Deduplicator[ID]) judge() *judge.Judge {
	l := &d.judged
	l.Lock()
	defer l.Unlock()
	switch {
	case l.judge == nil:
		l.judge = judge.New(d.maker, &d.contents.Contents, d.graph, nil, d.options.Bias, min(d.options.Memory, mostForSearches))
	case l.changes != d.changes:
		l.judge = l.judge.Changed()
	}
	l.changes = d.changes
	return l.judge
}

// A judged is the judge of the last search.
type judged struct {
	sync.Mutex
	judge   *judge.Judge // nil until it is needed
	changes int          // those of the Deduplicator at that time
}

// find returns the first near-duplicates of a document, as they would be without the document in a slot, unless
// that is gone. The caller holds the lock, for reading at least, and the graph is settled.
//
// If a stored document has the same content, the search starts from that content, and no guest is needed. The
// document that is replaced only has to be left out of the neighbourhoods if its content goes with it.
func (d *Deduplicator[ID]) find(ctx context.Context, doc *content.Document, replaced uint32, most int) ([]neardup.Match[ID], error) {
	if !doc.HasFeatures() {
		return nil, nil
	}
	var hits []hit
	add := func(slot uint32, v verdict) {
		left := most // equal ones are in the order of adding, so no others count
		for at := range d.documentsOf(slot) {
			if left <= 0 {
				return
			}
			h := hit{v, at}
			if v.kind == 0 { // of equal contents
				if h.kind = neardup.SameWords; d.docs.At(at).text == doc.Text {
					h.kind = neardup.Identical
				}
			}
			if at != replaced && h.kind&d.options.Kinds != 0 {
				hits = append(hits, h)
				left--
			}
		}
	}
	j, from, without := d.judge(), neighbour.None, d.goesWith(replaced)
	if slot, ok := d.contents.Find(&doc.Content); ok {
		add(slot, verdict{similarity: 1, probability: 1})
		if from = slot; from == without { // which stays then
			without = neighbour.None
		}
		j = j.With(nil, without)
	} else {
		j = j.With(&judge.Guest{Content: doc.Content, Set: doc.Set}, without)
	}
	w := j.Worker()
	defer w.Done()
	if err := d.findIn(ctx, w, from, most, func() int { return len(hits) }, add); err != nil {
		return nil, err
	}
	found := d.matches(hits, most)
	if err := d.usable(); err != nil {
		return nil, err
	}
	return found, nil
}

// findIn calls add with the near-duplicates of a content. found returns how many documents that makes so far.
// Outside of a crowd it compares all neighbours, even if the caller wants few matches, since the most probable
// ones come first and any of them may be that. In a crowd it stops early, and the matches are the best of
// those it has looked at.
func (d *Deduplicator[ID]) findIn(ctx context.Context, w *judge.Worker, from uint32, most int, found func() int, add func(slot uint32, v verdict)) error {
	if !w.IsCrowded(from) {
		for _, n := range slices.Clone(w.Near(from)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if v, ok := d.options.judge(w, from, n.Slot); ok {
				add(n.Slot, v)
			}
		}
		return nil
	}
	missed := 0
	for n := range w.Nearest(from) {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, ok := d.options.judge(w, from, n.Slot)
		if missed++; ok {
			add(n.Slot, v)
			missed = 0
		}
		if found() >= min(most, mostFound) || missed == mostMissedBySearch {
			break
		}
	}
	return nil
}

// goesWith returns the content that nobody has if a document goes, or none.
func (d *Deduplicator[ID]) goesWith(slot uint32) uint32 {
	if slot != gone && d.contents.IsLast(d.docs.At(slot).content) {
		return d.docs.At(slot).content
	}
	return neighbour.None
}

// A hit is a document that find has found.
type hit struct {
	verdict
	slot uint32
}

// matches returns the first hits in the order of Search.
func (d *Deduplicator[ID]) matches(hits []hit, most int) []neardup.Match[ID] {
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.probability, a.probability), cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.slot, b.slot))
	})
	hits = hits[:max(min(len(hits), most), 0)]
	out := make([]neardup.Match[ID], len(hits))
	for i, h := range hits {
		out[i] = neardup.Match[ID]{ID: d.names.at(h.slot), Similarity: h.similarity, Probability: h.probability, Kind: h.kind}
	}
	return out
}
