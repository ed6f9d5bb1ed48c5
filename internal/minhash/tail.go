package minhash

import (
	"math/bits"
	"sync/atomic"
)

// A Tail finds the signatures of a tail that agree with a query in a band, while
// others are added. The signatures whose keys begin with the same bits are a list, of
// which the last added is the head.
type Tail struct {
	*Layout
	slots int             // of a band, a power of two
	heads []atomic.Uint64 // of lists: key, the number of the signature, and whether others follow
	keys  []uint32        // of the signature that is being added
	links []bandLink      // of each signature one for each band; what a head leads to does not change
}

// A bandLink is a member of a list. Numbers of signatures begin with 1, 0 is the end.
type bandLink struct{ key, next uint32 }

func NewTail(l *Layout, size int) *Tail {
	slots := 1 << bits.Len(uint(size-1))
	return &Tail{Layout: l, slots: slots, heads: make([]atomic.Uint64, l.Bands*slots), links: make([]bandLink, l.Bands*size)}
}

func (t *Tail) head(band int, key uint32) *atomic.Uint64 {
	return &t.heads[band*t.slots+int(uint64(key)*uint64(t.slots)>>32)]
}

func (t *Tail) Add(i uint32, doc []uint64) {
	if t.IsEmpty(doc) {
		return
	}
	t.keys = t.Layout.keys(doc, t.keys)
	links := t.links[int(i)*t.Bands:][:t.Bands]
	for band, key := range t.keys { // all come from memory side by side; stores would wait for each other
		links[band] = bandLink{key, uint32(t.head(band, key).Load()) / 2}
	}
	for band, key := range t.keys {
		more := min(links[band].next, 1)
		t.head(band, key).Store(uint64(key)<<32 | uint64(2*(i+1)|more))
	}
}

// Search calls emit for every document that agrees with that of the query in a band, each
// once, if sees does not leave it out. It ends when emit returns false.
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
