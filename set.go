package neardup

import (
	"slices"

	"github.com/neardup/neardup/internal/exact"
)

// A Set is the distinct features of a text, as 64-bit hashes in ascending order. Sets compare exactly what the values
// of a [Signature] estimate. Among a million features, the chance that any two have the same hash is 3 in 10⁸. Whoever
// makes a Set without the functions of this package must keep the order; the measures are wrong otherwise.
//
// Each measure takes time linear in both sets, and is a number in [0, 1]. Two empty sets have no similarity: a text
// without features is like no other. So the measures are NaN, which is neither above nor below any threshold. Nothing
// changes a Set, so it is safe for concurrent use.
type Set []uint64

// NewSet makes a set of hashes, in any order and with repetitions. It sorts hashes in place, and the Set keeps that
// memory.
func NewSet(hashes []uint64) Set {
	slices.Sort(hashes)
	return slices.Clip(slices.Compact(hashes))
}

// SetOf returns the set of some strings, for example the keywords, tags and references of a document. If a string may
// be of two kinds, put the kind before it ("tag:go"). The hash is that of [HashFeature].
func SetOf(items ...string) Set {
	hashes := make([]uint64, len(items))
	for i, item := range items {
		hashes[i] = HashFeature(item)
	}
	return NewSet(hashes)
}

// Set returns the set of the features of a document, hashed with Hash.Sum64. Weights do not count. A document without
// features has an empty set. It panics if Hash has only a Sum128.
func (f *Fingerprinter) Set(doc Document) Set {
	var hashes []uint64
	f.hash(doc, func(h []uint64) { hashes = append(hashes, h...) })
	return NewSet(hashes)
}

// hash calls take with the hashes of all features of a document, in several batches, repetitions included. take must
// not keep the slice.
func (f *Fingerprinter) hash(doc Document, take func(hashes []uint64)) {
	r := f.extractor(toHash)
	r.take = take
	r.document(doc)
	r.release()
}

// common returns how many elements two sets share. It merges them. The conditions are independent, without else,
// because nobody can predict which of two hashes is larger.
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

// Jaccard returns |a ∩ b| / |a ∪ b|, the resemblance of Broder (1997): 1 for equal sets, 0 for sets that share nothing,
// NaN if both are empty.
func (a Set) Jaccard(b Set) float64 {
	n := a.common(b)
	return exact.Ratio(n, len(a)+len(b)-n)
}

// Dice returns 2·|a ∩ b| / (|a| + |b|). It is NaN if both sets are empty.
func (a Set) Dice(b Set) float64 { return exact.Ratio(2*a.common(b), len(a)+len(b)) }

// Containment returns |a ∩ b| / |a|, the fraction of a that b has too (Broder 1997). It is 1 if b contains all of a,
// and NaN if a is empty.
func (a Set) Containment(b Set) float64 { return exact.Ratio(a.common(b), len(a)) }
