package blockstore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/minhash"
)

// A database has no index for Hamming distances or for similarities, but it has indexes for equal
// keys. A scheme turns the one into the other. Fingerprints use the pigeonhole principle: if two
// differ in at most k bits and are cut into m > k blocks, at least m−k blocks are equal. So a store
// keeps one key for each choice of m−k blocks. Signatures are cut into bands, as in a
// neardup.SignatureIndex, and a store keeps a hash of each band. It looks up the keys of a query,
// and verifies what it finds.

// A Scheme says how stores keep values of the type V, and what they find: see [Hamming] and
// [MinHash], which make it. The zero value is not usable. A Scheme does not change and is safe for
// concurrent use. All programs that share a store must use the same scheme; the stores check that.
type Scheme[V any] struct {
	Keys
	matcher func(query string) matcher // nil for a query that finds nothing: it has no keys
	encode  func(v V) (string, error)  // the bytes of a value
	decode  func(value string) V       // of as many bytes as Size
}

// A matcher says how near a stored value is to a query, and whether that is near enough. Its calls come one at
// a time.
type matcher func(value string) (neardup.Match[string], bool)

// Value returns the bytes of a value, which the methods of [Keys] take. It is an error if v is a
// signature of another length than those of the scheme.
func (s Scheme[V]) Value(v V) (string, error) { return s.encode(v) }

// Keys is what a [Scheme] says about the bytes of values: how many they are, and which keys they
// have. It is what a [Backend] needs.
type Keys struct {
	text     string // see String
	size     int
	distance int             // of fingerprints
	tables   [][]bitSpan     // of fingerprints: the bits of each key, adjacent blocks joined
	bands    *minhash.Layout // of signatures, else nil
}

// A bitSpan is a run of width bits of a fingerprint, the lowest of them at shift.
type bitSpan struct{ shift, width int }

const (
	maxTables   = 60 // MySQL allows 64 indexes
	maxBands    = 255
	bandKeyBits = 32
)

// Hamming returns the scheme for fingerprints of 64 or 128 bits that are within a Hamming distance,
// 0 to 63. Nothing within the distance is missed.
//
// A fingerprint is cut into blocks, from the most significant bit on. Their widths differ by at
// most one bit, the wider ones first. There is a table for every choice of blocks−distance blocks,
// and its key consists of the chosen blocks, or of their first 64 bits. Two fingerprints within the
// distance differ in at most as many blocks, so they agree in the key of at least one table (june
// 2013 §3, Wang 2019 §1, Li 2015 §2.1; Manku, Jain and Das Sarma 2007 for more blocks).
//
//	64 bits, distance 3, 4 blocks     4 tables with keys of 16 bits: those of the papers
//	                     5 blocks    10 tables with keys of 25 or 26 bits
//	                     6 blocks    20 tables with keys of 31 to 33 bits
//
// blocks is their number; 0 means distance+1, the fewest possible. Among n evenly distributed
// fingerprints, a search compares n / 2^bits in each table. So more blocks mean more tables to
// write and fewer fingerprints to compare: for the distance 3 and 64 bits, 5 or 6 blocks are better
// from ten million fingerprints on.
//
// It is an error if blocks is not above the distance, is above the number of bits, or needs more
// than 60 tables.
func Hamming[F neardup.Fingerprint](distance, blocks int) (Scheme[F], error) {
	var codec any
	switch any(*new(F)).(type) {
	case neardup.Fingerprint64:
		codec = Scheme[neardup.Fingerprint64]{
			Keys: Keys{size: 8},
			encode: func(v neardup.Fingerprint64) (string, error) {
				return string(binary.BigEndian.AppendUint64(make([]byte, 0, 8), uint64(v))), nil
			},
			decode: func(value string) neardup.Fingerprint64 { return neardup.Fingerprint64(word(value)) },
		}
	default:
		codec = Scheme[neardup.Fingerprint128]{
			Keys: Keys{size: 16},
			encode: func(v neardup.Fingerprint128) (string, error) {
				b, _ := v.AppendBinary(make([]byte, 0, 16))
				return string(b), nil
			},
			decode: func(value string) neardup.Fingerprint128 {
				return neardup.Fingerprint128{Hi: word(value), Lo: word(value[8:])}
			},
		}
	}
	s := codec.(Scheme[F])
	var err error
	if s.Keys, err = hammingKeys(s.size, distance, blocks); err != nil {
		return Scheme[F]{}, fmt.Errorf("neardup: %w", err)
	}
	s.matcher = func(query string) matcher {
		return func(value string) (m neardup.Match[string], ok bool) {
			m.Distance = bitsBetween(query, value)
			return m, m.Distance <= distance
		}
	}
	return s, nil
}

