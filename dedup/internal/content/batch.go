package content

import (
	"cmp"
	"fmt"
	"math"

	"github.com/neardup/neardup/internal/parallel"
)

// This file adds documents to a store, many at a time. What takes time for each byte runs on all processors: contents are compared, and
// signatures and texts copied and checksummed, each to a place that was reserved for it. What is left to one goroutine is to give out places and
// slots, for which it needs no more than the entries.

// A Batch is documents that are being added to a store: after Begin comes Write, unless the texts are in the file already, and then Use. Meanwhile nobody
// may change the store otherwise.
type Batch struct {
	store *Store
	docs  []*Document
	items []batchItem
}

// A batchItem is what the entry of a document will be.
type batchItem struct {
	entry
	sizes [2]int32 // of the signatures and of the text; 0 if there are no features
	slot  uint32   // of the content; none if the store does not have it
	first int32    // the first document with the same content; of no use if the store has it
	isNew bool     // after Use: the slot is a new one
}

// none is no slot.
const none = ^uint32(0)

// isNew reports whether document i is the first one with its content.
func (b *Batch) isNew(i int) bool { return b.items[i].slot == none && b.items[i].first == int32(i) }

// inFile returns how much of the file the content takes.
func (x *batchItem) inFile() int64 {
	if x.sizes[1] == 0 {
		return 0
	}
	n := bytesInFile(int(x.sizes[1]))
	if x.sizes[0] > 0 {
		n += bytesInFile(int(x.sizes[0]))
	}
	return n
}

// Begin begins to add up to [MostAtOnce] documents. It finds out which of them have a content that the store has, or that an earlier one has.
func (s *Store) Begin(docs []*Document) *Batch {
	b := &Batch{s, docs, make([]batchItem, len(docs))}
	b.each(func(i int, d *Document, x *batchItem) {
		x.slot, x.first = none, int32(i)
		if slot, ok := s.Find(&d.Content); ok {
			x.slot, d.Content = slot, s.At(slot) // whose body may differ, but not in what is compared
		}
		x.set(d)
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

// set sets what is known before a text is in the file.
func (x *batchItem) set(d *Document) {
	c := &d.Content
	x.entry = entry{digest: c.Digest, place: uint64(c.at) | uint64(c.form)<<placeBits, bytes: uint32(min(c.bytes, math.MaxInt32)), users: 1}
	if c.bytes > 0 {
		x.sizes = [2]int32{int32(d.Set.Bytes()), int32(x.bytes)}
	}
}

// each calls do for each document, on all processors.
func (b *Batch) each(do func(i int, d *Document, x *batchItem)) {
	const perJob = 16
	parallel.Each((len(b.docs)+perJob-1)/perJob, func(job int) {
		for i := job * perJob; i < min(len(b.docs), (job+1)*perJob); i++ {
			do(i, b.docs[i], &b.items[i])
		}
	})
}

// Write moves the signatures and texts to the file that are not there already. After an error, only the documents before the first n are there.
func (b *Batch) Write() (n int, err error) {
	s := b.store
	if err := cmp.Or(s.tidy(), s.entries.MakeRoom(len(b.docs))); err != nil {
		return 0, err
	}
	var of []int32       // the documents
	var sizes []int      // of the signatures and of the text of each
	places := []int64{0} // where each text ends, from the beginning of all
	for n < len(b.items) {
		if x := &b.items[n]; b.isNew(n) && x.bytes > 0 {
			if x.bytes == math.MaxInt32 {
				err = fmt.Errorf("neardup: a text of %d bytes is longer than 2 GiB", b.docs[n].bytes)
				break
			}
			of, sizes = append(of, int32(n)), append(sizes, int(x.sizes[0]), int(x.sizes[1]))
			places = append(places, places[len(places)-1]+bytesInFile(int(x.sizes[0]))+bytesInFile(int(x.sizes[1])))
		}
		n++
	}
	b.docs, b.items = b.docs[:n], b.items[:n]
	if len(of) > 0 {
		first, failed := s.file.AppendAll(sizes, func(k int, to []byte) {
			if d := b.docs[of[k/2]]; k%2 == 0 {
				d.Set.Append(to[:0])
			} else {
				d.stored(func(text string) { copy(to, text) })
			}
		})
		if failed != nil {
			return 0, failed
		}
		parallel.Chunks(len(of), func(_, from, to int) {
			for k := from; k < to; k++ {
				d := b.docs[of[k]]
				d.at, d.file, d.body, d.own = first+places[k+1]-bytesInFile(d.bytes), s.file, "", nil
				d.form |= signedForm(&d.Set)
				b.items[of[k]].set(d)
			}
		})
	}
	for i := range b.items {
		if x := &b.items[i]; x.slot == none && x.first != int32(i) {
			b.docs[i].Content = b.docs[x.first].Content
		}
	}
	return n, err
}

// Use gives the contents of the first n documents slots. There is one more user of each.
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
func (b *Batch) New() (slots []uint32, sets []*Signatures) {
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
