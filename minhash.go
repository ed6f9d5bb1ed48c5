package neardup

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/minhash"
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

// A Signature is the MinHash values of a set: numbers of 31 bits, with bit 31 set in those
// that were borrowed from another bin, because there is no feature in their own. The
// values of the empty set are all 2³²−1. Signatures are the same on every platform. Those
// that were made in different ways do not compare ([MinHash.Version]).
type Signature []uint32

func (m MinHash) check() error {
	if m.Values != 0 && (m.Values < minhash.MinValues || m.Values > minhash.MaxValues) {
		return fmt.Errorf("signatures of %d values; they have %d to %d", m.Values, minhash.MinValues, minhash.MaxValues)
	}
	return nil
}

func (m MinHash) values() int {
	if err := m.check(); err != nil {
		panic("neardup: MinHash: " + err.Error())
	}
	if m.Values == 0 {
		return minhash.DefaultValues
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
	minhash.Add(s, hashes, m.Permutations)
	minhash.Borrow(s)
	return s
}

// Sign returns the signature of the features of a text, hashed with Hash.Sum64: that of
// [Fingerprinter.Set], without making the set. Weights do not count.
func (f *Fingerprinter) Sign(text string, m MinHash) Signature {
	s := m.empty()
	f.hashText(text, func(hashes []uint64) { minhash.Add(s, hashes, m.Permutations) })
	minhash.Borrow(s)
	return s
}

// SignRecord is [Fingerprinter.Sign] of a record, that of [Fingerprinter.RecordSet].
func (f *Fingerprinter) SignRecord(rec Record, m MinHash) Signature {
	s := m.empty()
	f.hashRecord(rec, func(hashes []uint64) { minhash.Add(s, hashes, m.Permutations) })
	minhash.Borrow(s)
	return s
}

// empty returns the signature of the empty set.
func (m MinHash) empty() Signature {
	s := make(Signature, m.values())
	for i := range s {
		s[i] = minhash.EmptyBin
	}
	return s
}

// Merge makes s the signature of the union of its set and that of other: the documents
// of a site, or the paragraphs of a text that were signed one by one. Signatures of
// different lengths panic.
func (s Signature) Merge(other Signature) {
	if len(s) != len(other) {
		panic(fmt.Sprintf("neardup: Signature.Merge: %d values and %d", len(s), len(other)))
	}
	for i, v := range other {
		if s[i] = min(s[i], v); s[i] >= minhash.Borrowed {
			s[i] = minhash.EmptyBin
		}
	}
	minhash.Borrow(s)
}

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
	a, b := minhash.Words(s), minhash.Words(other)
	if a != nil && b != nil {
		same, neither := minhash.CompareWords(a, b)
		return exact.Ratio(same, len(s)-neither)
	}
	same, neither, _ := minhash.CompareValues(s, other)
	return exact.Ratio(same, len(s)-neither)
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
	same, _, least := minhash.CompareValues(s, other)
	return exact.Ratio(same, least)
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
	if len(data)%4 != 0 || n < minhash.MinValues || n > minhash.MaxValues {
		return fmt.Errorf("neardup: %d bytes are no signature of %d to %d values", len(data), minhash.MinValues, minhash.MaxValues)
	}
	out := make(Signature, n)
	own, empty := 0, 0
	for i := range out {
		out[i] = binary.BigEndian.Uint32(data[4*i:])
		switch v := out[i]; {
		case v < minhash.Borrowed:
			own++
		case v == minhash.EmptyBin:
			empty++
		}
	}
	if empty != n && (empty > 0 || own == 0) {
		return fmt.Errorf("neardup: the signature is of no set: of %d values %d are of its own and %d empty", n, own, empty)
	}
	*s = out
	return nil
}

// A PackedSignature is a signature of which only some bits of each value are kept (b-bit
// minwise hashing, Li and König 2010): 128 values of 1 bit take 16 bytes. It can be compared,
// but neither merged nor be asked for a containment.
type PackedSignature struct {
	words  []uint64 // values from the lowest bits up, none across two words
	values int
	bits   int
	empty  bool // of the empty set
}

// Pack keeps 1, 2, 4, 8 or 16 bits of each value. Another number of bits panics.
func (s Signature) Pack(bits int) PackedSignature {
	if !minhash.IsPacked(bits) {
		panic(fmt.Sprintf("neardup: Signature.Pack: %d bits", bits))
	}
	p := PackedSignature{make([]uint64, minhash.PackedWords(len(s), bits)), len(s), bits, minhash.IsEmpty(s)}
	minhash.PackValues(p.words, s, bits)
	return p
}

// Jaccard estimates the Jaccard similarity J of the sets of two packed signatures of k
// values of b bits. Of different values 2⁻ᵇ are equal by chance, which is taken into account:
// the estimate is unbiased, and may therefore be a little below 0. Its standard error is
// √(P(1−P)/k) / (1−2⁻ᵇ), where P = J + (1−J)·2⁻ᵇ: for J = 0.5 and 128 values 0.077 with 1 bit, 0.047
// with 4 bits and 0.044 with 8. Of sets with fewer than twice as many features as values it
// may be half as much more, as some values are borrowed.
//
// It is NaN if both sets are empty, 0 if one is, and NaN if the signatures have not the
// same number of values and bits.
func (p PackedSignature) Jaccard(other PackedSignature) float64 {
	switch {
	case p.values != other.values || p.bits != other.bits || p.empty && other.empty:
		return math.NaN()
	case p.empty || other.empty:
		return 0
	}
	return minhash.PackedJaccard(p.words, other.words, p.values, p.bits)
}

// AppendBinary appends the number of values (2 bytes) and of bits (1 byte; 128 more if the
// set is empty), and the words in which they are, all big-endian.
func (p PackedSignature) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint16(b, uint16(p.values))
	flags := byte(p.bits)
	if p.empty {
		flags |= 0x80
	}
	b = append(b, flags)
	for _, w := range p.words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b, nil
}

// MarshalBinary returns what AppendBinary appends.
func (p PackedSignature) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// MarshalText returns what AppendBinary appends, in base64.
func (p PackedSignature) MarshalText() ([]byte, error) {
	b, err := p.AppendBinary(nil)
	return base64.StdEncoding.AppendEncode(nil, b), err
}

// UnmarshalText reads what MarshalText wrote.
func (p *PackedSignature) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: %w", errPacked, err)
	}
	return p.UnmarshalBinary(b)
}

// UnmarshalBinary reads what AppendBinary wrote.
func (p *PackedSignature) UnmarshalBinary(data []byte) error {
	if len(data) < 3 {
		return errPacked
	}
	q := PackedSignature{values: int(binary.BigEndian.Uint16(data)), bits: int(data[2] & 0x7F), empty: data[2]&0x80 != 0}
	data = data[3:]
	if q.values < minhash.MinValues || q.values > minhash.MaxValues || !minhash.IsPacked(q.bits) || len(data) != 8*minhash.PackedWords(q.values, q.bits) {
		return errPacked
	}
	q.words = make([]uint64, len(data)/8)
	for i := range q.words {
		q.words[i] = binary.BigEndian.Uint64(data[8*i:])
	}
	if used := q.values * q.bits % 64; used != 0 && q.words[len(q.words)-1]>>used != 0 {
		return errPacked
	}
	*p = q
	return nil
}

var errPacked = errors.New("neardup: the bytes are no packed signature")
