package content

import (
	"cmp"
	"fmt"
	"math"

	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/parallel"
)

// This file adds documents to a store, many at a time. What takes time for each byte runs on all processors:
// contents are compared, and signatures and texts copied and checksummed, each to a place that was reserved for
// it. One goroutine then gives out places and slots, for which it needs no more than the entries.

// A Batch is documents that are being added to a store: after Begin comes Write, unless the texts are in the
// file already, and then Use. Meanwhile nobody may change the store otherwise.
//
// Write can fail and Use cannot. Write adds to the file, but gives out no slots. So after an error of
// Write, or of whatever the caller does between the two, the store has the contents that it had before, and
// some waste in its file.
type Batch struct {
	store *Store
	docs  []*Document
	items []batchItem
}

// A batchItem is what the entry of a document will be.
type batchItem struct {
	entry
	slot  uint32 // of the content; none if the store does not have it
	first int32  // the first document with the same content; of no use if the store has it
	isNew bool   // after Use: the slot is a new one
}

// none means that a slot is not known.
const none = ^uint32(0)

// isNew reports whether document i is the first one with its content.
func (b *Batch) isNew(i int) bool { return b.items[i].slot == none && b.items[i].first == int32(i) }

// Begin begins to add up to [MostAtOnce] documents. It finds out which of them have a content that the store
// has, or that an earlier one has. It only reads the store, and uses all processors.
func (s *Store) Begin(docs []*Document) *Batch {
	b := &Batch{s, docs, make([]batchItem, len(docs))}
	b.each(func(i int, d *Document, x *batchItem) {
		x.slot, x.first = none, int32(i)
		if slot, ok := s.Find(&d.Content); ok {
			x.slot, d.Content = slot, s.At(slot) // whose body may differ, but not in what is compared
		}
		x.set(&d.Content)
	})
	if len(docs) == 1 {
		return b
	}
	firsts := Firsts(len(docs), func(i int) uint64 { return b.items[i].digest }, func(i int) bool { return b.items[i].slot == none && b.items[i].bytes > 0 }, func(i, j int) bool {
		return s.maker.Compare(&docs[i].Content, &docs[j].Content) == 0
	})
	for i, first := range firsts {
		b.items[i].first = int32(first)
	}
	return b
}

// set sets the entry. One whose text is not in the file yet has no place, and Write sets it again. Write also
// refuses a text whose length does not fit here.
func (x *batchItem) set(c *Content) {
	x.entry = entry{digest: c.Digest, place: uint64(c.at) | uint64(c.form)<<placeBits, bytes: uint32(min(c.bytes, math.MaxInt32)), users: 1}
}

// each calls do for each document, on all processors.
func (b *Batch) each(do func(i int, d *Document, x *batchItem)) {
	parallel.ChunksOf(16, len(b.docs), func(_, from, to int) {
		for i := from; i < to; i++ {
			do(i, b.docs[i], &b.items[i])
		}
	})
}

// Write moves the signatures and texts to the file that are not there already. After an error, only the
// documents before the first n are there. Documents with one content end up with one place, so that what the
// caller writes elsewhere names the same text for all of them.
func (b *Batch) Write() (n int, err error) {
	s := b.store
	if err := cmp.Or(s.tidy(), s.entries.MakeRoom(len(b.docs))); err != nil {
		return 0, err
	}
	var of []*Document // those that are to be written
	var sizes []int    // of the signatures and of the text of each, which must follow each other in the file
	for n < len(b.items) {
		if x := &b.items[n]; b.isNew(n) && x.bytes > 0 {
			d := b.docs[n]
			if d.bytes > math.MaxInt32 {
				err = fmt.Errorf("neardup: a text of %d bytes is longer than 2 GiB", d.bytes)
				break
			}
			of, sizes = append(of, d), append(sizes, d.Set.Bytes(), d.bytes)
		}
		n++
	}
	b.docs, b.items = b.docs[:n], b.items[:n]
	if len(of) > 0 {
		places, failed := s.file.AppendAll(sizes, func(k int, to []byte) {
			if d := of[k/2]; k%2 == 0 {
				d.Set.Append(to[:0])
			} else {
				d.stored(func(text string) { copy(to, text) })
			}
		})
		if failed != nil {
			return 0, failed
		}
		for k, d := range of {
			d.at, d.file, d.body, d.own = places[2*k+1], s.file, "", nil
			d.form |= signedForm(&d.Set)
		}
		b.each(func(i int, d *Document, x *batchItem) { x.set(&d.Content) })
	}
	for i := range b.items {
		if x := &b.items[i]; x.slot == none && x.first != int32(i) {
			b.docs[i].Content = b.docs[x.first].Content
		}
	}
	return n, err
}

// Use gives the contents of the first n documents slots. There is one more user of each. Slots are given out in
// the order of the documents, free ones first, and so do not depend on the number of processors. The first
// document with a content always comes before the others, so its slot is known when they need it.
func (b *Batch) Use(n int) {
	s := b.store
	b.items = b.items[:n]
	var digests []uint64
	var of []uint32
	for i := range b.items {
		x := &b.items[i]
		if !b.isNew(i) {
			if x.slot == none {
				x.slot = b.items[x.first].slot
			}
			s.entries.Change(x.slot).users++
			continue
		}
		x.isNew = true
		if n := len(s.free); n > 0 {
			x.slot, s.free = s.free[n-1], s.free[:n-1]
			*s.entries.Change(x.slot) = x.entry
		} else {
			x.slot = uint32(s.entries.Len())
			s.entries.Append(x.entry)
		}
		if s.used += x.inFile(); x.bytes > 0 {
			digests, of = append(digests, x.digest), append(of, x.slot)
		}
	}
	s.digests.AddAll(digests, of, s.Digest)
}

// New returns the slots of the contents that are new, and their signatures.
func (b *Batch) New() (slots []uint32, sets []*signature.Set) {
	for i := range b.items {
		if x := &b.items[i]; x.isNew {
			slots, sets = append(slots, x.slot), append(sets, &b.docs[i].Set)
		}
	}
	return slots, sets
}

// Slot returns the slot of the content of document i after Use, and whether it is a new one.
func (b *Batch) Slot(i int) (slot uint32, isNew bool) {
	x := &b.items[i]
	return x.slot, x.isNew
}
