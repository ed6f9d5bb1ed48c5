package minhash

import (
	"math/bits"
	"sync/atomic"
)

// New signatures are added one by one to a tail, until there are enough of them to build Tables.
// The tail has a fixed capacity, and is read without locks while one goroutine adds.
//
// For each band there is an array of list heads, indexed by the highest bits of the key. A list
// links the signatures whose keys begin with these bits, the latest first. A head is a single word:
//
//	bits 63–32  key of the latest signature
//	bits 31–1   1 plus its ordinal; 0 for an empty list
//	bit  0      the list has more members
//
// So a reader can tell from the head alone, in most cases, that nothing in the list has its key. A
// new signature first gets its links, and then is stored in the heads. Everything that a head leads
// to was written before it and does not change.

// A Tail finds the signatures of a tail that agree with a query in a band. One goroutine may call
// Add while any number call Search.
type Tail struct {
	*Layout
	slots int             // heads of a band, a power of two
	heads []atomic.Uint64 // band by band
	keys  []uint32        // buffer for Add
	links []bandLink      // of signature i and band b at i·Bands+b
}

// A bandLink is a member of a list: the key of its signature, and 1 plus the ordinal of the next
// member, or 0 at the end.
type bandLink struct{ key, next uint32 }

// NewTail returns an empty Tail for at most size signatures.
func NewTail(l *Layout, size int) *Tail {
	slots := 1 << bits.Len(uint(size-1))
	return &Tail{Layout: l, slots: slots, heads: make([]atomic.Uint64, l.Bands*slots), links: make([]bandLink, l.Bands*size)}
}

// head returns the head of the list for a key.
func (t *Tail) head(band int, key uint32) *atomic.Uint64 {
	return &t.heads[band*t.slots+int(uint64(key)*uint64(t.slots)>>32)]
}

// Add adds signature i, 0 ≤ i < size. Each i may be used once, and doc must not change afterwards.
// The signature of an empty set is skipped.
func (t *Tail) Add(i uint32, doc []uint64) {
	if t.IsEmpty(doc) {
		return
	}
	t.keys = t.Layout.keys(doc, t.keys)
	links := t.links[int(i)*t.Bands:][:t.Bands]
	// Load all heads first: these loads come from memory side by side, while a store would make the
	// next load wait.
	for band, key := range t.keys {
		links[band] = bandLink{key, uint32(t.head(band, key).Load()) / 2}
	}
	for band, key := range t.keys {
		more := min(links[band].next, 1)
		t.head(band, key).Store(uint64(key)<<32 | uint64(2*(i+1)|more))
	}
}

// Search calls emit for every document that agrees with the query in a band, each once. docs are
// the words of all documents of the tail. It skips documents for which sees returns false: the
// caller began before they were added, or they are deleted. It stops when emit returns false.
func (t *Tail) Search(q *Query, docs []uint64, sees func(i uint32) bool, emit func(i uint32, doc []uint64) bool) {
	for band, key := range q.keys {
		head := t.head(band, key).Load()
		if uint32(head>>32) != key && head&1 == 0 {
			continue
		}
		for at := uint32(head) / 2; at != 0; {
			link := &t.links[int(at-1)*t.Bands+band]
			if link.key == key && sees(at-1) {
				doc := docs[int(at-1)*t.Words:][:t.Words]
				if t.IsFirst(doc, q.doc, band) && !emit(at-1, doc) {
					return
				}
			}
			at = link.next
		}
	}
}
