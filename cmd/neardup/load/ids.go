package load

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/reading"
)

// This file makes sure that each document has an id of its own, and does with others what --same-id says.

// IDs give documents ids that none of the others has: one IDs for the old documents of a corpus, and one for the new ones. They have no copy of the
// ids: documents are only looked up once an id is claimed twice, and then by a table of their numbers.
type IDs struct {
	corpus     *corpus.Corpus
	sameID     string // what becomes of a document with the id of another one
	isSaved    bool   // the ids go into a file of fingerprints
	claims     *claims
	which      int                  // 0 for old documents
	superseded map[input.Place]bool // documents after which another one has their id, with --same-id last
	known      bool                 // the documents are in the table
	table      corpus.Table
	next       map[string]int // of ids that got a number, the next one
}

// NewIDs returns those of the new documents of a corpus, which are not there yet: [IDs.Add] adds each, after all ids were claimed with [IDs.Claim].
func NewIDs(c *corpus.Corpus, o *options.Options) *IDs { return newIDs(c, o, newClaims(0), 1) }

// newIDs returns those of old documents, or with 1 of new ones, of which none has been added.
func newIDs(c *corpus.Corpus, o *options.Options, claims *claims, which int) *IDs {
	return &IDs{corpus: c, sameID: o.SameID, isSaved: o.Save != "", claims: claims, which: which}
}

// Claim says that a document has its id.
func (s *IDs) Claim(d *corpus.Doc) { s.claims.claim(d) }

// find returns where the document with an id is, and whether there is one.
func (s *IDs) find(id string) (at input.Place, ok bool) {
	docs := &s.corpus.Docs
	if !s.known && s.claims.isTwice(s.which, id) {
		s.known = true
		for n := range docs.Len() {
			if s.claims.whichOf(docs.At(uint32(n))) == s.which {
				s.Add(n)
			}
		}
	}
	n, ok := s.table.Find(maphash.String(s.claims.seed, id), func(n uint32) bool { return docs.At(n).ID == id })
	if ok {
		at = docs.At(n).Place
	}
	return at, ok
}

// Add adds the document with a number, whose id is not there yet, if documents are found by their ids.
func (s *IDs) Add(n int) {
	if s.known {
		s.table.Add(s.hash(uint32(n)), uint32(n), s.hash)
	}
}

func (s *IDs) hash(n uint32) uint64 {
	return maphash.String(s.claims.seed, s.corpus.Docs.At(n).ID)
}

// numbered returns an id with a number behind it that is not there yet.
func (s *IDs) numbered(id string) string {
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

// errRepeated stands in the place of a document that is left out since another one has its id.
var errRepeated = errors.New("the id is used twice")

// Identify gives a document an id that none of those that were added has, or returns an error. isByHash says that the id is a hash of the text.
func (s *IDs) Identify(d *corpus.Doc, isByHash bool) error {
	if s.sameID == options.AnyID {
		return nil
	}
	if s.superseded[d.Place] {
		return errRepeated
	}
	first, isKnown := s.find(d.ID)
	switch {
	case isKnown && (isByHash || s.sameID == "number"):
		d.ID = s.numbered(d.ID)
	case isKnown && s.sameID == "first":
		return errRepeated
	case isKnown:
		return fmt.Errorf("the id %q is used twice, first at %s; choose what to do with such documents: --same-id first, last or number", d.ID, s.corpus.At(first))
	}
	if s.isSaved && len(d.ID) > corpus.MaxID {
		return fmt.Errorf("the id has %d bytes; --save can write up to %d", len(d.ID), corpus.MaxID)
	}
	return nil
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

// whichOf returns 0 for old documents, and 1 for new ones.
func (c *claims) whichOf(d *corpus.Doc) int {
	if int(d.Source) < c.old {
		return 0
	}
	return 1
}

// claim claims the id of a document.
func (c *claims) claim(d *corpus.Doc) {
	if c == nil {
		return
	}
	which := c.whichOf(d)
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

// findSuperseded reads the ids of all documents, if it is the last one of an id that is to be kept, and returns those that come before it.
// Of documents that cannot be read, it says nothing: loading does.
func (l *Loader) findSuperseded() (map[input.Place]bool, error) {
	o := l.Options
	if o.SameID != "last" {
		return nil, nil
	}
	if err := l.KeepCopies(true); err != nil {
		return nil, err
	}
	progress, done := l.Begin("looking for ids")
	defer done()
	superseded := map[input.Place]bool{}
	last := [2]map[[16]byte]input.Place{{}, {}} // of old and of new documents, by a hash of the id
	type idAt struct {
		hash [16]byte
		at   input.Place
	}
	decoders := make([]input.Decoder, o.Workers)
	err := reading.Each(l.Reader(0, progress), func(worker int, b *input.Block) (found []idAt) {
		for i := range b.Items {
			it := &b.Items[i]
			if !o.Shard.IsMine(it.Place, len(l.Sources)) {
				continue
			}
			if id, ok := idOf(it, &l.Sources[it.Source], &o.Reading, &decoders[worker]); ok {
				found = append(found, idAt{xxh3.HashString128(id).Bytes(), it.Place})
			}
		}
		b.Release()
		return found
	}, func(b *reading.Block[[]idAt]) error {
		of := last[1]
		if b.Source < l.OldSources {
			of = last[0]
		}
		for _, x := range b.Made {
			if before, ok := of[x.hash]; ok {
				superseded[before] = true
			}
			of[x.hash] = x.at
		}
		return nil
	})
	return superseded, err
}

// idOf returns the id of an item, and whether it has one and is not left out.
func idOf(it *input.Item, s *input.Source, o *options.Reading, x *input.Decoder) (id string, ok bool) {
	if it.Saved != nil {
		return it.Saved.(*corpus.SavedDoc).ID, true
	}
	var d input.Document
	var err error
	if o.Cols.IsRecord {
		d, _, err = it.Record(s, o.Cols)
	} else if d, err = it.Parse(s, o.Cols, x); err == nil && o.Empty == "drop" && corpus.IsBlank(d.Whole()) {
		return "", false
	}
	return d.ID, err == nil && !d.ByPlace
}
