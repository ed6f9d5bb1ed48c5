package pipeline

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/reading"
	"github.com/neardup/neardup/internal/slots"
)

// This file finds documents by their numbers and by their ids, and makes sure that each has an id of its own (--same-id).

// Documents are in a column, since a slice of so many would be copied again and again as it grows.
type documents = slots.Column[stored]

// Doc returns the document with a number.
func (c *collection) Doc(n int) *stored { return c.docs.At(uint32(n)) }

// Numbers returns the numbers of all documents by their ids.
func (c *collection) Numbers() map[string]int {
	numbers := make(map[string]int, c.docs.Len())
	for i := range c.docs.Len() {
		numbers[c.Doc(i).ID] = i
	}
	return numbers
}

// Claims say which ids several documents have. Workers claim the ids of documents as they are read, in any order. If a document has the id
// of another one, whichever of them comes later in the collection finds that the id is claimed twice.
type claims struct {
	of    [2]claimed // by old and by new documents
	old   int        // sources
	seed  maphash.Seed
	mu    sync.Mutex
	twice [2]map[string]bool
	any   atomic.Bool // something is claimed twice
}

// newClaims returns no claims. The first sources are old.
func newClaims(oldSources int) *claims {
	return &claims{old: oldSources, seed: maphash.MakeSeed(), twice: [2]map[string]bool{{}, {}}}
}

