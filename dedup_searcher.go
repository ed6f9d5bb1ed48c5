package neardup

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/internal/forest"
)

// This file finds the contents that are similar to a profile, by the weights of a history. A small collection
// keeps all vectors in an index. In a large one, as in a join (dedup_forest.go), a content is known by its keys
// in the trees of a forest, and by a sketch. So it takes about 500 bytes, where its vector would take ten
// thousand. The cosines are those of whole vectors either way.

// A searcher finds the contents whose vectors have at least the cosine of the threshold with another one.
// search may be called by several goroutines.
type searcher interface {
	add(slot uint32, p *profile) error
	delete(slot uint32)
	search(p *profile, of []content) ([]slotMatch, error)
}

// A slotMatch is the slot of a content that a searcher has found.
type slotMatch struct {
	slot       uint32
	similarity float64
}

// A vectorSearcher is the searcher of a small collection: it has all vectors, and finds all.
type vectorSearcher struct {
	*frequencies
	index *VectorIndex[uint32]
}

func (v *vectorSearcher) add(slot uint32, p *profile) error { return v.index.Add(slot, v.vector(p)) }

func (v *vectorSearcher) delete(slot uint32) { v.index.Delete(slot) }

func (v *vectorSearcher) search(p *profile, _ []content) (found []slotMatch, err error) {
	for m, err := range v.index.Search(v.vector(p)) {
		if err != nil {
			return nil, err
		}
		found = append(found, slotMatch{m.ID, m.Similarity})
	}
	return found, nil
}

// A treeSearcher is the searcher of a large collection.
type treeSearcher struct {
	index     *forest.Index
	measures  []atomic.Pointer[measure] // of contents, by slot; nil until they are needed
	sketches  []forest.Sketch
	least     float64 // the smallest cosine
	agreement int     // that sketches must have
	workers   sync.Pool
}

// A treeWorker is the state of one goroutine.
type treeWorker struct {
	probe   probe
	other   *reader // for what the probe is compared with
	sampler *forest.Sampler
	keys    []forest.Key
	slots   []uint32
}

// newTreeSearcher returns a searcher for the contents of a collection that has been learned, with room for so
// many slots.
func newTreeSearcher[ID comparable](c *collection[ID], q *frequencies, least float64, slots int) *treeSearcher {
	s := &treeSearcher{
		index:     forest.NewIndex(c.keys, func(i int) uint32 { return c.contents[i].slot }),
		measures:  make([]atomic.Pointer[measure], slots),
		sketches:  make([]forest.Sketch, slots),
		least:     least,
		agreement: c.seen.agreement(least),
	}
	for i := range c.contents {
		slot := c.contents[i].slot
		if s.sketches[slot] = c.sketches[i]; c.measures[i].isSet() {
			s.measures[slot].Store(&c.measures[i])
		}
	}
	limit, f := c.frequent, &c.settings.Fingerprinter
	s.workers.New = func() any {
		return &treeWorker{probe: probe{reader: q.newReader(f)}, other: q.newReader(f), sampler: forest.NewSampler(forestTrees, limit), keys: make([]forest.Key, forestTrees)}
	}
	return s
}

func (s *treeSearcher) add(slot uint32, p *profile) error {
	w := s.workers.Get().(*treeWorker)
	defer s.workers.Put(w)
	for int(slot) >= len(s.measures) {
		s.measures, s.sketches = append(s.measures, atomic.Pointer[measure]{}), append(s.sketches, forest.Sketch{})
	}
	m := w.probe.read(p)
	s.measures[slot].Store(&m)
	s.sketches[slot] = w.probe.reader.keys(p, w.sampler, w.keys)
	s.index.Add(slot, w.keys)
	return nil
}

// delete leaves the keys of the content in the index: search sees that it has gone, or that there is another
// one in its place.
func (s *treeSearcher) delete(uint32) {}

func (s *treeSearcher) search(p *profile, of []content) (found []slotMatch, err error) {
	if !p.hasFeatures() {
		return nil, nil
	}
	w := s.workers.Get().(*treeWorker)
	defer s.workers.Put(w)
	w.probe.set(p)
	sketch := w.probe.reader.keys(p, w.sampler, w.keys)
	w.slots = w.slots[:0]
	s.index.Search(w.keys, func(slot uint32) {
		if sketch.Agreement(&s.sketches[slot]) >= s.agreement {
			w.slots = append(w.slots, slot)
		}
	})
	slices.Sort(w.slots)
	w.slots = slices.Compact(w.slots)
	for _, slot := range w.slots {
		if c := &of[slot]; c.first >= 0 && c.hasFeatures() {
			m := s.measures[slot].Load()
			if m == nil {
				of := w.other.read(&c.profile)
				m = &of
				s.measures[slot].Store(m)
			}
			if x := w.probe.cosine(&c.profile, m); x >= s.least {
				found = append(found, slotMatch{slot, x})
			}
		}
	}
	return found, nil
}
