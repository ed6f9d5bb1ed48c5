package pebblestore

import "github.com/neardup/neardup/blockstore"

// maxPending is how many documents may be pending. When there are as many, all of them enter the
// tables at once, which takes up to a second.
const maxPending = 1 << 17

// A pending is the documents that are in no table of Pebble yet: a small index in memory, with
// tables of the same keys. In each table, the documents whose keys have the same hash form a
// chain.
type pending struct {
	keys   blockstore.Keys
	max    int              // maxPending, except in tests
	docs   []blockstore.Row // with an empty id if the document was removed
	at     map[string]int32 // by id, the place in docs
	tables []chains
	buffer []uint64
}

// A chains has the chains of one table. last leads from a hash to the last document that has it,
// and before leads from each document to the one before it. Both count documents from 1, and 0
// means none. keys has the low half of the key of each document.
type chains struct {
	last   [1 << 13]int32
	before []int32
	keys   []uint32
}

// newPending returns an empty index.
func newPending(keys blockstore.Keys, max int) *pending {
	return &pending{keys: keys, max: max, at: map[string]int32{}, tables: make([]chains, keys.Tables())}
}

// len returns the number of documents.
func (p *pending) len() int { return len(p.at) }

// clear removes all documents. It keeps the memory for the next ones, unless that is much.
func (p *pending) clear() {
	if cap(p.docs) > 2*maxPending {
		*p = *newPending(p.keys, p.max)
		return
	}
	clear(p.docs)
	p.docs = p.docs[:0]
	clear(p.at)
	for i := range p.tables {
		clear(p.tables[i].last[:])
		p.tables[i].before, p.tables[i].keys = p.tables[i].before[:0], p.tables[i].keys[:0]
	}
}

// chainOf returns the hash of a key.
func chainOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> (64 - 13) }

// add adds a document and replaces the document that had the id. If it has the same value, only the
// time changes.
func (p *pending) add(r blockstore.Row) {
	if i, ok := p.at[r.ID]; ok && p.docs[i].Value == r.Value {
		p.docs[i].Added = r.Added
		return
	}
	p.remove(r.ID)
	p.docs = append(p.docs, r)
	n := int32(len(p.docs))
	p.at[r.ID] = n - 1
	p.buffer = p.keys.AppendKeys(p.buffer[:0], r.Value)
	for i := range p.tables {
		t := &p.tables[i]
		t.before, t.keys = append(t.before, 0), append(t.keys, 0)
		if len(p.buffer) > 0 { // else nothing finds it
			last := &t.last[chainOf(p.buffer[i])]
			t.before[n-1], t.keys[n-1], *last = *last, uint32(p.buffer[i]), n
		}
	}
}

// remove removes an id, if it is there. Its place in docs stays until clear.
func (p *pending) remove(id string) {
	if i, ok := p.at[id]; ok {
		p.docs[i].ID = ""
		delete(p.at, id)
	}
}

// find calls yield for each document that has one of the keys, one for each table, until yield
// returns false. It may yield a document several times, once for each table that leads to it.
func (p *pending) find(keys []uint64, yield func(id, value string) bool) bool {
	for i, key := range keys {
		t := &p.tables[i]
		for n := t.last[chainOf(key)]; n > 0; n = t.before[n-1] {
			if doc := &p.docs[n-1]; t.keys[n-1] == uint32(key) && doc.ID != "" && !yield(doc.ID, doc.Value) {
				return false
			}
		}
	}
	return true
}
