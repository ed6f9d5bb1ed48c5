package pipeline

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/cmd/neardup/input"
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

// An idText holds ids side by side. Alone, each of some million ids would be found by the collector of the Go runtime again and again.
type idText struct{ strings.Builder }

// keep returns a copy of an id.
func (t *idText) keep(id string) string {
	const room = 64 << 10
	if t.Cap()-t.Len() < len(id) {
		t.Reset()
		t.Grow(max(room, len(id)))
	}
	from := t.Len()
	t.WriteString(id)
	return t.String()[from:]
}

// Ids find documents by their ids. They have no copy of them, so an id takes six bytes or so.
type ids struct {
	docs  *documents
	seed  maphash.Seed
	table slots.Table
	next  map[string]int // of ids that got a number, the next one
}

// newIDs finds some documents, of which none has been added.
func newIDs(docs *documents) *ids { return &ids{docs: docs, seed: maphash.MakeSeed()} }

// find returns where the document with an id is, and whether there is one.
func (s *ids) find(id string) (at input.Place, ok bool) {
	n, ok := s.table.Find(maphash.String(s.seed, id), func(n uint32) bool { return s.docs.At(n).ID == id })
	if ok {
		at = s.docs.At(n).Place
	}
	return at, ok
}

// add adds the document with a number, whose id is not there yet.
func (s *ids) add(n int) {
	s.table.Add(s.hash(uint32(n)), uint32(n), s.hash)
}

func (s *ids) hash(n uint32) uint64 { return maphash.String(s.seed, s.docs.At(n).ID) }

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
	var x input.Decoder
	c.read(&o.Reading, stdin, progress, func(b *batch) bool {
		for i := range b.items {
			it := &b.items[i]
			id, ok := idOf(it, &c.Sources[it.Source], &o.Reading, &x)
			if !ok {
				continue
			}
			of, hash := last[1], xxh3.HashString128(id).Bytes()
			if int(it.Source) < c.oldSources {
				of = last[0]
			}
			if before, ok := of[hash]; ok {
				c.superseded[before] = true
			}
			of[hash] = it.Place
		}
		b.release()
		return true
	})
	return nil
}

// idOf returns the id of an entry, and whether it has one and is not left out.
func idOf(it *Entry, s *input.Source, o *Reading, x *input.Decoder) (id string, ok bool) {
	if it.old != nil {
		return it.old.id, true
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
