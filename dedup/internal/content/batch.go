package content

import (
	"cmp"
	"fmt"
	"math"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/slots"
	"github.com/neardup/neardup/internal/textfile"
)

// This file adds documents to a store, many at a time. What takes time for each byte runs on all processors: contents are compared, and
// signatures and texts copied and checksummed, each to a place that was reserved for it. What is left to one processor is to number them.

// MostAtOnce is how many documents are added at once at most.
const MostAtOnce = slots.MostRoom

// A Batch is documents that are being added to a store. Until the last one was used, nobody may change the store otherwise.
type Batch struct {
	store *Store
	docs  []*Document
	slots []uint32 // of their contents; none if the store does not have the content
	first []int32  // the first document with the same content; of no use if the store has it
}

// none is no slot.
const none = ^uint32(0)

// Begin begins to add up to [MostAtOnce] documents. It finds out which of them have a content that the store has, or that another one has too.
func (s *Store) Begin(docs []*Document) *Batch {
	b := &Batch{s, docs, make([]uint32, len(docs)), make([]int32, len(docs))}
	parallel.Each((len(docs)+perJob-1)/perJob, func(job int) {
		for i := job * perJob; i < min(len(docs), (job+1)*perJob); i++ {
			b.slots[i], b.first[i] = none, int32(i)
			if slot, ok := s.Find(&docs[i].Content); ok {
				b.slots[i], docs[i].Content = slot, s.At(slot) // whose body may differ, but not in what is compared
			}
		}
	})
	if len(docs) == 1 {
		return b
	}
	seen, digest := slots.TableFor(len(docs)), func(i uint32) uint64 { return docs[i].Digest }
	for i, d := range docs {
		if b.slots[i] != none || !d.HasFeatures() {
			continue
		}
		first, ok := seen.Find(d.Digest, func(j uint32) bool {
			return docs[j].Digest == d.Digest && s.maker.Compare(&docs[j].Content, &d.Content) == 0
		})
		if b.first[i] = int32(first); !ok {
			b.first[i] = int32(i)
			seen.Add(d.Digest, uint32(i), digest)
		}
	}
	return b
}

// perJob is how many documents a worker takes at a time.
const perJob = 16

// Write moves the signatures and texts to the file that are not there already. After an error, only the documents before the first n are there.
func (b *Batch) Write() (n int, err error) {
	s := b.store
	if err := cmp.Or(s.tidy(), s.entries.MakeRoom(len(b.docs))); err != nil {
		return 0, err
	}
	n = len(b.docs)
	var docs []*Document
	var sizes []int // of the signatures and of the text of each
	for i, d := range b.docs {
		if d.bytes > math.MaxInt32 {
			n, err = i, fmt.Errorf("neardup: a text of %d bytes is longer than 2 GiB", d.bytes)
			break
		}
		if b.slots[i] == none && b.first[i] == int32(i) && d.HasFeatures() {
			docs, sizes = append(docs, d), append(sizes, d.Set.Bytes(), d.bytes)
		}
	}
	if len(docs) > 0 {
		at, failed := s.file.AppendAll(sizes, func(k int, to []byte) {
			if d := docs[k/2]; k%2 == 0 {
				d.Set.Append(to[:0])
			} else {
				d.stored(func(text string) { copy(to, text) })
			}
		})
		if failed != nil {
			return 0, failed
		}
		for k, d := range docs {
			at += textfile.Bytes(sizes[2*k])
			d.at, d.file, d.body, d.own = at, s.file, "", nil
			d.form |= signedForm(&d.Set)
			at += textfile.Bytes(d.bytes)
		}
	}
	for i, first := range b.first[:n] {
		if b.slots[i] == none {
			b.docs[i].Content = b.docs[first].Content
		}
	}
	return n, err
}

// Use returns the slot of the content of document i, whose text is in the file, and whether it is a new one. There is one more user of it. It is
// called for the documents in their order.
func (b *Batch) Use(i int) (slot uint32, isNew bool) {
	s, c := b.store, &b.docs[i].Content
	if slot = b.slots[i]; slot == none {
		slot = b.slots[b.first[i]]
	}
	if slot != none {
		s.entries.Change(slot).users++
		return slot, false
	}
	e := entry{digest: c.Digest, place: uint64(c.at) | uint64(c.form)<<placeBits, bytes: uint32(c.bytes), users: 1}
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		*s.entries.Change(slot) = e
	} else {
		slot = uint32(s.entries.Len())
		s.entries.Append(e)
	}
	s.used += c.inFile()
	if c.HasFeatures() {
		s.digests.Add(c.Digest, slot, s.Digest)
	}
	b.slots[i] = slot
	return slot, true
}
