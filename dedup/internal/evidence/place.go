package evidence

import (
	"slices"

	"github.com/neardup/neardup/dedup/internal/neighbour"
)

// This file says what the neighbourhood of a content says about it.

// A Place is the neighbourhood of a content. It does not change.
type Place struct {
	Near []neighbour.Near // a sample if there are very many

	similar []float64 // how similar each of them is
	have    []uint16  // for each term of the content, how many of them have it
}

// Read makes p the place of a text with these neighbours, in the memory that p has. text returns the text of a slot. near is not
// kept.
func (p *Place) Read(t *Text, near []neighbour.Near, text func(slot uint32) *Text) {
	p.Near, p.similar, p.have = append(p.Near[:0], near...), p.similar[:0], append(p.have[:0], make([]uint16, len(t.Terms))...)
	for _, n := range near {
		other := text(n.Slot)
		p.similar = append(p.similar, Similarity(t, other))
		// No branch depends on the texts: whichever is smaller goes on.
		a, b, have := t.Terms, other.Terms, p.have
		for i, j := 0, 0; i < len(a) && j < len(b); {
			x, y := a[i].Feature, b[j].Feature
			if x == y {
				have[i]++
			}
			if x <= y {
				i++
			}
			if y <= x {
				j++
			}
		}
	}
}

// Clone returns a copy without room for more.
func (p *Place) Clone() *Place {
	return &Place{slices.Clone(p.Near), slices.Clone(p.similar), slices.Clone(p.have)}
}

// Bytes returns about how many bytes a place takes.
func (p *Place) Bytes() int { return 100 + 16*cap(p.Near) + 2*cap(p.have) }
