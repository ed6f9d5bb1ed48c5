package neardup

import (
	"fmt"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/minhash"
)

// This file has MinHash signatures: short lists of numbers from which the Jaccard similarity of two sets of features
// can be estimated. It rests on one fact: the smallest hash of the union of two sets is in both of them with a
// probability that is their Jaccard similarity. To see it often enough, a hash is cut into a bin and a place in the
// bin, and each bin keeps the smallest place. Two sets have the same value in a bin if the smallest place of their
// union there is in both, so the share of such bins estimates J. With four bins, and two sets of five features of which
// three are common (J = 3/7 = 0.43):
//
//	bin            0       1       2       3
//	only in A     .80             .40
//	in both       .35     .62             .18
//	only in B                     .25     .07
//	A             .35     .62     .40     .18
//	B             .35     .62     .25     .07     2 of 4 are equal: J is estimated as 0.5
//
// With 128 bins the standard error is 0.044 or less. In a small set some bins have no feature. They borrow the value of
// another bin, in an order that is the same for all sets, so that equal bins borrow alike. internal/minhash has the
// arithmetic. [Set] compares exactly, and [SignatureIndex] searches signatures.

// A MinHash says how sets of features become signatures of Values numbers. Two sets agree in each number with a
// probability that is their Jaccard similarity (Broder 1997; Wang 2019 §2.1, where the sets are keywords, tags and
// references). The zero value is ready to use. Signatures can be compared only if the same MinHash made them from features
// made in the same way; see [MinHash.Version].
//
// The default method takes n + Values steps for n features. One permutation of all hashes is cut into Values bins,
// and each bin keeps its smallest hash (one permutation hashing: Li, Owen and Zhang 2012). A bin without a feature
// borrows the value of another bin, by a rule that keeps the probability (optimal densification: Shrivastava 2017, but
// in bounded time; see [Signature]). This is as exact as Permutations. It is more exact for sets with fewer features
// than values: the error is then 0.6 to 0.9 times the theoretical one, usually 0.75 times.
type MinHash struct {
	// Values is the length of signatures, 16 to 4096; 0 means 128. With other numbers, methods that return no error
	// panic.
	Values int

	// Permutations uses a permutation for each value instead of one for all, as textbooks do. That takes n·Values steps
	// for n features.
	Permutations bool
}

// A Signature is the MinHash values of a set: numbers of 31 bits. Bit 31 is set in values that were borrowed from
// another bin because their own bin has no feature. The values of the empty set are all 2³²−1. Signatures are the same
// on every platform. Signatures that were made in different ways cannot be compared ([MinHash.Version]).
//
// A Signature belongs to the caller. Methods only read it, except Merge and UnmarshalBinary.
type Signature []uint32

// check returns an error for a number of values that is out of range.
func (m MinHash) check() error {
	if m.Values != 0 && (m.Values < minhash.MinValues || m.Values > minhash.MaxValues) {
		return fmt.Errorf("signatures of %d values; they must have %d to %d", m.Values, minhash.MinValues, minhash.MaxValues)
	}
	return nil
}

// values returns the length of signatures, and panics if it is out of range.
func (m MinHash) values() int {
	if err := m.check(); err != nil {
		panic("neardup: MinHash: " + err.Error())
	}
	if m.Values == 0 {
		return minhash.DefaultValues
	}
	return m.Values
}

// Banding returns the banding that a [SignatureIndex] of signatures of m uses for a similarity, above 0 and at most 1.
// It counts a false candidate as a tenth of a missed match. It takes about 100 µs for 128 values, and panics if the
// similarity is out of range.
func (m MinHash) Banding(similarity float64) Banding {
	return Banding(minhash.BestBanding(m.values(), similarity, minhash.Price))
}

// Version describes everything that signatures of the texts of f depend on, as [Fingerprinter.Version] does for
// fingerprints. Of the fields of f, Weight and TiesOne do not matter. It returns an error if Values is out of range, or
// if a part of f is the caller's own and Custom does not name it.
func (m MinHash) Version(f *Fingerprinter) (string, error) {
	if err := m.check(); err != nil {
		return "", fmt.Errorf("neardup: MinHash: %w", err)
	}
	of := f.features()
	hash, own := f.hashVersion(&of)
	way := "bins"
	if m.Permutations {
		way = "permutations2" // the first ones were products of 128 bits
	}
	return of.describe(own, "hash=%s minhash=%s(%d)", hash, way, m.values())
}

// Sign returns the signature of a [Set], or of the hashes of features in any order; repeated ones count once. The
// hashes must spread over all 64 bits, like those of xxh3. Consecutive numbers, for example, do not. It panics if
// Values is out of range.
func (m MinHash) Sign(hashes []uint64) Signature { return m.AppendSign(nil, hashes) }

// AppendSign appends what [MinHash.Sign] returns to a slice. For small sets, the allocation takes longer than the rest.
func (m MinHash) AppendSign(to Signature, hashes []uint64) Signature {
	to = append(to, minhash.Empty(m.values())...)
	minhash.Sign(to[len(to)-m.values():], hashes, m.Permutations)
	return to
}