// claim claims the id of a document.
func (c *claims) claim(d *stored) {
	if c == nil {
		return
	}
	which := 1
	if int(d.Source) < c.old {
		which = 0
	}
	if c.of[which].add(maphash.String(c.seed, d.ID)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.twice[which][d.ID] = true
	c.any.Store(true)
}

// isTwice reports whether several documents may have claimed an id.
func (c *claims) isTwice(which int, id string) bool {
	if !c.any.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.twice[which][id]
}

// A claimed is a set of hashes, in parts with a lock each, so workers rarely wait for each other.
type claimed [64]struct {
	sync.Mutex
	cells []uint64 // a hash that is not 0, or 0; as many as a power of two
	n     int
}

// add adds a hash, and reports whether it is new.
func (c *claimed) add(hash uint64) bool {
	part := &c[hash>>58]
	hash = max(hash, 1)
	part.Lock()
	defer part.Unlock()
	if 5*(part.n+1) > 4*len(part.cells) {
		old := part.cells
		part.cells = make([]uint64, max(16, 2*len(old)))
		for _, h := range old {
			if h != 0 {
				insert(part.cells, h)
			}
		}
	}
	isNew := insert(part.cells, hash)
	if isNew {
		part.n++
	}
	return isNew
}

// insert puts a hash into the first free cell from its own on, and reports whether it is new.
func insert(cells []uint64, hash uint64) bool {
	for i := int(hash); ; i++ {
		switch cell := &cells[i&(len(cells)-1)]; *cell {
		case 0:
			*cell = hash
			return true
		case hash:
			return false
		}
	}
}

// Ids find old or new documents by their ids, once one is claimed twice. They have no copy of them, so an id takes six bytes or so.
type ids struct {
	docs   *documents
	claims *claims
	which  int // 0 for old documents
	known  bool
	table  slots.Table
	next   map[string]int // of ids that got a number, the next one
}

// newIDs finds old documents, or with 1 new ones, of which none has been added.
func newIDs(docs *documents, claims *claims, which int) *ids {
	return &ids{docs: docs, claims: claims, which: which}
}

// find returns where the document with an id is, and whether there is one.
func (s *ids) find(id string) (at input.Place, ok bool) {
	if !s.known && s.claims.isTwice(s.which, id) {
		s.known = true
		for n := range s.docs.Len() {
			if isOld := int(s.docs.At(uint32(n)).Source) < s.claims.old; isOld == (s.which == 0) {
				s.add(n)
			}
		}
	}
	n, ok := s.table.Find(maphash.String(s.claims.seed, id), func(n uint32) bool { return s.docs.At(n).ID == id })
	if ok {
		at = s.docs.At(n).Place
	}
	return at, ok
}

// add adds the document with a number, whose id is not there yet, if documents are found by their ids.
func (s *ids) add(n int) {
	if s.known {
		s.table.Add(s.hash(uint32(n)), uint32(n), s.hash)
	}
}

func (s *ids) hash(n uint32) uint64 { return maphash.String(s.claims.seed, s.docs.At(n).ID) }

// numbered returns an id with a number behind it that is not there yet.
func (s *ids) numbered(id string) string {
	if s.next == nil {
		s.next = map[string]int{}
	}
	for n := max(s.next[id], 2); ; n++ {
		other := fmt.Sprintf("%s-%d", id, n)
		if _, isKnown := s.find(other); !isKnown {
			s.next[id] = n + 1
			return other
		}
	}
}

// sameIDs has what --same-id can name.
var sameIDs = []string{"error", "first", "last", "number"}

// errRepeated stands in the place of a document that is left out since another one has its id.
var errRepeated = errors.New("the id is used twice")

// identify gives a document an id that none of those that are known has, or returns an error. isByHash says that the id is a hash of the text.
func (c *collection) identify(d *stored, known *ids, o *Options, isByHash bool) error {
	if o.SameID == "last" && c.superseded[d.Place] {
		return errRepeated
	}
	first, isKnown := known.find(d.ID)
	switch {
	case isKnown && (isByHash || o.SameID == "number"):
		d.ID = known.numbered(d.ID)
	case isKnown && o.SameID == "first":
		return errRepeated
	case isKnown:
		return fmt.Errorf("the id %q is used twice, first at %s; --same-id first, last or number says what becomes of them", d.ID, c.at(first))
	}
	if o.Save != "" && len(d.ID) > maxID {
		return fmt.Errorf("the id has %d bytes; --save can write up to %d", len(d.ID), maxID)
	}
	return nil
}

// findSuperseded reads the ids of all documents, if it is the last one of an id that is to be kept, and takes note of those that come before it.
// Of documents that cannot be read, it says nothing: loading does.
func (c *collection) findSuperseded(o *Options, stdin io.Reader) error {
	if o.SameID != "last" {
		return nil
	}
	if err := c.keepCopies(stdin, true); err != nil {
		return err
	}
	progress, done := c.reading("looking for ids")
	defer done()
	c.superseded = map[input.Place]bool{}
	var last [2]map[[16]byte]input.Place // of old and of new documents, by a hash of the id
	last[0], last[1] = map[[16]byte]input.Place{}, map[[16]byte]input.Place{}
	type idAt struct {
		hash [16]byte
		at   input.Place
	}
	decoders := make([]input.Decoder, o.Workers)
	return reading.Each(c.reader(&o.Reading, 0, stdin, progress), func(worker int, b *input.Block) (found []idAt) {
		for i := range b.Items {
			it := &b.Items[i]
			if !o.Shard.isMine(it.Place, len(c.Sources)) {
				continue
			}
			if id, ok := idOf(it, &c.Sources[it.Source], &o.Reading, &decoders[worker]); ok {
				found = append(found, idAt{xxh3.HashString128(id).Bytes(), it.Place})
			}
		}
		b.Release()
		return found
	}, func(b *reading.Block[[]idAt]) error {
		of := last[1]
		if b.Source < c.oldSources {
			of = last[0]
		}
		for _, x := range b.Made {
			if before, ok := of[x.hash]; ok {
				c.superseded[before] = true
			}
			of[x.hash] = x.at
		}
		return nil
	})
}

// idOf returns the id of an item, and whether it has one and is not left out.
func idOf(it *input.Item, s *input.Source, o *Reading, x *input.Decoder) (id string, ok bool) {
	if it.Saved != nil {
		return it.Saved.(*saved).id, true
	}
	var d input.Document
	var err error
	if o.fields != nil {
		d, _, err = it.Record(s, o.Cols)
	} else if d, err = it.Parse(s, o.Cols, x); err == nil && o.Empty == "drop" && IsBlank(d.Whole()) {
		return "", false
	}
	return d.ID, err == nil && !d.ByPlace
}
