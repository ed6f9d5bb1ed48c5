package pipeline

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

// This file has what a Deduplicator finds in a collection, or in a part of it.

// A found is what was found.
type found struct {
	pairs    []pair // if they are wanted
	like     []pair // each document of a group with the one that the group keeps, which is the second
	families []family
}

// findWith returns what a Deduplicator finds whose first old documents are old. at returns the number of a document.
func findWith[ID comparable](o *Options, d *dedup.Deduplicator[ID], old int, wantPairs bool, at func(ID) int) (*found, error) {
	f := &found{}
	if wantPairs {
		most := mostListed(o.Memory)
		for p, err := range d.PairsSince(context.Background(), old) {
			if err != nil {
				return nil, err
			}
			if len(f.pairs) >= most {
				return nil, tooManyPairs(most)
			}
			f.pairs = append(f.pairs, pair{uint32(at(p.A)), uint32(at(p.B)), p.Similarity, p.Probability, p.Kind})
		}
	}
	prefers := preferences[o.Method.Keep]
	groups, err := d.Groups(context.Background(), dedup.Grouping[ID]{Linkage: linkages[o.Method.Group], Old: old, Prefer: func(a, b dedup.Entry[ID]) bool {
		return prefers(a.Number, a.Length, b.Number, b.Length)
	}})
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		root := at(group.Keep)
		for k, id := range group.Members {
			m := group.Matches[k]
			f.like = append(f.like, pair{uint32(at(id)), uint32(root), m.Similarity, m.Probability, m.Kind})
		}
	}
	f.families, err = familiesOf(d, old)
	return f, err
}

// A family is some documents of one form.
type family struct {
	Members int
	Form    string
	Filled  []string
}

// familiesOf returns the families of a Deduplicator that have a new document.
func familiesOf[ID comparable](d *dedup.Deduplicator[ID], old int) (all []family, err error) {
	families, err := d.FamiliesSince(context.Background(), old)
	for _, f := range families {
		all = append(all, family{len(f.Members), f.Form, f.Filled})
	}
	sortFamilies(all)
	return all, err
}

// sortFamilies sorts families: the largest first, and others so that they come in one order wherever they were found.
func sortFamilies(all []family) {
	slices.SortStableFunc(all, func(f, g family) int {
		return cmp.Or(cmp.Compare(g.Members, f.Members), strings.Compare(f.Form, g.Form), slices.Compare(f.Filled, g.Filled))
	})
}

// takeFound groups the documents as was found.
func (c *collection) takeFound(f *found) {
	if c.pairs == nil {
		c.pairs = f.pairs
	} else {
		c.pairs = append(c.pairs, f.pairs...)
	}
	for _, p := range f.like {
		if c.cluster[p.i] = int32(p.j); p.i != p.j {
			c.like[int(p.i)] = p
		}
	}
}

// foundBytes is how many bytes a pair takes in a file.
const foundBytes = 25

// append appends what was found: how many pairs there are, and how many documents in groups; these; and the families, as JSON.
func (f *found) append(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(f.pairs)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(f.like)))
	for _, all := range [2][]pair{f.pairs, f.like} {
		for _, p := range all {
			b = binary.LittleEndian.AppendUint32(b, p.i)
			b = binary.LittleEndian.AppendUint32(b, p.j)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.value))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.probability))
			b = append(b, byte(p.kind))
		}
	}
	families, err := json.Marshal(f.families)
	return append(b, families...), err
}

// decode reads what append appended, of a collection of n documents.
func (f *found) decode(b []byte, n int) error {
	if len(b) < 16 {
		return errPart
	}
	of := [2]uint64{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
	b = b[16:]
	for k, to := range [2]*[]pair{&f.pairs, &f.like} {
		if of[k] > uint64(len(b))/foundBytes {
			return errPart
		}
		for range of[k] {
			p := pair{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
				math.Float64frombits(binary.LittleEndian.Uint64(b[16:])), neardup.Kind(b[24])}
			if int64(max(p.i, p.j)) >= int64(n) {
				return errPart
			}
			*to, b = append(*to, p), b[foundBytes:]
		}
	}
	if err := json.Unmarshal(b, &f.families); err != nil {
		return errPart
	}
	return nil
}
