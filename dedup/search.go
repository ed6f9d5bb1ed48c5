package dedup

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/dedup/internal/neighbour"
)

// This file has the searches of a [Deduplicator], and those that also add a document.

// Search yields the stored near-duplicates of a text, the most probable first, equally probable ones by their similarity,
// and equally similar ones in the order of adding: what Pairs would say of the text if it were added. It is not added. A
// text that was added finds itself. An error comes last, with an empty Match.
//
// The search runs when the loop begins and yields what it found then.
func (d *Deduplicator[ID]) Search(text string) iter.Seq2[neardup.Match[ID], error] {
	return d.search(math.MaxInt, func() (content.Document, error) { return d.maker.Text(text), nil })
}

// Nearest returns the first n matches that Search yields. Of many equal documents it looks at n.
func (d *Deduplicator[ID]) Nearest(text string, n int) (found []neardup.Match[ID], err error) {
	for m, err := range d.search(n, func() (content.Document, error) { return d.maker.Text(text), nil }) {
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

// SearchRecord is Search for a record; see AddRecord for its errors.
func (d *Deduplicator[ID]) SearchRecord(rec neardup.Record) iter.Seq2[neardup.Match[ID], error] {
	return d.search(math.MaxInt, func() (content.Document, error) { return d.maker.Record(rec) })
}

// search yields the first near-duplicates of what make makes.
func (d *Deduplicator[ID]) search(most int, make func() (content.Document, error)) iter.Seq2[neardup.Match[ID], error] {
	return func(yield func(neardup.Match[ID], error) bool) {
		doc, err := make()
		var found []neardup.Match[ID]
		if err == nil {
			if err = d.settle(); err == nil {
				found, err = d.find(&doc, gone, most)
				d.mu.RUnlock()
			}
		}
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

// Exists reports whether Search finds anything. It takes as long as Search.
func (d *Deduplicator[ID]) Exists(text string) (bool, error) {
	for _, err := range d.Search(text) {
		return err == nil, err
	}
	return false, nil
}

// SearchAndAdd is Search and Add in one step: of two calls at the same time, one finds the other's document. It returns the
// near-duplicates in the order of Search. The document that had the same id is replaced and not returned.
func (d *Deduplicator[ID]) SearchAndAdd(id ID, text string) ([]neardup.Match[ID], error) {
	found, _, err := d.searchAndAdd(id, d.maker.Text(text), math.MaxInt, false)
	return found, err
}

// SearchAndAddRecord is SearchAndAdd for a record; see AddRecord for its errors.
func (d *Deduplicator[ID]) SearchAndAddRecord(id ID, rec neardup.Record) ([]neardup.Match[ID], error) {
	doc, err := d.maker.Record(rec)
	if err != nil {
		return nil, err
	}
	found, _, err := d.searchAndAdd(id, doc, math.MaxInt, false)
	return found, err
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether there is a near-duplicate.
func (d *Deduplicator[ID]) ExistsAndAdd(id ID, text string) (bool, error) {
	found, err := d.SearchAndAdd(id, text)
	return len(found) > 0, err
}

// AddIfNew stores a text under an id, unless there is a near-duplicate or a document with the id. It reports whether it did, and
// returns the first n near-duplicates in the order of Search, at least one, but none if there is a document with the id. Of two calls at the same time, one finds
// the other's document.
func (d *Deduplicator[ID]) AddIfNew(id ID, text string, n int) (found []neardup.Match[ID], added bool, err error) {
	return d.searchAndAdd(id, d.maker.Text(text), max(n, 1), true)
}

// searchAndAdd finds the first near-duplicates of a document and stores it; with ifNew, only if there are none. Others may search meanwhile.
func (d *Deduplicator[ID]) searchAndAdd(id ID, doc content.Document, most int, ifNew bool) (found []neardup.Match[ID], added bool, err error) {
	defer d.adding.begin(id, &doc)()
	if err := d.settle(); err != nil {
		return nil, false, err
	}
	replaced, is := d.slotOf(id)
	if !is {
		replaced = gone
	} else if ifNew {
		defer d.mu.RUnlock()
		return nil, false, d.usable()
	}
	found, err = d.find(&doc, replaced, most)
	d.mu.RUnlock()
	if err != nil || ifNew && len(found) > 0 {
		return found, false, err
	}
	if err := d.lock(); err != nil {
		return nil, false, err
	}
	defer d.mu.Unlock()
	if ifNew { // Add does not tell what it adds
		if _, is := d.slotOf(id); is {
			return nil, false, d.usable()
		}
	}
	err = d.enter(id, doc)
	return found, err == nil, err
}

// Additions are the documents that calls search for before they add them. Nobody begins to search for one that another call may be about to add
// as its near-duplicate, so all others can go side by side.
type additions[ID comparable] struct {
	sync.Mutex
	ended sync.Cond // of the same lock; set by the first call
	all   []*addition[ID]
}

type addition[ID comparable] struct {
	id  ID
	doc *content.Document
}

// begin waits until nobody is about to add what may be a near-duplicate of a document or has its id. The caller calls end when it has added the
// document, or is not going to.
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

// judge returns the judge of the documents as they are. The caller holds the lock, for reading at least.
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

// mostForSearches is how much of the memory searches use for what they have made of texts. Most texts are looked at by one search alone.
const mostForSearches = 1 << 30

// A judged is the judge of the last search.
type judged struct {
	sync.Mutex
	judge   *judge.Judge // nil until it is needed
	changes int          // those of the Deduplicator at that time
}

// find returns the first near-duplicates of a document, as they would be without the document in a slot, unless that is gone. The
// caller holds the lock, for reading at least, and the graph is settled.
func (d *Deduplicator[ID]) find(doc *content.Document, replaced uint32, most int) ([]neardup.Match[ID], error) {
	if !doc.HasFeatures() {
		return nil, nil
	}
	type hit struct {
		verdict
		slot uint32
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
	without := neighbour.None // the content that goes with the document that is replaced
	if replaced != gone && d.contents.IsLast(d.docs.At(replaced).content) {
		without = d.docs.At(replaced).content
	}
	j, from := d.judge(), neighbour.None
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
	for _, n := range slices.Clone(w.Near(from)) {
		if v, ok := d.options.judge(w, from, n.Slot); ok {
			add(n.Slot, v)
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.probability, a.probability), cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.slot, b.slot))
	})
	hits = hits[:max(min(len(hits), most), 0)]
	out := make([]neardup.Match[ID], len(hits))
	for i, h := range hits {
		out[i] = neardup.Match[ID]{ID: d.names.at(h.slot), Similarity: h.similarity, Probability: h.probability, Kind: h.kind}
	}
	return out, cmp.Or(d.contents.File().Err(), d.graph.Err())
}