// Sign returns the signature of the features of a document, hashed with Hash.Sum64. It is the signature of
// [Fingerprinter.Set], without making the set. Weights do not count. It panics if the Values of m are out of range, or
// if Hash has only a Sum128.
func (f *Fingerprinter) Sign(doc Document, m MinHash) Signature {
	s := m.empty()
	f.hash(doc, func(hashes []uint64) { minhash.Add(s, hashes, m.Permutations) })
	minhash.Borrow(s)
	return s
}

// empty returns the signature of the empty set.
func (m MinHash) empty() Signature { return append(Signature(nil), minhash.Empty(m.values())...) }

// Merge changes s to the signature of the union of both sets: of the documents of a site, or of the paragraphs of a
// text that were signed one by one. The result equals that of signing the union. It panics if the signatures have
// different lengths.
func (s Signature) Merge(other Signature) {
	if len(s) != len(other) {
		panic(fmt.Sprintf("neardup: Signature.Merge: %d values and %d", len(s), len(other)))
	}
	for i, v := range other {
		// A value of its own is below any borrowed one. Bins that are empty in both sets borrow anew.
		if s[i] = min(s[i], v); s[i] >= minhash.Borrowed {
			s[i] = minhash.EmptyBin
		}
	}
	minhash.Borrow(s)
}

// Jaccard estimates the Jaccard similarity J of the sets of two signatures of k values. It is the fraction of equal
// values among the bins in which at least one set has a feature (Li, Owen and Zhang 2012). The estimate is unbiased.
// Its standard error is at most √(J(1−J)/k): 0.044 for 128 values and J = 0.5. (The values of different features are
// equal by chance once in 2³¹ for each feature in a bin.)
//
// It is NaN if both sets are empty, or if the signatures have different lengths.
func (s Signature) Jaccard(other Signature) float64 {
	if len(s) != len(other) {
		return math.NaN()
	}
	return minhash.Jaccard(s, other)
}

// Containment estimates the fraction of the set of s that is also in the set of other. Among the bins in which s has
// the smallest feature of both sets, it is the fraction in which other has it too. If C is the containment, and p the
// share of the union that the set of s has, the standard error is at most about √(C(1−C)/(k·p)), but for sets of two
// features up to a fourth more. So it takes many values to find short texts within long ones.
//
// It is NaN if s has the smallest feature in no bin, as with the empty set, or if the signatures have different
// lengths.
func (s Signature) Containment(other Signature) float64 {
	if len(s) != len(other) {
		return math.NaN()
	}
	same, _, least := minhash.CompareValues(s, other)
	return float64(same) / float64(least) // 0/0 is NaN
}

// A PackedSignature keeps only some bits of each value of a signature (b-bit minwise hashing: Li and König 2010). 128
// values of 1 bit take 16 bytes. Packed signatures can be compared, but not merged, and they give no containment.
// They are immutable, and safe for concurrent use. The zero value stands for no set: its similarity to anything is
// NaN, and its marshalled form cannot be read.
type PackedSignature struct {
	words  []uint64 // values from the lowest bits up; no value is split across two words
	values int      // their number
	bits   int      // of each value
	empty  bool     // whether the set is empty
}

// Pack keeps 1, 2, 4, 8 or 16 bits of each value. It panics for any other number of bits.
func (s Signature) Pack(bits int) PackedSignature {
	if !minhash.IsPacked(bits) {
		panic(fmt.Sprintf("neardup: Signature.Pack: %d bits", bits))
	}
	p := PackedSignature{make([]uint64, minhash.PackedWords(len(s), bits)), len(s), bits, minhash.IsEmpty(s)}
	minhash.PackValues(p.words, s, bits)
	return p
}

// Jaccard estimates the Jaccard similarity J of the sets of two packed signatures of k values of b bits. Different
// values agree by chance in a fraction 2⁻ᵇ of all cases, which the estimate takes into account. It is unbiased, and so
// may be a little below 0. Its standard error is √(P(1−P)/k) / (1−2⁻ᵇ), where P = J + (1−J)·2⁻ᵇ. For J = 0.5 and 128
// values that is 0.077 with 1 bit, 0.047 with 4 bits and 0.044 with 8. It may be half as much again for sets with fewer
// than twice as many features as values, because some values are borrowed.
//
// It is NaN if both sets are empty, and 0 if one of them is. It is also NaN if the signatures differ in the number of
// values or of bits.
func (p PackedSignature) Jaccard(other PackedSignature) float64 {
	switch {
	case p.values != other.values || p.bits != other.bits || p.empty && other.empty:
		return math.NaN()
	case p.empty || other.empty:
		return 0
	}
	return minhash.PackedJaccard(p.words, other.words, p.values, p.bits)
}

// A Set is the distinct features of a text, as 64-bit hashes in ascending order. Sets compare exactly what the values
// of a [Signature] estimate. Among a million features, the chance that any two have the same hash is 3 in 10⁸. If you
// make a Set without the functions of this package, sort it in ascending order; otherwise the measures are wrong.
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

// SetOf returns the set of the given strings, for example the keywords, tags and references of a document. If a string may
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
