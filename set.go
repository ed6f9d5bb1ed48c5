package neardup

import (
	"slices"

	"github.com/neardup/neardup/internal/exact"
	"github.com/zeebo/xxh3"
)

// A Set is the distinct features of a text, by their hashes, in ascending order. It is
// what [Signature] values estimate, and compares exactly: its features are told apart by
// 64 bits, so among a million the chance that any two are confused is 3 in 10⁸.
//
// The measures of two sets take time for all their elements. Two empty sets have none: a
// text without features is like no other, so the measures are NaN, which is neither above
// nor below any threshold.
type Set []uint64

// NewSet makes a set of hashes, which it keeps and sorts.
func NewSet(hashes []uint64) Set {
	slices.Sort(hashes)
	return slices.Clip(slices.Compact(hashes))
}

// SetOf returns the set of some strings: the keywords, tags and references of a document,
// for example, with the kind before each ("tag:go") if one may also be another's.
func SetOf(items ...string) Set {
	hashes := make([]uint64, len(items))
	for i, item := range items {
		hashes[i] = xxh3.HashString(item)
	}
	return NewSet(hashes)
}

// Set returns the set of the features of a text, hashed with Hash.Sum64. Weights do not
// count.
func (f *Fingerprinter) Set(text string) Set {
	var hashes []uint64
	f.hashText(text, func(h []uint64) { hashes = append(hashes, h...) })
	return NewSet(hashes)
}

// RecordSet is [Fingerprinter.Set] of a record: the features that
// [Fingerprinter.SumRecord64] weighs.
func (f *Fingerprinter) RecordSet(rec Record) Set {
	var hashes []uint64
	f.hashRecord(rec, func(h []uint64) { hashes = append(hashes, h...) })
	return NewSet(hashes)
}

// hashText calls take with the hashes of all features of a text, some at a time.
func (f *Fingerprinter) hashText(text string, take func(hashes []uint64)) {
	r := f.reading(toHash)
	r.take = take
	r.text(text)
	r.release()
}

// hashRecord is hashText of a record.
func (f *Fingerprinter) hashRecord(rec Record, take func(hashes []uint64)) {
	r := f.reading(toHash)
	r.take = take
	r.record(rec)
	r.release()
}

// common returns how many elements two sets share.
func (a Set) common(b Set) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := a[i], b[j]
		if x == y {
			n++
		}
		if x <= y {
			i++
		}
		if x >= y {
			j++
		}
	}
	return n
}

// Jaccard returns |a ∩ b| / |a ∪ b|, the resemblance of Broder (1997): 1 for equal sets, 0
// for those that share nothing.
func (a Set) Jaccard(b Set) float64 {
	n := a.common(b)
	return exact.Ratio(n, len(a)+len(b)-n)
}

// Dice returns 2·|a ∩ b| / (|a| + |b|).
func (a Set) Dice(b Set) float64 { return exact.Ratio(2*a.common(b), len(a)+len(b)) }

// Containment returns |a ∩ b| / |a|, the share of a that b has too (Broder 1997). It is 1
// if a is a part of b, and NaN if a is empty.
func (a Set) Containment(b Set) float64 { return exact.Ratio(a.common(b), len(a)) }
