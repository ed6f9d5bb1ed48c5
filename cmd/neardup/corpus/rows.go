package corpus

import "github.com/neardup/neardup/cmd/neardup/input"

// This file finds the rows of documents that were made of several rows (--unit). The corpus of such documents has lines of a temporary file as its
// documents, a line for each unit; that of the rows has what the user has given.

// Rows are the rows of which documents were made.
type Rows struct {
	*Corpus
	Units  []int32 // of each row, the number of its unit; the old units come first
	Firsts []int32 // of each unit, the number of its first row
	Old    int     // so many units are old
}

// unit returns the number of the unit at a place of the corpus of units.
func (r *Rows) unit(p input.Place, oldSources int) int {
	if int(p.Source) < oldSources {
		return int(p.Line) - 1
	}
	return r.Old + int(p.Line) - 1
}

// at returns the place of the first row of a unit as text.
func (r *Rows) at(p input.Place, oldSources int) string {
	return r.At(r.Doc(int(r.Firsts[r.unit(p, oldSources)])).Place)
}

// Documents returns, for each row, the number of the document that it is a part of, or -1 if that was left out.
func (c *Corpus) Documents() []int32 {
	of := make([]int32, len(c.Rows.Firsts))
	for n := range of {
		of[n] = -1
	}
	for i := range c.Docs.Len() {
		if p := c.Doc(i).Place; p != input.NoPlace {
			of[c.Rows.unit(p, c.OldSources)] = int32(i)
		}
	}
	documents := make([]int32, len(c.Rows.Units))
	for n, unit := range c.Rows.Units {
		documents[n] = of[unit]
	}
	return documents
}
