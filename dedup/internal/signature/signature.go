// Package signature makes the MinHash signatures by which the neighbours of a text are found.
//
// A signature depends on its text and on nothing else, so no other document can change who is a
// neighbour of whom. It has [Values] values, and two texts agree in each with the probability of the
// Jaccard similarity of their features (one permutation hashing; see package minhash).
//
// Which features say most depends on the length. Two long texts are alike if they share pairs of
// words. In a short text one changed word destroys a good part of these, so short texts are known
// by runs of three characters. Each text has the signatures of one or both [Level]s:
//
//	up to 49 words      Short
//	50 to 99 words      Short and Long
//	from 100 words on   Long
//
// Two texts of up to 99 words are compared by Short, all others by Long. So a text of up to 49 words
// has no neighbour of 100 or more: one would have at least twice as many words as the other.
package signature

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/zeebo/xxh3"
)

// Values is the number of values in a signature. With 128 of them the standard error of a similarity of
// one half is 0.044, and 42 bands of three use all but two.
const Values = 128

const (
	bitsOfValue = 16
	perWord     = 64 / bitsOfValue

	shortBelow = 100 // a text of fewer words has a Short signature
	longFrom   = 50  // a text of at least so many words has a Long one
)

// A Signature is [Values] values of 16 bits, four in each word, the first one in the lowest bits.
type Signature [Values / perWord]uint64

// Value returns value i of a signature.
func (s *Signature) Value(i int) uint64 {
	return s[i/perWord] >> (i % perWord * bitsOfValue) & (1<<bitsOfValue - 1)
}

// Agreement returns in how many values two signatures agree. Divided by [Values] it estimates the
// Jaccard similarity of the features.
func (s *Signature) Agreement(t *Signature) int {
	const low, high = 0x7FFF_7FFF_7FFF_7FFF, 0x8000_8000_8000_8000
	differ := 0
	for i, x := range s {
		x ^= t[i]
		// The highest bit of each value becomes 1 unless all of its bits are 0.
		differ += bits.OnesCount64((x&low + low | x) & high)
	}
	return Values - differ
}

// A Level is what the features of a signature are.
type Level int

const (
	Long   Level = iota // pairs of words
	Short               // runs of three characters; of two where they are words of their own
	Levels              // the number of levels
)

// A Set is the signatures of a text. The zero value is that of a text without features.
type Set struct {
	Has [Levels]bool
	Of  [Levels]Signature
}

// A Key is a secret seed of the hashes of features. Somebody who does not know it cannot choose texts that
// are neighbours without being alike. The zero value is no seed.
type Key struct {
	Seed   uint64
	Seeded bool
}

// Hash returns the hash of a feature.
func (k Key) Hash(feature []byte) uint64 {
	if k.Seeded {
		return xxh3.HashSeed(feature, k.Seed)
	}
	return xxh3.Hash(feature)
}

// A Signer makes signatures, for one goroutine.
type Signer struct {
	Key    Key
	hashes []uint64
	words  []byte
}

// Text returns the signatures of a normalized text, the number of its words, and a digest of them, in one pass
// over a long text: the same as [wording.Count] does.
func (s *Signer) Text(text string) (of Set, words int, digest uint64) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	s.hashes, s.words = s.hashes[:0], s.words[:0]
	b.Reset(false, 2)
	b.Seed, b.Seeded = s.Key.Seed, s.Key.Seeded
	add := func(units []uint64) {
		for _, h := range units {
			s.words = binary.LittleEndian.AppendUint32(s.words, uint32(h))
		}
	}
	for b.Read(text, true); b.Next(); {
		s.hashes = append(s.hashes, b.Hash64()...)
		add(b.Units64())
	}
	add(b.Units64())
	words, digest = len(s.words)/4, xxh3.Hash(s.words)
	if words >= longFrom {
		of.Has[Long], of.Of[Long] = true, s.sign()
	}
	if words > 0 && words < shortBelow {
		s.hashes = s.hashes[:0]
		b.EachRun(text, true, func(feature []byte) { s.hashes = append(s.hashes, s.Key.Hash(feature)) })
		of.Has[Short], of.Of[Short] = true, s.sign()
	}
	if cap(s.words) > mostKept {
		s.hashes, s.words = nil, nil
	}
	return of, words, digest
}

// mostKept is the largest buffer that is kept for the next text.
const mostKept = 1 << 20

// Features returns the signature of a set of features by their keys, as a Long one: all records, and
// all texts with features of the caller's, are compared by them. keys is not kept.
func (s *Signer) Features(keys func(yield func(key uint64) bool)) (of Set) {
	s.hashes = s.hashes[:0]
	for key := range keys {
		s.hashes = append(s.hashes, key)
	}
	if len(s.hashes) > 0 {
		of.Has[Long], of.Of[Long] = true, s.sign()
	}
	return of
}

// sign returns the signature of the hashes, of which there is at least one. A value is packed into its 16 bits,
// so two different ones agree once in 65,536 times.
func (s *Signer) sign() (of Signature) {
	var values [Values]uint32
	for i := range values {
		values[i] = math.MaxUint32
	}
	minhash.Sign(values[:], s.hashes, false)
	minhash.PackValues(of[:], values[:], bitsOfValue)
	return of
}

// Append appends the signatures of a set as bytes, little-endian, that of [Long] first.
func (s *Set) Append(b []byte) []byte {
	for l := range Levels {
		if s.Has[l] {
			for _, w := range s.Of[l] {
				b = binary.LittleEndian.AppendUint64(b, w)
			}
		}
	}
	return b
}

// Bytes returns how many bytes Append appends.
func (s *Set) Bytes() int { return Bytes(s.Has) }

// Bytes returns how many bytes Append appends for these levels.
func Bytes(has [Levels]bool) (n int) {
	for _, h := range has {
		if h {
			n += Values * bitsOfValue / 8
		}
	}
	return n
}

// Decode is the inverse of Append. b must have as many bytes as Bytes says.
func Decode(has [Levels]bool, b []byte) (s Set) {
	s.Has = has
	for l := range Levels {
		if has[l] {
			for i := range s.Of[l] {
				s.Of[l][i], b = binary.LittleEndian.Uint64(b), b[8:]
			}
		}
	}
	return s
}