// word returns the first 8 bytes of a value as a number, big-endian.
func word(value string) uint64 {
	_ = value[7]
	return uint64(value[0])<<56 | uint64(value[1])<<48 | uint64(value[2])<<40 | uint64(value[3])<<32 |
		uint64(value[4])<<24 | uint64(value[5])<<16 | uint64(value[6])<<8 | uint64(value[7])
}

// bitsBetween returns the Hamming distance of two values of the same 8 or 16 bytes.
func bitsBetween(a, b string) int {
	d := neardup.Fingerprint64(word(a)).Distance(neardup.Fingerprint64(word(b)))
	if len(a) > 8 {
		d += bitsBetween(a[8:], b[8:])
	}
	return d
}

// hammingKeys returns the keys of fingerprints of size bytes.
func hammingKeys(size, distance, blocks int) (Keys, error) {
	if blocks == 0 {
		blocks = distance + 1
	}
	width := 8 * size
	switch {
	case distance < 0 || distance > 63:
		return Keys{}, fmt.Errorf("distance %d is not between 0 and 63", distance)
	case blocks <= distance:
		return Keys{}, fmt.Errorf("%d blocks guarantee nothing at the distance %d: use %d or more", blocks, distance, distance+1)
	case blocks > width:
		return Keys{}, fmt.Errorf("%d blocks do not fit into %d bits", blocks, width)
	case hamming.Binomial(blocks, distance) > maxTables:
		return Keys{}, fmt.Errorf("%d blocks at the distance %d need %d tables, more than %d", blocks, distance, hamming.Binomial(blocks, distance), maxTables)
	}
	k := Keys{text: fmt.Sprintf("%d bits, distance %d, %d blocks", width, distance, blocks), size: size, distance: distance}
	for choice := range hamming.Combinations(blocks, blocks-distance) {
		k.tables = append(k.tables, spansOf(choice, width, blocks))
	}
	return k, nil
}

// spansOf returns the first 64 bits of some blocks, of all blocks into which width bits are cut.
// Block 0 has the most significant bit.
func spansOf(choice []int, width, blocks int) (spans []bitSpan) {
	left := 64
	for _, block := range choice {
		s := span(block, width, blocks)
		if s.width > left {
			s = bitSpan{s.shift + s.width - left, left}
		}
		left -= s.width
		if n := len(spans); n > 0 && spans[n-1].shift == s.shift+s.width {
			spans[n-1] = bitSpan{s.shift, s.width + spans[n-1].width}
		} else if s.width > 0 {
			spans = append(spans, s)
		}
	}
	return spans
}

// span returns the bits of a block.
func span(block, width, blocks int) bitSpan {
	w, wider := width/blocks, width%blocks
	end := block*w + min(block, wider) // bits before the block, from the most significant on
	if block < wider {
		w++
	}
	return bitSpan{width - end - w, w}
}

// SignatureOptions are the settings of [MinHash]. The zero value means the defaults. They are those of
// [neardup.SignatureIndexOptions], which explains them.
type SignatureOptions struct {
	Values  int
	Banding neardup.Banding // of at most 255 bands
	Bits    int
}

