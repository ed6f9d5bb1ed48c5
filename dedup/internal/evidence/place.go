package evidence

import (
	"slices"

	"github.com/neardup/neardup/dedup/internal/neighbour"
)

// This file says what the neighbourhood of a content says about it.

// A Place is the neighbourhood of a content. It does not change.
type Place struct {
	Near []neighbour.Near // a sample if there are very many

	alike []cosines // how similar each of them is
	have  []uint16  // for each term of the content, how many of them have it
}

// Read makes p the place of a text with these neighbours, in the memory that p has. text returns the text of a slot. near is not
// kept.
func (p *Place) Read(t *Text, near []neighbour.Near, text func(slot uint32) *Text) {
	p.Near, p.alike, p.have = append(p.Near[:0], near...), p.alike[:0], append(p.have[:0], make([]uint16, len(t.Terms))...)
	for _, n := range near {
		p.alike = append(p.alike, compare(t, text(n.Slot), p.have))
	}
}

// NotThere stands for a neighbour that a place has not.
const NotThere = -1

// Change is Read for a text of which a place is known, with other neighbours: same has for each neighbour which of those in was it is, or NotThere.
// It compares the others, and those that have gone. p must not be was.
func (p *Place) Change(t *Text, was *Place, same []int, near []neighbour.Near, text func(slot uint32) *Text) {
	p.Near, p.alike, p.have = append(p.Near[:0], near...), p.alike[:0], append(p.have[:0], was.have...)
	stays := make([]bool, len(was.Near))
	for k, n := range near {
		if s := same[k]; s == NotThere {
			p.alike = append(p.alike, compare(t, text(n.Slot), p.have))
		} else {
			p.alike = append(p.alike, was.alike[s])
			stays[s] = true
		}
	}
	var gone []uint16
	for s, n := range was.Near {
		if stays[s] {
			continue
		}
		if gone == nil {
			gone = make([]uint16, len(was.have))
		}
		compare(t, text(n.Slot), gone)
	}
	for i, n := range gone {
		p.have[i] -= n
	}
}

// of returns how similar a neighbour is, if it is one of them.
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
