package evidence

import (
	"github.com/neardup/neardup/dedup/internal/neighbour"
)

// This file says what the neighbourhood of a content says about it.

// A Place is the neighbourhood of a content. It does not change.
type Place struct {
	Near []neighbour.Near // a sample if there are very many

	similar []float64 // how similar each of them is
	have    []uint16  // for each term of the content, how many of them have it
}

// NewPlace returns the place of a text with these neighbours. text returns the text of a slot.
func NewPlace(t *Text, near []neighbour.Near, text func(slot uint32) *Text) *Place {
	p := &Place{Near: near, similar: make([]float64, len(near)), have: make([]uint16, len(t.Terms))}
	for k, n := range near {
		other := text(n.Slot)
		p.similar[k] = Similarity(t, other)
		for i, j := 0, 0; i < len(t.Terms) && j < len(other.Terms); {
			switch x, y := t.Terms[i].Feature, other.Terms[j].Feature; {
			case x < y:
				i++
			case x > y:
				j++
			default:
				p.have[i]++
				i++
				j++
			}
		}
	}
	return p
}

// Bytes returns about how many bytes a place takes.
func (p *Place) Bytes() int { return 100 + 16*cap(p.Near) + 2*cap(p.have) }
