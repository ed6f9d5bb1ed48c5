package neardup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A MinHash says how sets of features become signatures of Values numbers: two sets agree
// in each number with the probability of their Jaccard similarity (Broder 1997; S002
// §2.1, where the sets are keywords, tags and references).
//
// The usual way takes time for n + Values, where n is the number of features: one
// permutation of all hashes, cut into as many bins as there are values, of each of which
// the smallest is kept (one permutation hashing, Li, Owen and Zhang 2012). A bin may
// stay empty. Two signatures are compared where either has a value, which is unbiased;
// where every value is needed, in bands and in packed form, empty bins borrow from others
// by a rule that keeps the probability (optimal densification, Shrivastava 2017, in
// bounded time). It is at least as exact as Permutations, and the smaller the sets the
// more so: a set of fewer features than values is nearly spelled out.
//
// The signature of a union is the merged one of the parts, see [Signature.Merge].
type MinHash struct {
	// Values is the length of signatures, 16 to 4096; 0 means 128. Other numbers panic.
	Values int

	// Permutations takes as many permutations instead of one, as the textbooks do, and
	// n·Values steps.
	Permutations bool
}

const (
	minValues     = 16
	maxValues     = 4096
	defaultValues = 128
)

// A Signature is the MinHash values of a set: numbers of 32 bits. A bin that is empty has
// 2³²−1, so all values of the empty set are that. Signatures are the same on every
// platform. Those that were made in different ways do not compare ([MinHash.Version]).
type Signature []uint32

// emptyBin is the value of a bin without a feature.
const emptyBin = math.MaxUint32

func (m MinHash) check() error {
	if m.Values != 0 && (m.Values < minValues || m.Values > maxValues) {
		return fmt.Errorf("signatures of %d values; they have %d to %d", m.Values, minValues, maxValues)
	}
	return nil
}

func (m MinHash) values() int {
	if err := m.check(); err != nil {
		panic("neardup: MinHash: " + err.Error())
	}
	if m.Values == 0 {
		return defaultValues
	}
	return m.Values
}

// Version describes all that signatures of the texts of f depend on, like
// [Fingerprinter.Version], which names the fields of f that have to do with features.
func (m MinHash) Version(f *Fingerprinter) (string, error) {
	if err := m.check(); err != nil {
		return "", fmt.Errorf("neardup: MinHash: %w", err)
	}
	of := f.features()
	hash := hashVersion(f.Hash.key)
	var own []string
	if of.isCustom() {
		own = append(own, "Tokenizer")
	}
	if !f.Hash.isXXH3() {
		hash = "custom"
		own = append(own, "Hash")
	}
	way := "bins"
	if m.Permutations {
		way = "permutations"
	}
	return of.describe(own, "hash=%s minhash=%s(%d)", hash, way, m.values())
}

// Sign returns the signature of a set of features, which are given by their hashes, in
// any order and any of them several times. The hashes should spread over all 64 bits like
// those of xxh3; numbers that only differ are none.
func (m MinHash) Sign(hashes []uint64) Signature {
	s := m.empty()
	m.add(s, hashes)
	return s
}

// Sign returns the signature of the features of a text, hashed with Hash.Sum64: that of
// [Fingerprinter.Set], without making the set. Weights do not count.
func (f *Fingerprinter) Sign(text string, m MinHash) Signature {
	s := m.empty()
	f.hashText(text, func(hashes []uint64) { m.add(s, hashes) })
	return s
}

// SignRecord is [Fingerprinter.Sign] of a record, that of [Fingerprinter.RecordSet].
func (f *Fingerprinter) SignRecord(rec Record, m MinHash) Signature {
	s := m.empty()
	f.hashRecord(rec, func(hashes []uint64) { m.add(s, hashes) })
	return s
}

// empty returns the signature of the empty set.
func (m MinHash) empty() Signature {
	s := make(Signature, m.values())
	for i := range s {
		s[i] = emptyBin
	}
	return s
}

