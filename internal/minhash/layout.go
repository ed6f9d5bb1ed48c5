// Package minhash computes MinHash signatures and finds similar ones among many by banding
// (locality-sensitive hashing). It is the machinery behind MinHash, Signature and SignatureIndex of
// the library:
//
//   - signature.go computes signatures, compares them, and packs a few bits of each value.
//   - banding.go chooses how signatures are cut into bands.
//   - layout.go defines the words in which an index stores a signature, and the keys of its bands.
//   - tables.go has the immutable hash tables for the bands of many signatures.
//   - tail.go has the table for signatures that are being added one by one.
//
// A signature has one value of 31 bits for each bin of hashes. Bit 31 is set in a value that was
// borrowed from another bin, because its own bin had no feature.
package minhash

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/internal/kernel"
)

// A Banding cuts signatures into Bands bands of Rows values each. Values beyond Bands·Rows belong
// to no band.
type Banding struct{ Bands, Rows int }

// A Layout says how an index stores a signature: as a document of a fixed number of 64-bit words.
//
//	32 bits    the values, two in a word, the first one in the low half
//	b bits     b bits of each value, packed; then a key of 32 bits for each band, two in a word.
//	           The keys of the empty set are 0, and no others are
//
// With 32 bits, the keys are computed from the values. Fewer bits do not determine them, so there
// they are stored. A Layout does not change and is safe for concurrent use.
type Layout struct {
	Values, Bits int // of a signature; of each value that is kept: 1, 2, 4, 8, 16 or 32
	Banding
	packed int // words for the values
	Words  int // words of a document
}

// NewLayout returns the layout for signatures of the given number of values and bits. The arguments
// must be valid.
func NewLayout(values, bits int, b Banding) *Layout {
	l := &Layout{Values: values, Bits: bits, Banding: b, packed: PackedWords(values, bits)}
	if l.Words = l.packed; bits < 32 {
		l.Words += (b.Bands + 1) / 2
	}
	return l
}

// Pack writes the signature s into the words of doc, which are as many as l.Words.
func (l *Layout) Pack(doc []uint64, s []uint32) {
	if l.Bits == 32 {
		for i := range len(s) / 2 {
			doc[i] = uint64(s[2*i]) | uint64(s[2*i+1])<<32
		}
		if len(s)%2 == 1 {
			doc[len(s)/2] = uint64(s[len(s)-1])
		}
		return
	}
	clear(doc)
	PackValues(doc, s, l.Bits)
	l.packKeys(doc, s)
}

// document returns the document of a signature in a layout of 32 bits, in the memory of s if it is laid out like that.
func (l *Layout) document(s []uint32) []uint64 {
	if words := Words(s); words != nil {
		return words
	}
	doc := make([]uint64, PackedWords(l.Values, 32))
	l.Pack(doc, s)
	return doc
}

// packKeys writes only the keys, into words that are 0. The keys are those of all 32 bits, so fewer
// bits give the same candidates.
func (l *Layout) packKeys(doc []uint64, s []uint32) {
	if IsEmpty(s) {
		return
	}
	full := Layout{Values: l.Values, Bits: 32, Banding: l.Banding}
	values := full.document(s)
	for band := range l.Bands {
		doc[l.packed+band/2] |= uint64(full.Key(values, band)) << (band % 2 * 32)
	}
}

// Signature is the inverse of Pack. It returns nil if not all bits are stored.
func (l *Layout) Signature(doc []uint64) []uint32 {
	if l.Bits < 32 {
		return nil
	}
	s := make([]uint32, l.Values)
	for i := range s {
		s[i] = uint32(doc[i/2] >> (i % 2 * 32))
	}
	return s
}

// IsEmpty reports whether a document is the signature of the empty set, which agrees with nothing.
func (l *Layout) IsEmpty(doc []uint64) bool {
	if l.Bits == 32 {
		return uint32(doc[0]) == EmptyBin
	}
	return uint32(doc[l.packed]) == 0
}

// The seed and the factor of the hash of a band. keyFactor is 2⁶⁴ over the golden ratio.
const (
	keySeed   = 0xD6E8FEB86659FD93
	keyFactor = 0x9E3779B97F4A7C15
)

