package evidence

import (
	"slices"

	"github.com/neardup/neardup/dedup/internal/neighbour"
)

// This file says what the neighbourhood of a content says about it: how similar each neighbour is, and how many
// of them have each of its features. To find that out, the content is compared with up to [neighbour.Most]
// others, which takes longer than anything else about a pair. So places are kept, and changed instead of made
// again where that is possible.

// A Place is the neighbourhood of a content. It does not change.
type Place struct {
	Near []neighbour.Near // a sample if there are very many

	alike []cosines // how similar each of them is
	have  []uint16  // for each term of the content, how many of them have it
}

// Read makes p the place of a text with these neighbours, in the memory that p has. text returns the text of a
// slot. near is not kept.
func (p *Place) Read(t *Text, near []neighbour.Near, text func(slot uint32) *Text) {
	p.Near, p.alike, p.have = append(p.Near[:0], near...), p.alike[:0], append(p.have[:0], make([]uint16, len(t.Terms))...)
	for _, n := range near {
		p.alike = append(p.alike, compare(t, text(n.Slot), p.have))
	}
}

// A Known place is one that was read before, with the digests of the neighbours: others may have their slots
// now. A slot with the same digest still has the same content.
type Known struct {
	Place
	digests []uint64
}

// Known returns a copy of the place, for later. digest returns that of the content in a slot.
func (p *Place) Known(digest func(slot uint32) uint64) *Known {
	k := &Known{Place: *p.Clone()}
	for _, n := range p.Near {
		k.digests = append(k.digests, digest(n.Slot))
	}
	return k
}

// Bytes returns about how many bytes it takes.
func (k *Known) Bytes() int { return k.Place.Bytes() + 8*len(k.digests) }

// mostChanged is how many neighbours may have been added, and how many removed, for a known place to be worth
// using. Each costs as much as a neighbour does when a place is read from scratch.
const mostChanged = neighbour.Most / 4

// Change is Read for a text whose place is known already, with the same result. It compares only the neighbours
// that were added since, and those that were removed, and returns how many it compared. It returns false if
// there are too many, or if another text has taken the slot of a removed neighbour: what that neighbour counted
// for cannot be taken off any more. Then p must not be used.
func (p *Place) Change(t *Text, was *Known, near []neighbour.Near, digest func(slot uint32) uint64, text func(slot uint32) *Text) (changed int, ok bool) {
	gone := make(map[uint32]int, len(was.Near))
	for k, n := range was.Near {
		gone[n.Slot] = k
	}
	p.Near, p.alike, p.have = append(p.Near[:0], near...), p.alike[:0], append(p.have[:0], was.have...)
	come := 0
	for _, n := range near {
		if k, is := gone[n.Slot]; is && was.digests[k] == digest(n.Slot) {
			p.alike = append(p.alike, was.alike[k])
			delete(gone, n.Slot)
			continue
		}
		if come++; come > mostChanged {
			return 0, false
		}
		p.alike = append(p.alike, compare(t, text(n.Slot), p.have))
	}
	if len(gone) > mostChanged {
		return 0, false
	}
	had := make([]uint16, len(p.have))
	for slot, k := range gone {
		if was.digests[k] != digest(slot) {
			return 0, false
		}
		compare(t, text(slot), had)
	}
	for i, n := range had {
		p.have[i] -= n
	}
	return come + len(gone), true
}

// of returns how similar a content is, if it is in the place. Two neighbours need not be in each other's
// places, since a place has only the nearest ones.
func (p *Place) of(slot uint32) (c cosines, ok bool) {
	for k := range p.Near {
		if p.Near[k].Slot == slot {
			return p.alike[k], true
		}
	}
	return c, false
}

// Clone returns a copy without room for more.
func (p *Place) Clone() *Place {
	return &Place{slices.Clone(p.Near), slices.Clone(p.alike), slices.Clone(p.have)}
}

// Bytes returns about how many bytes a place takes.
func (p *Place) Bytes() int { return 100 + 32*cap(p.Near) + 2*cap(p.have) }
