package pebblestore

import (
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// maxPending is how many documents may be pending. When there are as many, all of them enter the
// tables at once, which takes up to a second.
const maxPending = 1 << 17

// A pending is the documents that are in no table of Pebble yet: a small index in memory, with
// tables of the same blocks. In each table, the documents whose keys have the same hash form a
// chain.
type pending struct {
	blocks blockstore.Blocks
	max    int // maxPending, except in tests
	docs   []pendingDoc
	at     map[string]int32 // by id, the place in docs
	tables []chains
}

// A pendingDoc is a document, or what is left of one that was removed.
type pendingDoc struct {
	id string // empty if the document was removed
	fp neardup.Fingerprint64
}

// A chains has the chains of one table. last leads from a hash to the last document that has it,
// and before leads from each document to the one before it. Both count documents from 1, and 0
// means none.
type chains struct {
	last   [1 << 13]int32
	before []int32
}

// newPending returns an empty index.
func newPending(b blockstore.Blocks, max int) *pending {
	return &pending{blocks: b, max: max, at: map[string]int32{}, tables: make([]chains, b.Tables())}
}

// len returns the number of documents.
func (p *pending) len() int { return len(p.at) }

// clear removes all documents. It keeps the memory for the next ones, unless that is much.
func (p *pending) clear() {
	if cap(p.docs) > 2*maxPending {
		*p = *newPending(p.blocks, p.max)
		return
	}
	clear(p.docs)
	p.docs = p.docs[:0]
	clear(p.at)
	for i := range p.tables {
		clear(p.tables[i].last[:])
		p.tables[i].before = p.tables[i].before[:0]
	}
}

// chainOf returns the hash of a key.
func chainOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> (64 - 13) }

// add adds a document and replaces the document that had the id.
func (p *pending) add(id string, fp neardup.Fingerprint64) {
	p.remove(id)
	p.docs = append(p.docs, pendingDoc{id, fp})
	n := int32(len(p.docs))
	p.at[id] = n - 1
	for i := range p.tables {
		t := &p.tables[i]
		last := &t.last[chainOf(p.blocks.Key(i, fp))]
		t.before = append(t.before, *last)
		*last = n
	}
}

// remove removes an id, if it is there. Its place in docs stays until clear.
func (p *pending) remove(id string) {
	if i, ok := p.at[id]; ok {
		p.docs[i].id = ""
		delete(p.at, id)
	}
}

// near calls yield for each document within the distance, until yield returns false. It may yield a
// document several times, once for each table that leads to it.
func (p *pending) near(fp neardup.Fingerprint64, yield func(id string, distance int) bool) {
	for i := range p.tables {
		t := &p.tables[i]
		for n := t.last[chainOf(p.blocks.Key(i, fp))]; n > 0; n = t.before[n-1] {
			doc := &p.docs[n-1]
			if d := fp.Distance(doc.fp); d <= p.blocks.Distance() && doc.id != "" && !yield(doc.id, d) {
				return
			}
		}
	}
}