// ownBits clears, in two values at once, the bit that says that a value was borrowed.
const ownBits = ^uint64(Borrowed<<32 | Borrowed)

// Key returns a 32-bit hash of the values of a band, not 0. Borrowed values count like own ones,
// since two sets borrow the same value with the probability of their similarity.
func (l *Layout) Key(doc []uint64, band int) uint32 {
	if l.Bits < 32 {
		return uint32(doc[l.packed+band/2] >> (band % 2 * 32))
	}
	h := uint64(keySeed)
	// An even number of rows makes a band consist of whole words.
	if l.Rows%2 == 0 {
		for i := band * l.Rows / 2; i < (band+1)*l.Rows/2; i++ {
			hi, lo := bits.Mul64(h^doc[i]&ownBits, keyFactor)
			h = hi ^ lo
		}
	} else {
		for i := band * l.Rows; i < (band+1)*l.Rows; i++ {
			hi, lo := bits.Mul64(h^doc[i/2]>>(i%2*32)&(Borrowed-1), keyFactor)
			h = hi ^ lo
		}
	}
	return max(uint32(h>>32), 1)
}

// keys returns the keys of all bands of a document that is not empty. It reuses the slice.
func (l *Layout) keys(doc []uint64, keys []uint32) []uint32 {
	keys = slices.Grow(keys[:0], l.Bands)[:l.Bands]
	// The usual number of rows, without an inner loop.
	if l.Bits == 32 && l.Rows == 4 {
		doc = doc[:2*l.Bands]
		for band := range keys {
			hi, lo := bits.Mul64(keySeed^doc[2*band]&ownBits, keyFactor)
			hi, lo = bits.Mul64(hi^lo^doc[2*band+1]&ownBits, keyFactor)
			keys[band] = max(uint32((hi^lo)>>32), 1)
		}
		return keys
	}
	for band := range keys {
		keys[band] = l.Key(doc, band)
	}
	return keys
}

// Agree reports whether two documents, neither empty, agree in a band: in all values, or in the key
// if not all bits are stored.
func (l *Layout) Agree(a, b []uint64, band int) bool {
	if l.Bits < 32 {
		return l.Key(a, band) == l.Key(b, band)
	}
	if l.Rows%2 == 0 {
		from := band * l.Rows / 2
		other := b[from:][:l.Rows/2]
		for i, w := range a[from:][:l.Rows/2] {
			if (w^other[i])&ownBits != 0 {
				return false
			}
		}
		return true
	}
	for i := band * l.Rows; i < (band+1)*l.Rows; i++ {
		if (a[i/2]^b[i/2])>>(i%2*32)&(Borrowed-1) != 0 {
			return false
		}
	}
	return true
}

// IsFirst reports whether band is the first in which two documents agree. It serves to report a
// pair only once.
func (l *Layout) IsFirst(a, b []uint64, band int) bool {
	if !l.Agree(a, b, band) {
		return false
	}
	for before := range band {
		if l.Agree(a, b, before) {
			return false
		}
	}
	return true
}

// Jaccard estimates the Jaccard similarity of the sets of two documents.
func (l *Layout) Jaccard(a, b []uint64) float64 {
	if l.Bits < 32 {
		return PackedJaccard(a[:l.packed], b[:l.packed], l.Values, l.Bits)
	}
	same, neither := kernel.CompareValues(a, b)
	if l.Values%2 == 1 { // the last half word has no value, and compares as equal
		same--
	}
	return estimate(same, neither, l.Values)
}

// IsAtLeast reports whether the estimated similarity of two documents is at least least. After
// every 32 values it stops if the remaining ones cannot suffice, even if all of them were equal.
func (l *Layout) IsAtLeast(a, b []uint64, least float64) bool {
	if l.Bits < 32 {
		return l.Jaccard(a, b) >= least
	}
	const step = 16 // words
	same, neither := 0, 0
	for from := 0; from+step < len(a); from += step {
		s, n := kernel.CompareValues(a[from:from+step], b[from:from+step])
		same, neither = same+s, neither+n
		left := l.Values - 2*(from+step)
		if estimate(same+left, neither, l.Values) < least {
			return false
		}
	}
	return l.Jaccard(a, b) >= least
}
