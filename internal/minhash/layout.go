package minhash

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/internal/exact"
)

// A Banding cuts signatures into Bands bands of Rows values each.
type Banding struct{ Bands, Rows int }

// A Layout says how an index keeps signatures: as documents of so many words.
//
//	32 bits    the values, two in a word, the first one in its low half
//	b bits     the values packed, then for each band a key of 32 bits, two in a word;
//	           the keys of the empty set are 0, and no others
type Layout struct {
	Values, Bits int
	Banding
	packed int // words of the values
	Words  int // of a document
}

func NewLayout(values, bits int, b Banding) *Layout {
	l := &Layout{Values: values, Bits: bits, Banding: b, packed: PackedWords(values, bits)}
	if l.Words = l.packed; bits < 32 {
		l.Words += (b.Bands + 1) / 2
	}
	return l
}

// Pack makes the words of a document of a signature.
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

// packKeys is the part of pack that makes keys.
func (l *Layout) packKeys(doc []uint64, s []uint32) {
	if IsEmpty(s) {
		return
	}
	full := Layout{Values: l.Values, Bits: 32, Banding: l.Banding}
	values := Words(s)
	if values == nil {
		values = make([]uint64, PackedWords(l.Values, 32))
		full.Pack(values, s)
	}
	for band := range l.Bands {
		doc[l.packed+band/2] |= uint64(full.key(values, band)) << (band % 2 * 32)
	}
}

// Signature is the inverse of pack; of packed values there is none.
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

// IsEmpty reports whether a document is of the empty set, which is in no band.
func (l *Layout) IsEmpty(doc []uint64) bool {
	if l.Bits == 32 {
		return uint32(doc[0]) == EmptyBin
	}
	return uint32(doc[l.packed]) == 0
}

const (
	keySeed   = 0xD6E8FEB86659FD93
	keyFactor = 0x9E3779B97F4A7C15
)

const ownBits = ^uint64(Borrowed<<32 | Borrowed) // values without what says that they are borrowed

// key returns a hash of a band, not 0.
func (l *Layout) key(doc []uint64, band int) uint32 {
	if l.Bits < 32 {
		return uint32(doc[l.packed+band/2] >> (band % 2 * 32))
	}
	h := uint64(keySeed)
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

// keys returns the keys of all bands, of a document that is not of the empty set.
func (l *Layout) keys(doc []uint64, keys []uint32) []uint32 {
	keys = slices.Grow(keys[:0], l.Bands)[:l.Bands]
	if l.Bits == 32 && l.Rows == 4 { // the usual way, without loops in the loop
		doc = doc[:2*l.Bands]
		for band := range keys {
			hi, lo := bits.Mul64(keySeed^doc[2*band]&ownBits, keyFactor)
			hi, lo = bits.Mul64(hi^lo^doc[2*band+1]&ownBits, keyFactor)
			keys[band] = max(uint32((hi^lo)>>32), 1)
		}
		return keys
	}
	for band := range keys {
		keys[band] = l.key(doc, band)
	}
	return keys
}

// Agree reports whether two documents, neither of the empty set, agree in a band.
func (l *Layout) Agree(a, b []uint64, band int) bool {
	if l.Bits < 32 {
		return l.key(a, band) == l.key(b, band)
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

// IsFirst reports whether two documents agree in a band and in none before.
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

// Jaccard returns the estimate of the Jaccard similarity of two documents.
func (l *Layout) Jaccard(a, b []uint64) float64 {
	if l.Bits < 32 {
		return PackedJaccard(a[:l.packed], b[:l.packed], l.Values, l.Bits)
	}
	same, neither := CompareWords(a, b)
	if l.Values%2 == 1 { // the last half is of no value, and the same
		same--
	}
	return exact.Ratio(same, l.Values-neither)
}

// isAtLeast reports whether the estimated similarity of two documents is at least least. It stops
// as soon as the rest cannot suffice: with so many values left, the estimate is at most what it
// would be if all of them were equal.
func (l *Layout) isAtLeast(a, b []uint64, least float64) bool {
	if l.Bits < 32 {
		return l.Jaccard(a, b) >= least
	}
	const step = 16 // words
	same, neither := 0, 0
	for from := 0; from+step < len(a); from += step {
		s, n := CompareWords(a[from:from+step], b[from:from+step])
		same, neither = same+s, neither+n
		left := l.Values - 2*(from+step)
		if float64(same+left) < least*float64(l.Values-neither) {
			return false
		}
	}
	return l.Jaccard(a, b) >= least
}
