package group

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

// This file has what is found in a collection, or in a part of it: pairs, groups, families, and how these are written to a file.

// A Pair is two documents by number. The value is what outputs have with it: a distance, a similarity or a score.
type Pair struct {
	I, J        uint32
	Value       float64
	Probability float64      // that they are near-duplicates; 0 with other methods than auto and cosine
	Kind        neardup.Kind // the same
}

// A Found is what a Deduplicator found.
type Found struct {
	Pairs    []Pair // if they are wanted
	Like     []Pair // each document of a group with the one that the group keeps, which is the second
	Families []Family
	Expected *dedup.Estimate // of all pairs that were compared; nil if that is not known
}

// Add adds what was found in another part of the collection.
func (f *Found) Add(more *Found) {
	f.Pairs, f.Like, f.Families = append(f.Pairs, more.Pairs...), append(f.Like, more.Like...), append(f.Families, more.Families...)
	sortFamilies(f.Families)
	if f.Expected == nil || more.Expected == nil {
		f.Expected = nil
		return
	}
	both := f.Expected.Merge(*more.Expected)
	f.Expected = &both
}

// A Family is some documents of one form.
type Family struct {
	Members int
	Form    string
	Filled  []string
}

// sortFamilies sorts families: the largest first, and others so that they come in one order wherever they were found.
func sortFamilies(all []Family) {
	slices.SortStableFunc(all, func(f, g Family) int {
		return cmp.Or(cmp.Compare(g.Members, f.Members), strings.Compare(f.Form, g.Form), slices.Compare(f.Filled, g.Filled))
	})
}

// TooManyPairs is the error of a list of pairs that does not fit into memory: n equal documents make n²/2 pairs.
func TooManyPairs(most int) error {
	return fmt.Errorf("more than %d pairs do not fit in --memory; raise it, or write the groups with --groups, which needs little memory", most)
}

// errFound is the error of bytes that Append has not made.
var errFound = errors.New("this was not written by a run with --shard, or it is damaged")

// pairBytes is how many bytes a pair takes in a file.
const pairBytes = 25

// A rest is what of a Found is JSON in a file.
type rest struct {
	Families []Family
	Expected *dedup.Estimate
}

// Append appends what was found: how many pairs there are, and how many documents in groups; these; and the rest, as JSON.
func (f *Found) Append(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Pairs)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Like)))
	for _, all := range [2][]Pair{f.Pairs, f.Like} {
		for _, p := range all {
			b = binary.LittleEndian.AppendUint32(b, p.I)
			b = binary.LittleEndian.AppendUint32(b, p.J)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Value))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Probability))
			b = append(b, byte(p.Kind))
		}
	}
	more, err := json.Marshal(rest{f.Families, f.Expected})
	return append(b, more...), err
}

// Decode reads what Append appended, of a collection of n documents.
func (f *Found) Decode(b []byte, n int) error {
	if len(b) < 16 {
		return errFound
	}
	of := [2]uint64{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
	b = b[16:]
	for k, to := range [2]*[]Pair{&f.Pairs, &f.Like} {
		if of[k] > uint64(len(b))/pairBytes {
			return errFound
		}
		for range of[k] {
			p := Pair{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
				math.Float64frombits(binary.LittleEndian.Uint64(b[16:])), neardup.Kind(b[24])}
			if int64(max(p.I, p.J)) >= int64(n) {
				return errFound
			}
			*to, b = append(*to, p), b[pairBytes:]
		}
	}
	var more rest
	if err := json.Unmarshal(b, &more); err != nil {
		return errFound
	}
	if f.Families, f.Expected = more.Families, more.Expected; f.Expected == nil {
		return nil
	}
	for bin, n := range f.Expected.Found {
		if n < 0 || f.Expected.NotFound[bin] < 0 {
			return errFound
		}
	}
	return nil
}