// MinHash returns the scheme for MinHash signatures of sets with a Jaccard similarity of at least
// similarity, above 0 and at most 1. It finds what a [neardup.SignatureIndex] finds with the same
// options: signatures that agree with the query in a band, and whose estimated similarity, from the
// stored values, reaches the given one.
//
// There is a table for each band, and its key is a hash of 32 bits. With fewer Bits the values cannot be recovered:
// Get and All of a store then give signatures that are nil. Signatures of empty
// sets are stored, but are similar to nothing.
func MinHash(similarity float64, o SignatureOptions) (Scheme[neardup.Signature], error) {
	ix, err := neardup.NewSignatureIndex[string](similarity, neardup.SignatureIndexOptions{Values: o.Values, Banding: o.Banding, Bits: o.Bits})
	if err != nil {
		return Scheme[neardup.Signature]{}, err
	}
	banding := ix.Banding()
	if banding.Bands > maxBands {
		return Scheme[neardup.Signature]{}, fmt.Errorf("neardup: %d bands, more than %d", banding.Bands, maxBands)
	}
	values, bits := cmp.Or(o.Values, minhash.DefaultValues), cmp.Or(o.Bits, 32)
	l := minhash.NewLayout(values, bits, minhash.Banding(banding))
	text := fmt.Sprintf("%d values of %d bits, similarity %g, %d bands of %d", values, bits, similarity, banding.Bands, banding.Rows)
	return Scheme[neardup.Signature]{
		Keys: Keys{text: text, size: 8 * l.Words, distance: -1, bands: l},
		encode: func(v neardup.Signature) (string, error) {
			if len(v) != values {
				return "", fmt.Errorf("a signature of %d values, not %d", len(v), values)
			}
			doc := make([]uint64, l.Words)
			l.Pack(doc, v)
			b := make([]byte, 0, 8*l.Words)
			for _, w := range doc {
				b = binary.LittleEndian.AppendUint64(b, w)
			}
			return string(b), nil
		},
		decode: func(value string) neardup.Signature { return l.Signature(words(nil, value)) },
		matcher: func(query string) matcher {
			x, y := words(nil, query), []uint64(nil)
			if l.IsEmpty(x) {
				return nil
			}
			return func(value string) (m neardup.Match[string], ok bool) {
				if y = words(y[:0], value); l.IsEmpty(y) {
					return m, false
				}
				m.Similarity = l.Jaccard(x, y)
				return m, m.Similarity >= similarity
			}
		},
	}, nil
}

// words appends the words of a signature.
func words(to []uint64, value string) []uint64 {
	to = slices.Grow(to, len(value)/8)
	for i := 0; i < len(value); i += 8 {
		to = append(to, binary.LittleEndian.Uint64([]byte(value[i:i+8])))
	}
	return to
}

// Size returns the number of bytes of a value. A fingerprint is big-endian. A signature is the
// words of an index, little-endian.
func (k Keys) Size() int { return k.size }

// Distance returns the largest Hamming distance at which fingerprints are found, or −1 for
// signatures.
func (k Keys) Distance() int { return k.distance }

// Tables returns the number of tables: for fingerprints, "blocks choose distance".
func (k Keys) Tables() int {
	if k.bands != nil {
		return k.bands.Bands
	}
	return len(k.tables)
}

// KeyBits returns the number of bits in the keys of a table. Tables count from 0; a table outside 0
// to Tables()−1 panics.
func (k Keys) KeyBits(table int) int {
	if k.bands != nil {
		return bandKeyBits
	}
	bits := 0
	for _, s := range k.tables[table] {
		bits += s.width
	}
	return bits
}

// AppendKeys appends the keys of a value in all tables, each in the lowest [Keys.KeyBits] bits: the
// chosen blocks of a fingerprint one after the other, the most significant first, or the hash of a
// band, which is never 0. The signature of the empty set has no keys: nothing finds it.
func (k Keys) AppendKeys(to []uint64, value string) []uint64 {
	if k.bands != nil {
		doc := words(nil, value)
		if k.bands.IsEmpty(doc) {
			return to
		}
		for band := range k.bands.Bands {
			to = append(to, uint64(k.bands.Key(doc, band)))
		}
		return to
	}
	hi, lo := uint64(0), word(value)
	if len(value) > 8 {
		hi, lo = lo, word(value[8:])
	}
	for _, spans := range k.tables {
		key := uint64(0)
		for _, s := range spans {
			bits := lo >> s.shift // 0 for a shift of 64 or more
			if s.shift >= 64 {
				bits = hi >> (s.shift - 64)
			} else if s.shift > 0 {
				bits |= hi << (64 - s.shift)
			}
			key = key<<s.width | bits&(1<<s.width-1)
		}
		to = append(to, key)
	}
	return to
}

// KeyName returns a key of a table as text, in the notation of Li 2015 §2.3 and of Wang 2019 §1 for
// Redis, such as "1:800d": the number of the table counted from 1, a colon, and the key in as many
// hexadecimal digits as its bits need.
func (k Keys) KeyName(table int, key uint64) string {
	name := append(strconv.AppendInt(make([]byte, 0, 20), int64(table+1), 10), ':')
	for shift := (k.KeyBits(table) - 1) / 4 * 4; shift >= 0; shift -= 4 {
		name = append(name, "0123456789abcdef"[key>>shift&15])
	}
	return string(name)
}

// String describes the scheme, such as "64 bits, distance 3, 4 blocks". Different schemes have
// different descriptions. Stores keep the description, to refuse programs with another scheme.
func (k Keys) String() string { return k.text }
