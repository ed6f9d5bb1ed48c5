package dedup

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/internal/slots"
)

// This file takes a snapshot of the documents. All that looks at the whole collection works on one, so nobody waits for it, and what is
// added meanwhile does not change what it finds. What one snapshot finds is kept for the next one, until a document is added or deleted.

// A snapshot is all documents at one time. A document is known by its slot, so documents are in the order of adding. A content is
// known by its position in the order of what is compared, so that nothing depends on the order of adding. Old documents are
// those that [Deduplicator.PairsSince] or [GroupOptions] does not compare with each other.
type snapshot[ID comparable] struct {
	options  *Options
	maker    *content.Maker
	docs     slots.Column[storedDocument]
	names    names[ID]
	oldDocs  uint32              // documents in slots below are old
	oneOld   bool                // of several old documents of one content, only the first is of interest
	chains   slots.Column[chain] // by the slot of a content
	contents *content.Contents
	order    []uint32 // the slots of contents by position
	position []int32  // and the other way round; -1 for contents without features
	graph    *neighbour.Graph
	changes  int
	failed   func() error // the error of the files of the Deduplicator
	kept     *kept        // of the Deduplicator

	judge *judge.Judge  // nil before it is ready
	crowd func() *crowd // the contents with too many neighbours to compare all; asked once, since it takes searches
	arrangement
}

// snapshot takes a snapshot. Documents with a number below old are old in it. It holds the lock only while it copies some
// pointers. The error is that of the files.
func (d *Deduplicator[ID]) snapshot(old int) (*snapshot[ID], error) {
	if err := d.lock(); err != nil { // pieces are shared from now on, so nobody may be changing them
		return nil, err
	}
	if old > 0 && d.graph.IsNearlySettled() { // so few new documents are searched for
		d.graph.Settle()
		d.tidy()
	}
	contents := d.contents.Snapshot()
	s := &snapshot[ID]{
		options: &d.options, maker: d.maker, docs: d.docs.Snapshot(), names: d.names.snapshot(), chains: d.chains.Snapshot(),
		contents: contents, graph: d.graph.Snapshot(contents), changes: d.changes, kept: &d.kept, failed: d.damage,
	}
	d.mu.Unlock()
	n := sort.Search(s.docs.Len(), func(i int) bool { return s.docs.At(uint32(i)).number >= int64(old) })
	s.oldDocs = uint32(n)
	s.order, s.position = d.kept.inOrder(s.changes, func() []uint32 { return contents.Used(d.maker) }, contents.Len())
	return s, nil
}

// files returns the error of the files that have texts and what is known of them.
func (s *snapshot[ID]) files() error {
	return cmp.Or(s.failed(), s.contents.File().Err(), s.graph.Err())
}

// name returns the id of a document.
func (s *snapshot[ID]) name(at uint32) ID { return s.names.at(at) }

// document describes a document.
func (s *snapshot[ID]) document(at uint32) Entry[ID] {
	return describe(&s.docs, &s.names, at)
}

// chain returns the first and the last document of a content.
func (s *snapshot[ID]) chain(i int) chain { return *s.chains.At(s.order[i]) }

// of returns the documents of a content, ascending. They are in buf, which grows.
func (s *snapshot[ID]) of(i int, buf []uint32) []uint32 {
	buf = buf[:0]
	for at := range documentsFrom(&s.docs, s.chain(i).first) {
		if s.oneOld && len(buf) > 0 && at < s.oldDocs {
			continue
		}
		buf = append(buf, at)
	}
	return buf
}

// contentOf returns the position of the content of a document, or -1.
func (s *snapshot[ID]) contentOf(at uint32) int32 {
	c := s.docs.At(at).content
	if c == gone {
		return -1
	}
	return s.position[c]
}

// kept is what was found last. It is kept until documents are added or deleted.
type kept struct {
	sync.Mutex
	order    []uint32 // of a snapshot; nil if there was none
	position []int32
	atOrder  int              // the changes of the Deduplicator at that time
	lists    *neighbour.Lists // the neighbours of all contents; nil if they are not known
	arranged arrangement      // of the lists
	atLists  int              // the changes of the Deduplicator at that time
	edges    *edges           // nil if there are none
	atEdges  int              // the changes at that time
	oldEdges uint32           // and how many documents were old
}

// inOrder returns the slots of contents by position and the other way round, of so many slots, after some changes. used returns the first.
func (k *kept) inOrder(changes int, used func() []uint32, slots int) (order []uint32, position []int32) {
	k.Lock()
	defer k.Unlock()
	if k.order == nil || k.atOrder != changes {
		order, position = used(), slices.Repeat([]int32{-1}, slots)
		for n, slot := range order {
			position[slot] = int32(n)
		}
		k.order, k.position, k.atOrder = order, position, changes
	}
	return k.order, k.position
}