// add adds features to the set of a signature.
func (m MinHash) add(s Signature, hashes []uint64) {
	if m.Permutations {
		for i := range s {
			xor, factor := splitMix(uint64(2*i)), splitMix(uint64(2*i+1))|1
			least := s[i]
			for _, h := range hashes {
				hi, lo := bits.Mul64(h^xor, factor)
				least = min(least, uint32((hi^lo)>>32), emptyBin-1)
			}
			s[i] = least
		}
		return
	}
	// The product is a bin and the place in it.
	bins := uint64(len(s))
	for _, h := range hashes {
		bin, place := bits.Mul64(h, bins)
		s[bin] = min(s[bin], uint32(place>>32), emptyBin-1)
	}
}

// splitMix is the i-th number of the generator SplitMix64 with the seed 0.
func splitMix(i uint64) uint64 {
	x := (i + 1) * 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// Merge makes s the signature of the union of its set and that of other: the documents
// of a site, or the paragraphs of a text that were signed one by one. Signatures of
// different lengths panic.
func (s Signature) Merge(other Signature) {
	if len(s) != len(other) {
		panic(fmt.Sprintf("neardup: Signature.Merge: %d values and %d", len(s), len(other)))
	}
	for i, v := range other {
		s[i] = min(s[i], v)
	}
}

// IsEmpty reports whether s is of the empty set.
func (s Signature) IsEmpty() bool {
	for _, v := range s {
		if v != emptyBin {
			return false
		}
	}
	return true
}

// Jaccard estimates the Jaccard similarity J of the sets of two signatures of k values: the
// share of those that are equal, of the bins that are not empty in both (Li, Owen and Zhang
// 2012). It is unbiased, and its standard error is at most √(J(1−J)/k): 0.044 for 128 values and
// J = 0.5. Of sets with fewer features than values it is less. (Equal values of different
// features add less than 2⁻³² times the number of features in a bin.)
//
// It is NaN if both sets are empty, or the signatures are of different lengths.
func (s Signature) Jaccard(other Signature) float64 {
	if len(s) != len(other) {
		return math.NaN()
	}
	same, empty := agree(s, other)
	return ratio(same-empty, len(s)-empty)
}

// agree returns how many values are equal, and how many of those are of bins that are empty
// in both.
func agree(a, b []uint32) (same, empty int) {
	for i, x := range a {
		y := b[i]
		if x == y {
			same++
		}
		if x&y == emptyBin {
			empty++
		}
	}
	return same, empty
}

// Containment estimates the share of the set of s that is in the set of other: of the bins
// in which the smallest of both is one of s, the share in which it is one of other too. If
// C is the containment and s has the part p of the union, its standard error is about
// √(C(1−C)/(k·p)): to find small texts in long ones takes many values.
//
// It is NaN if no bin has its smallest from s, as of an empty set, or if the signatures are
// of different lengths.
func (s Signature) Containment(other Signature) float64 {
	if len(s) != len(other) {
		return math.NaN()
	}
	same, empty := agree(s, other)
	of := 0
	for i, x := range s {
		if x <= other[i] {
			of++
		}
	}
	return ratio(same-empty, of-empty)
}

// AppendBinary appends the values, 4 bytes each, big-endian.
func (s Signature) AppendBinary(b []byte) ([]byte, error) {
	for _, v := range s {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b, nil
}

// MarshalBinary returns the values, 4 bytes each, big-endian.
func (s Signature) MarshalBinary() ([]byte, error) {
	return s.AppendBinary(make([]byte, 0, 4*len(s)))
}

// UnmarshalBinary reads what AppendBinary wrote, 16 to 4096 values.
func (s *Signature) UnmarshalBinary(data []byte) error {
	n := len(data) / 4
	if len(data)%4 != 0 || n < minValues || n > maxValues {
		return fmt.Errorf("neardup: %d bytes are no signature of %d to %d values", len(data), minValues, maxValues)
	}
	out := make(Signature, n)
	for i := range out {
		out[i] = binary.BigEndian.Uint32(data[4*i:])
	}
	*s = out
	return nil
}

var errPacked = errors.New("neardup: no packed signature")
