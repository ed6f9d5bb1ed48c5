package neighbour

import (
	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/slots"
)

// This file keeps a graph in the columns of a file, so that it can be searched at once when it is opened again: for each level the
// slots of the signatures, their ordinals, their sketches, and the lists of all bands, one after the other.

// columnsOfLevel is how many columns a level has.
const columnsOfLevel = 4

// Columns is the number of columns of a graph, and Settings that of its settings.
const (
	Columns  = columnsOfLevel * int(signature.Levels)
	Settings = 2 * int(signature.Levels)
)

// Write returns the settings and columns of the graph for a file. It sorts what is not sorted yet, which takes a second for a
// million contents.
func (g *Graph) Write() (settings []uint64, columns [][][]byte, err error) {
	for l := range g.levels {
		x := &g.levels[l]
		if err := x.compact(); err != nil {
			return nil, nil, err
		}
		settings = append(settings, uint64(x.size()), uint64(x.ordinals.Len()))
		var lists [][]byte
		if len(x.runs) > 0 {
			for b := range x.runs[0].lists {
				lists = append(lists, x.runs[0].lists[b].Parts()...)
			}
		}
		columns = append(columns, x.slots.Parts(), x.ordinals.Parts(), x.sketches.parts(), lists)
	}
	return settings, columns, g.Err()
}

// parts returns the bytes of all sketches.
func (s *sketches) parts() (all [][]byte) {
	all = s.mapped.Parts()
	for i := 0; i < s.filed; i += page {
		s.read(i/page, new([]byte), func(p *sketchPage) { all = append(all, slots.Bytes(p[:])) })
	}
	return append(all, s.last.Parts()...)
}

// Attach gives an empty graph what Write returned, from a file, for so many contents. It returns false if that does not fit together.
func (g *Graph) Attach(f *slots.File, settings []uint64, columns [][]byte, contents int) bool {
	for l := range g.levels {
		x := &g.levels[l]
		n, slotted := int(min(settings[2*l], uint64(contents))), int(min(settings[2*l+1], uint64(contents)))
		of := columns[columnsOfLevel*l:]
		var ok [columnsOfLevel]bool
		x.slots, ok[0] = slots.In(f, of[0], n, func(_ int, values []uint32) error { return below(values, slotted, false) })
		x.ordinals, ok[1] = slots.In(f, of[1], slotted, func(_ int, values []uint32) error { return below(values, n, true) })
		x.sketches.mapped, ok[2] = slots.In(f, of[2], n, func(int, []sketch) error { return nil })
		if ok[3] = len(of[3]) == bands*8*n; ok[3] && n > 0 {
			r := run{to: n}
			for b := range r.lists {
				r.lists[b], _ = slots.In(f, of[3][b*8*n:(b+1)*8*n], n, func(_ int, values []uint64) error {
					for i, e := range values {
						// In a hub, entries of one key are in another order.
						if int(uint32(e)) >= n || i > 0 && e>>32 < values[i-1]>>32 {
							return errColumns
						}
					}
					return nil
				})
			}
			x.runs = []run{r}
		}
		x.tail.forget(n)
		if ok != [columnsOfLevel]bool{true, true, true, true} {
			return false
		}
	}
	return true
}

// below returns an error unless all values are below most, or none if that may be.
func below(values []uint32, most int, mayBeNone bool) error {
	for _, v := range values {
		if int(v) >= most && !(mayBeNone && v == none) {
			return errColumns
		}
	}
	return nil
}

// errColumns is the error of values that cannot be.
var errColumns = format.Damaged("numbers that cannot be in it")
