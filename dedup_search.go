package neardup

import (
	"cmp"
	"iter"
	"slices"
)

// This file has the searches of a [Deduplicator]. Those that also add a document do both under one lock, so of
// two at the same time one finds the other's document.

// Search yields the stored near-duplicates of a text, the most similar first, and equally similar
// ones in the order of adding. It does not add the text. A text that was added finds itself. An
// error comes last, with an empty Match.
//
// The search runs when the loop begins and yields what it found then. Now and then it recomputes
// the weights first, which takes time for all documents.
func (d *Deduplicator[ID]) Search(text string) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		matchSeq(d.find(nil, d.options().Fingerprinter.profile(text)))(yield)
	}
}

// SearchRecord is Search for a record; see AddRecord for its errors.
func (d *Deduplicator[ID]) SearchRecord(rec Record) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		p, err := d.options().Fingerprinter.recordProfile(rec)
		if err != nil {
			yield(Match[ID]{}, err)
			return
		}
		matchSeq(d.find(nil, p))(yield)
	}
}

// Exists reports whether Search finds anything. It takes as long as Search.
func (d *Deduplicator[ID]) Exists(text string) (bool, error) {
	for _, err := range d.Search(text) {
		return err == nil, err
	}
	return false, nil
}

// SearchAndAdd is Search and Add in one step: of two calls at the same time, one finds the other's
// document. It returns the near-duplicates in the order of Search. The document that had the same
// id is replaced and not returned.
func (d *Deduplicator[ID]) SearchAndAdd(id ID, text string) ([]Match[ID], error) {
	return d.find(&id, d.options().Fingerprinter.profile(text))
}

// SearchAndAddRecord is SearchAndAdd for a record; see AddRecord for its errors.
func (d *Deduplicator[ID]) SearchAndAddRecord(id ID, rec Record) ([]Match[ID], error) {
	p, err := d.options().Fingerprinter.recordProfile(rec)
	if err != nil {
		return nil, err
	}
	return d.find(&id, p)
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether there is a near-duplicate.
func (d *Deduplicator[ID]) ExistsAndAdd(id ID, text string) (bool, error) {
	found, err := d.SearchAndAdd(id, text)
	return len(found) > 0, err
}

// find returns the near-duplicates of a profile. If id is not nil it also stores the profile under
// the id, all under one lock.
func (d *Deduplicator[ID]) find(id *ID, p reading) ([]Match[ID], error) {
	replaced := int32(-1) // the slot of the document with the id
	if id != nil {
		if err := d.lock(); err != nil {
			return nil, err
		}
		defer d.mu.Unlock()
		if err := d.refresh(); err != nil {
			return nil, err
		}
		if slot, ok := d.ids[*id]; ok {
			replaced = slot
		}
	} else {
		unlock, err := d.lockFresh()
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	type hit struct {
		similarity float64
		slot       int32
		kind       Kind
	}
	var hits []hit
	kinds, filled := d.options().Kinds, d.known.forms.Read(p.formWords())
	near, err := d.known.index.search(&p.profile, d.contents)
	if err != nil {
		return nil, err
	}
	for _, m := range near {
		c := &d.contents[m.slot]
		kind := kindOf(p.words, c.allWords(), filled, d.known.filled[m.slot])
		for slot := range d.documentsOf(c) {
			if h := (hit{m.similarity, slot, kind.ofTexts(p.text, d.docs[slot].text)}); h.kind&kinds != 0 && slot != replaced {
				hits = append(hits, h)
			}
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), d.docs[a.slot].number-d.docs[b.slot].number)
	})
	out := make([]Match[ID], len(hits))
	for i, h := range hits {
		out[i] = Match[ID]{ID: d.docs[h.slot].id, Similarity: h.similarity, Kind: h.kind}
	}
	if id != nil {
		return out, d.enter(*id, p)
	}
	return out, nil
}

// lockFresh locks for reading, with a history that is up to date, and returns the function that
// unlocks. A history is recomputed under the other lock, so another change may come between the
// two; therefore it checks again.
func (d *Deduplicator[ID]) lockFresh() (unlock func(), err error) {
	for {
		if err := d.rlock(); err != nil {
			return nil, err
		}
		if !d.isStale() {
			return d.mu.RUnlock, nil
		}
		d.mu.RUnlock()
		if err := d.lock(); err != nil {
			return nil, err
		}
		err := d.refresh()
		d.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}
