package neardup

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// A MinHash says how sets of features become signatures of Values numbers: two sets agree
// in each number with the probability of their Jaccard similarity (Broder 1997; S002
// §2.1, where the sets are keywords, tags and references).
//
// The usual way takes time for n + Values, where n is the number of features: one
// permutation of all hashes, cut into as many bins as there are values, of each of which
// the smallest is kept (one permutation hashing, Li, Owen and Zhang 2012). A bin without a
// feature borrows the value of another, by a rule that keeps the probability (optimal
// densification, Shrivastava 2017, but in bounded time; see [Signature]). It is as exact as
// Permutations, and more so for sets with fewer features than values: their error is less
// by a fourth or more.
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

// A Signature is the MinHash values of a set: numbers of 31 bits, with bit 31 set in those
// that were borrowed from another bin, because there is no feature in their own. The
// values of the empty set are all 2³²−1. Signatures are the same on every platform. Those
// that were made in different ways do not compare ([MinHash.Version]).
type Signature []uint32

const (
	borrowed = 1 << 31        // is set in what is not of its own bin
	emptyBin = math.MaxUint32 // more than all others
)

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

// Version describes all that signatures of the texts of f depend on, as
// [Fingerprinter.Version] does for fingerprints. Of the fields of f those count that have to
// do with features: neither Weight nor Tie.
func (m MinHash) Version(f *Fingerprinter) (string, error) {
	if err := m.check(); err != nil {
		return "", fmt.Errorf("neardup: MinHash: %w", err)
	}
	of := f.features()
	hash, own := f.hashVersion(&of)
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
	s.borrow()
	return s
}

// Sign returns the signature of the features of a text, hashed with Hash.Sum64: that of
// [Fingerprinter.Set], without making the set. Weights do not count.
func (f *Fingerprinter) Sign(text string, m MinHash) Signature {
	s := m.empty()
	f.hashText(text, func(hashes []uint64) { m.add(s, hashes) })
	s.borrow()
	return s
}

// SignRecord is [Fingerprinter.Sign] of a record, that of [Fingerprinter.RecordSet].
func (f *Fingerprinter) SignRecord(rec Record, m MinHash) Signature {
	s := m.empty()
	f.hashRecord(rec, func(hashes []uint64) { m.add(s, hashes) })
	s.borrow()
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

// add adds features to the set of a signature without borrowed values.
func (m MinHash) add(s Signature, hashes []uint64) {
	if m.Permutations {
		for i := range s {
			xor, factor := splitMix(uint64(2*i)), splitMix(uint64(2*i+1))|1
			least := s[i]
			for _, h := range hashes {
				hi, lo := bits.Mul64(h^xor, factor)
				least = min(least, uint32((hi^lo)>>33))
			}
			s[i] = least
		}
		return
	}
	// The product is a bin and the place in it.
	bins := uint64(len(s))
	for _, h := range hashes {
		bin, place := bits.Mul64(h, bins)
		s[bin] = min(s[bin], uint32(place>>33))
	}
}

// borrow gives each empty bin the value of another, if there is any. For each bin there is
// an order of all the others that does not depend on the sets; it borrows from the first
// that is not empty. If that bin has the smallest of the union of two sets from both, both
// borrow the same; so the probability of that is their Jaccard similarity.
//
// The order begins with some bins at random (Shrivastava 2017), which nearly always do. If
// few bins have a feature it goes on with the rounds in which those that have one offer it
// each to a bin at random (Mai et al. 2020), so that the time is bounded.
func (s Signature) borrow() {
	empty := 0
	for _, v := range s {
		if v == emptyBin {
			empty++
		}
	}
	if empty == 0 || empty == len(s) {
		return
	}
	k := uint64(len(s))
	for i, v := range s {
		if v != emptyBin {
			continue
		}
		random := uint64(0)
		for try := range uint64(16) {
			if random >>= 16; try%4 == 0 {
				random = splitMix(uint64(i)<<48 | try)
			}
			if from := s[random&0xFFFF*k>>16]; from < borrowed {
				s[i] = lend(from)
				empty--
				break
			}
		}
	}
	if empty > 0 {
		s.offer(empty)
	}
}

// offer is borrow for the bins that are still empty, so many.
func (s Signature) offer(empty int) {
	var lenders []int
	for i, v := range s {
		if v < borrowed {
			lenders = append(lenders, i)
		}
	}
	for round := uint64(1); ; round++ {
		for _, from := range lenders {
			to, _ := bits.Mul64(splitMix(uint64(from)<<48|round<<4), uint64(len(s)))
			if s[to] != emptyBin {
				continue
			}
			s[to] = lend(s[from])
			if empty--; empty == 0 {
				return
			}
		}
	}
}

// lend returns a value as another bin has it: never as of an empty one.
func lend(v uint32) uint32 { return min(v|borrowed, emptyBin-1) }

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
		if s[i] = min(s[i], v); s[i] >= borrowed {
			s[i] = emptyBin
		}
	}
	s.borrow()
}

