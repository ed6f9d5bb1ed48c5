package neardup

import (
	"math/bits"
	"slices"
)

// A layout says how an index keeps signatures: as documents of so many words.
//
//	32 bits    the values, two in a word, the first one in its low half
//	b bits     the values packed, then for each band a key of 32 bits, two in a word;
//	           the keys of the empty set are 0, and no others
type layout struct {
	values, bits int
	Banding
	packed int // words of the values
	words  int // of a document
}

func newLayout(values, bits int, b Banding) *layout {
	l := &layout{values: values, bits: bits, Banding: b, packed: packedWords(values, bits)}
	if l.words = l.packed; bits < 32 {
		l.words += (b.Bands + 1) / 2
	}
	return l
}

// pack makes the words of a document of a signature.
func (l *layout) pack(doc []uint64, s Signature) {
	if l.bits == 32 {
		for i := range len(s) / 2 {
			doc[i] = uint64(s[2*i]) | uint64(s[2*i+1])<<32
		}
		if len(s)%2 == 1 {
			doc[len(s)/2] = uint64(s[len(s)-1])
		}
		return
	}
	clear(doc)
	packValues(doc, s, l.bits)
	l.packKeys(doc, s)
}

// packKeys is the part of pack that makes keys.
func (l *layout) packKeys(doc []uint64, s Signature) {
	if s.isEmpty() {
		return
	}
	full := layout{values: l.values, bits: 32, Banding: l.Banding}
	values := s.words()
	if values == nil {
		values = make([]uint64, packedWords(l.values, 32))
		full.pack(values, s)
	}
	for band := range l.Bands {
		doc[l.packed+band/2] |= uint64(full.key(values, band)) << (band % 2 * 32)
	}
}

// signature is the inverse of pack; of packed values there is none.
func (l *layout) signature(doc []uint64) Signature {
	if l.bits < 32 {
		return nil
	}
	s := make(Signature, l.values)
	for i := range s {
		s[i] = uint32(doc[i/2] >> (i % 2 * 32))
	}
	return s
}

// isEmpty reports whether a document is of the empty set, which is in no band.
func (l *layout) isEmpty(doc []uint64) bool {
	if l.bits == 32 {
		return uint32(doc[0]) == emptyBin
	}
	return uint32(doc[l.packed]) == 0
}

const (
	keySeed   = 0xD6E8FEB86659FD93
	keyFactor = 0x9E3779B97F4A7C15
)

const ownBits = ^uint64(borrowed<<32 | borrowed) // values without what says that they are borrowed

// key returns a hash of a band, not 0.
func (l *layout) key(doc []uint64, band int) uint32 {
	if l.bits < 32 {
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
			hi, lo := bits.Mul64(h^doc[i/2]>>(i%2*32)&(borrowed-1), keyFactor)
			h = hi ^ lo
		}
	}
	return max(uint32(h>>32), 1)
}

// keys returns the keys of all bands, of a document that is not of the empty set.
func (l *layout) keys(doc []uint64, keys []uint32) []uint32 {
	keys = slices.Grow(keys[:0], l.Bands)[:l.Bands]
	if l.bits == 32 && l.Rows == 4 { // the usual way, without loops in the loop
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

// agree reports whether two documents, neither of the empty set, agree in a band.
func (l *layout) agree(a, b []uint64, band int) bool {
	if l.bits < 32 {
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
		if (a[i/2]^b[i/2])>>(i%2*32)&(borrowed-1) != 0 {
			return false
		}
	}
	return true
}

// isFirst reports whether two documents agree in a band and in none before.
func (l *layout) isFirst(a, b []uint64, band int) bool {
	if !l.agree(a, b, band) {
		return false
	}
	for before := range band {
		if l.agree(a, b, before) {
			return false
		}
	}
	return true
}

// jaccard returns the estimate of the Jaccard similarity of two documents.
func (l *layout) jaccard(a, b []uint64) float64 {
	if l.bits < 32 {
		return packedJaccard(a[:l.packed], b[:l.packed], l.values, l.bits)
	}
	same, neither := compareWords(a, b)
	if l.values%2 == 1 { // the last half is of no value, and the same
		same--
	}
	return ratio(same, l.values-neither)
}