// isEmpty reports whether s is of the empty set.
func (s Signature) isEmpty() bool { return len(s) == 0 || s[0] == emptyBin }

// Jaccard estimates the Jaccard similarity J of the sets of two signatures of k values: the
// share of those that are equal, of the bins in which either set has a feature (Li, Owen
// and Zhang 2012). It is unbiased, and its standard error is at most √(J(1−J)/k): 0.044 for
// 128 values and J = 0.5. (By chance values of different features are equal, once in 2³¹ for
// each feature in a bin.)
//
// It is NaN if both sets are empty, or the signatures are of different lengths.
func (s Signature) Jaccard(other Signature) float64 {
	if len(s) != len(other) {
		return math.NaN()
	}
	a, b := s.words(), other.words()
	if a != nil && b != nil {
		same, neither := compareWords(a, b)
		return ratio(same, len(s)-neither)
	}
	same, neither, _ := compareValues(s, other)
	return ratio(same, len(s)-neither)
}

// words returns the values two in a word, the first one in its low half, if they are so in
// memory, or nil.
func (s Signature) words() []uint64 {
	if p := unsafe.Pointer(unsafe.SliceData(s)); hostIsLittle && len(s)%2 == 0 && uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), len(s)/2)
	}
	return nil
}

// compareWords is compareValues for the first two results, two values at a time.
func compareWords(a, b []uint64) (same, neither int) {
	const high = borrowed<<32 | borrowed // bits of values
	b = b[:len(a)]
	s, n := uint64(0), uint64(0) // in two halves
	for i, x := range a {
		y := b[i]
		d := x ^ y | x&high
		s += ^((d&^high + ^uint64(high)) | d) & high >> 31 // no bit of d is set
		n += x & y & high >> 31
	}
	return int(uint32(s) + uint32(s>>32)), int(uint32(n) + uint32(n>>32))
}

// Containment estimates the share of the set of s that is in the set of other: of the bins
// in which s has the smallest of both, the share in which other has it too. If C is the
// containment and s has the part p of the union, its standard error is about
// √(C(1−C)/(k·p)): to find small texts in long ones takes many values.
//
// It is NaN if s has the smallest of no bin, as the empty set, or the signatures are of
// different lengths.
func (s Signature) Containment(other Signature) float64 {
	if len(s) != len(other) {
		return math.NaN()
	}
	same, _, least := compareValues(s, other)
	return ratio(same, least)
}

// compareValues returns in how many bins a and b have the same value of their own, in how
// many neither has one, and in how many a has one that is not more than that of b.
func compareValues(a, b []uint32) (same, neither, least int) {
	b = b[:len(a)]
	for i, x := range a {
		y := b[i]
		same += int((uint64(x^y|x&borrowed) - 1) >> 63)
		neither += int(x & y >> 31)
		least += int(((uint64(x) | uint64(x&borrowed)<<1) - uint64(y) - 1) >> 63)
	}
	return same, neither, least
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

// UnmarshalBinary reads what AppendBinary wrote, 16 to 4096 values. It is an error if they
// are those of no set.
func (s *Signature) UnmarshalBinary(data []byte) error {
	n := len(data) / 4
	if len(data)%4 != 0 || n < minValues || n > maxValues {
		return fmt.Errorf("neardup: %d bytes are no signature of %d to %d values", len(data), minValues, maxValues)
	}
	out := make(Signature, n)
	own, empty := 0, 0
	for i := range out {
		out[i] = binary.BigEndian.Uint32(data[4*i:])
		switch v := out[i]; {
		case v < borrowed:
			own++
		case v == emptyBin:
			empty++
		}
	}
	if empty != n && (empty > 0 || own == 0) {
		return fmt.Errorf("neardup: the signature is of no set: of %d values %d are of its own and %d empty", n, own, empty)
	}
	*s = out
	return nil
}
